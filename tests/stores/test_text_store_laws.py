"""A law that holds for every history: doing everything twice is doing it once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Accepted, Decision, Filters, Key, Refused, Scope, TextStore
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import LoggedTurn
from tests.sizes import sized
from tests.stores.builders import (
    NOON,
    a_proposal,
    a_repeat,
    a_turn,
    a_user,
    entry_of,
    minutes,
    outcomes_of,
    similar_to,
    undecided_of,
)
from tests.stores.changing import modify

TEXTS = ("green tea", "black tea with lemon", "it rains in Ghent", "green Ghent")


@dataclass(frozen=True)
class Step:
    """One thing that happens to turn `turn`; `onto` is the turn it may be merged into."""

    kind: Literal["log", "accept", "merge", "refuse", "retire", "revive", "tag"]
    turn: int
    onto: int


STEPS = st.builds(
    Step,
    st.sampled_from(["log", "log", "accept", "accept", "merge", "refuse", "retire", "revive", "tag"]),
    st.integers(0, 5),
    st.integers(0, 5),
)
HISTORIES = st.lists(st.lists(STEPS, min_size=1, max_size=5), max_size=6)


def turn_number(user: str, number: int) -> LoggedTurn:
    moment = NOON + minutes(number)
    return a_turn(user, TEXTS[number % len(TEXTS)], turn_id=str(number), created_at=moment, session_id=f"{user}-s")


def verdict_of(step: Step, user: str) -> Decision:
    proposal = a_proposal(turn_number(user, step.turn))
    if step.kind == "accept":
        return Accepted(entry_of(proposal, statement_hash=proposal.text, minhash_bands=tuple(proposal.text.split())))
    if step.kind == "merge":
        return a_repeat(proposal, a_proposal(turn_number(user, step.onto)).id)
    return Refused(proposal, "a reason")


def proposal_id(decision: Decision) -> str:
    return decision.entry.id if isinstance(decision, Accepted) else decision.proposal.id


def changed_to(step: Step, entry: Entry) -> Entry | None:
    """A change that is its own repetition: done again, it changes nothing."""
    if step.kind == "tag":
        tags = tuple(dict.fromkeys((*entry.tags, "tagged")))
        return None if tags == entry.tags else entry.model_copy(update={"tags": tags})
    status: Status = "archived" if step.kind == "retire" else "active"
    return None if entry.status == status else entry.model_copy(update={"status": status})


async def carry_out(store: TextStore, user: str, steps: Sequence[Step], times: int) -> None:
    """Log, then settle, then change; each call so many times.

    A merge into an entry that is not there stays open and may succeed later, so it is not repeated.
    """
    turns = [turn_number(user, step.turn) for step in steps if step.kind == "log"]
    decisions = [verdict_of(step, user) for step in steps if step.kind in ("accept", "merge", "refuse")]
    for _ in range(times):
        await store.append(turns, [a_proposal(turn) for turn in turns])
    settled = {result.proposal_id for result in await store.apply(decisions)}
    for _ in range(times - 1):
        await store.apply([decision for decision in decisions if proposal_id(decision) in settled])
    for step in (step for step in steps if step.kind in ("retire", "revive", "tag")):
        named = a_proposal(turn_number(user, step.turn))
        for _ in range(times):
            await modify(store, [named], lambda entry, step=step: changed_to(step, entry))  # type: ignore[misc]


async def everything(store: TextStore, user: str) -> dict[str, object]:
    """All that can be seen of a user, with turn numbers in place of ids."""
    names = {a_proposal(turn_number(user, i)).id: str(i) for i in range(6)}
    keys = [Key(user, id_) for id_ in names]
    entries = await store.get(keys)
    outcomes = await outcomes_of(store, keys)
    hits = await store.search(Scope(user), "green tea ghent tagged", limit=50, filters=Filters())
    near = await store.neighbours(keys, reach=2)
    alike = await similar_to(store, *entries.values())
    return {
        "entries": {names[i]: (e.text, e.tags, e.status, e.version, e.repeat_count) for i, e in entries.items()},
        "outcomes": {names[i]: (o.kind, names.get(o.entry_id or ""), o.reason) for i, o in outcomes.items()},
        "undecided": [names[proposal.id] for proposal in await undecided_of(store, keys)],
        "hits": sorted((names[hit.id], hit.score, hit.turn_score, hit.coverage) for hit in hits),
        "near": {names[i]: {far: names[n] for far, n in window.items()} for i, window in near.items()},
        "alike": [[names[entry.id] for entry in group] for group in alike],
        "counts": await store.counts(user),
    }


@settings(max_examples=sized(75), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=HISTORIES)
async def test_doing_everything_twice_is_doing_it_once(text_store: TextStore, history: list[list[Step]]) -> None:
    once, twice = a_user(), a_user()
    for steps in history:
        await carry_out(text_store, once, steps, times=1)
        await carry_out(text_store, twice, steps, times=2)
    assert await everything(text_store, twice) == await everything(text_store, once)
