"""Random histories of a memory, and random questions about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from contracts.ports import Accepted, Decision, Filters, Key, Refused, TextStore
from contracts.v1.turns import Proposal
from tests.stores.builders import NOON, a_proposal, a_repeat, a_turn, entry_of, minutes
from tests.stores.changing import modify

WORDS = ("tea", "lemon", "zebra", "coffee", "rain", "green", "10:30", "don't", "äpfel", "the")
PERSONAS = (None, "guide", "tutor")
SPACES = ("default", "work")


@dataclass(frozen=True)
class Said:
    """A turn, what becomes of it, and how its entry is changed later."""

    text: str
    fate: str
    minute: int
    space: str
    persona: str | None
    session: str
    fields: dict[str, Any]
    change: dict[str, Any] | None


TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.sampled_from(WORDS).map(
    lambda word: f"{word} " * 70
)
LABELS = {
    "type": st.sampled_from(["fact", "note", "other"]),
    "tags": st.lists(st.sampled_from(["red", "blue", "zebra herd"]), max_size=2, unique=True).map(tuple),
    "themes": st.lists(st.sampled_from(["travel", "tools"]), max_size=2, unique=True).map(tuple),
    "pinned": st.booleans(),
    "manually_saved": st.booleans(),
    "enriched": st.booleans(),
    "embedding_state": st.sampled_from(["pending", "ready", "error"]),
}
CHANGES = st.fixed_dictionaries(
    {}, optional={**LABELS, "text": TEXTS, "status": st.sampled_from(["active", "archived", "superseded"])}
)
HISTORIES = st.lists(
    st.builds(
        Said,
        text=TEXTS,
        fate=st.sampled_from(["store", "store", "store", "store", "merge", "refuse", "wait"]),
        minute=st.integers(0, 9),
        space=st.sampled_from(("default", "default", "work")),
        persona=st.sampled_from((None, None, "guide", "tutor")),
        session=st.sampled_from(("s1", "s2", "s3")),
        fields=st.fixed_dictionaries({}, optional=LABELS),
        change=st.none() | CHANGES,
    ),
    min_size=1,
    max_size=24,
)
FILTERS = st.just(Filters()) | st.builds(
    Filters,
    types=st.none() | st.lists(LABELS["type"], max_size=2).map(tuple),
    tags=st.none() | st.lists(st.sampled_from(["red", "blue", "Red"]), max_size=2).map(tuple),
    theme=st.none() | st.sampled_from(["travel", "tools"]),
    since=st.none() | st.integers(0, 10).map(lambda minute: NOON + minutes(minute)),
)
QUESTIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from((*WORDS, "unheard")), min_size=1, max_size=4).map(" ".join),
        FILTERS,
        st.sampled_from(SPACES),
        st.sampled_from(PERSONAS),
        st.sampled_from([1, 3, 50]),
    ),
    min_size=1,
    max_size=6,
)


def proposal_of(user: str, number: int, said: Said) -> Proposal:
    """Of one moment are only entries of one persona: order stored means one thing more within a persona than across."""
    moment = NOON + minutes(said.minute + PERSONAS.index(said.persona) / 10)
    where = {"space": said.space, "persona_id": said.persona, "session_id": f"{user}-{said.space}-{said.session}"}
    return a_proposal(a_turn(user, said.text, turn_id=str(number), created_at=moment, **where))


def verdict_on(proposal: Proposal, said: Said, first: Proposal) -> Decision | None:
    match said.fate:
        case "store":
            return Accepted(entry_of(proposal, **said.fields))
        case "merge":
            return a_repeat(proposal, first.id)
        case "refuse":
            return Refused(proposal, "a reason")
    return None


SELECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "space": st.sampled_from(SPACES),
        "status": st.sampled_from(["active", "archived", "superseded", "forgotten"]),
        "types": st.lists(LABELS["type"], max_size=2).map(tuple),
        "tags": st.lists(st.sampled_from(["red", "blue", "repeated"]), max_size=2).map(tuple),
        "theme": st.sampled_from(["travel", "tools"]),
        "pinned": st.booleans(),
        "manually_saved": st.booleans(),
        "since": st.integers(0, 10).map(lambda minute: NOON + minutes(minute)),
        "until": st.integers(0, 10).map(lambda minute: NOON + minutes(minute)),
    },
)


async def carry_out(store: TextStore, user: str, history: Sequence[Said]) -> list[Key]:
    """Log everything, decide, then change; the proposals, decided or not."""
    proposals = [proposal_of(user, number, said) for number, said in enumerate(history)]
    await store.append([proposal.turn for proposal in proposals], proposals)
    decisions = [verdict_on(p, said, proposals[0]) for p, said in zip(proposals, history, strict=True)]
    await store.apply([decision for decision in decisions if decision is not None])
    changes = {p.id: said.change for p, said in zip(proposals, history, strict=True) if said.change is not None}
    keys = [Key(user, proposal.id) for proposal in proposals]
    changed = [key for key in keys if key.id in changes]
    await modify(store, changed, lambda entry: entry.model_copy(update=changes[entry.id]))
    return keys
