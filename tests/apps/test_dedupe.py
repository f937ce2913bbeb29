"""dedupe decides: new, repeated, or neither."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.ports import Accepted, Key, Merged, Settled, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryProposed, EntryRef
from contracts.v1.turns import LoggedTurn, Proposal
from services.dedupe.handler import candidate_entry, find_canonical, judge, judge_proposals, repeat_of, tell
from tests.stores.builders import a_proposal, a_turn

NOON = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)


def a_candidate(text: str, number: int = 0, **given: Any) -> Entry:
    turn = LoggedTurn(
        **{
            "user_id": "ann", "role": "user", "text": text, "turn_id": f"t{number}", "session_id": "s",
            "created_at": NOON + timedelta(minutes=number), **given,
        }
    )  # fmt: skip
    return candidate_entry(Proposal(id=f"e{number}", turn=turn, text=text))


def verdicts(texts: list[str]) -> list[str]:
    candidates = [a_candidate(text, number) for number, text in enumerate(texts)]
    judged = judge(candidates, [[]] * len(candidates), (), now=NOON)
    return ["new" if isinstance(verdict, Accepted) else f"repeats {verdict.canonical_id}" for verdict in judged]  # type: ignore[union-attr]


def test_the_first_of_its_kind_is_new_and_later_ones_repeat_it() -> None:
    texts = ["I live in Porto.", "i live in porto", "I live in Lisbon.", "I live in Porto! https://example.org/x"]
    assert verdicts(texts) == ["new", "repeats e0", "new", "repeats e0"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I owe Tom 30 euros.", "I owe Tom 40 euros."),
        ("The dentist is on Tuesday.", "The dentist is on Thursday."),
        ("I met Anna at the lake.", "I met Hanna at the lake."),
        ("I like coriander.", "I don't like coriander."),
    ],
)
def test_what_differs_in_number_date_name_or_negation_is_never_merged(one: str, other: str) -> None:
    assert verdicts([one, other]) == ["new", "new"]


def test_a_stored_entry_is_preferred_over_one_of_the_batch_and_the_exact_over_the_near() -> None:
    near = a_candidate("I really live in Porto.", 1)
    exact = a_candidate("I live in Porto.", 2)
    candidate = a_candidate("i live in PORTO", 3)
    assert find_canonical(candidate, [near, exact]) is exact
    (verdict,) = judge([candidate], [[exact]], (), now=NOON)
    assert isinstance(verdict, Merged)
    assert verdict.canonical_id == "e2"


def test_a_repeat_joins_intent_and_metadata_and_raises_importance_with_bounds() -> None:
    canonical = a_candidate("I live in Porto.", tags=("a",), source_ids=("s1",))
    again = a_candidate("I live in Porto.", 1, tags=("b", "a"), source_ids=("s2",), manually_saved=True)
    merged = canonical
    importances = []
    for _ in range(30):
        merged = repeat_of(again, NOON)(merged)
        importances.append(merged.importance)
    assert merged.repeat_count == 30
    assert (merged.tags, merged.source_ids, merged.manually_saved) == (("a", "b"), ("s1", "s2"), True)
    assert importances == sorted(importances)
    assert canonical.importance < importances[0] <= importances[-1] <= 1.0


async def test_an_entry_that_gets_new_tags_goes_on_its_way_again(store: TextStore) -> None:
    said = [a_turn("ann", "I live in Porto.", tags=tags) for tags in (("home",), ("home",), ("home", "portugal"))]
    told = []
    for turn in said:
        proposal = a_proposal(turn)
        await store.log([turn], [proposal])
        event = EntryProposed.of([EntryRef(user_id="ann", id=proposal.id)], at=NOON)
        events = await judge_proposals([event], store=store)
        told.append([ref.id for event in events if isinstance(event, EntryAccepted) for ref in event.entries])
        first = told[0][0]
        await store.modify([Key("ann", first)], lambda entry: entry.model_copy(update={"embedding_state": "ready"}))
        if turn is said[1]:
            assert (await store.entries([Key("ann", first)]))[first].embedding_state == "ready"
    assert told == [[first], [], [first]]


def test_every_outcome_is_told_once_and_an_open_one_not_at_all() -> None:
    refs = [EntryRef(user_id="ann", id=f"e{n}") for n in range(4)]
    settled = {
        "e0": Settled("e0", "stored", "e0"),
        "e1": Settled("e1", "merged", "e0"),
        "e2": Settled("e2", "refused", None, "forgotten"),
    }
    accepted, repeated, refused = tell(refs, settled)
    assert [ref.id for ref in accepted.entries] == ["e0"]
    assert [(ref.id, ref.canonical_id) for ref in repeated.entries] == [("e1", "e0")]
    assert [(ref.id, ref.reason) for ref in refused.entries] == [("e2", "forgotten")]
    assert accepted.event_id == tell(refs, settled)[0].event_id
