"""What changes something goes before what it changes, as their stored claims tell, and nothing else moves."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import Change, Claim, Slot
from contracts.v1.entries import Entry
from services.shared.knowledge.newest import LOOKED_AT, newest_first
from services.shared.knowledge.profile import LIKELY, SURE
from tests.stores.builders import an_entry

START = datetime(2026, 3, 1, tzinfo=UTC)


def said(text: str, day: int, slot: Slot = "home", *, sure: float = SURE, new: bool = False, **fields: Any) -> Entry:
    """What claims its last word."""
    places = {"value": (text.rindex(" ") + 1, len(text)), "sentence": (0, len(text))}
    whose = {"whose": (0, len(text.split()[0])), "of_user": False} if text.split()[0].istitle() else {}
    claim = Claim(slot=slot, **places, **whose, is_new=new, confidence=sure)
    at = START + timedelta(days=day)
    return an_entry("ann", text, created_at=at, last_said_at=at, claims=(claim,), **fields)


def order_of(
    *entries: Entry,
    alike: float = 0.5,
    relevance: Sequence[float] = (),
    asked: Sequence[str] = ("live", "dentist"),
    **given: Any,
) -> list[int]:
    similarity = np.full((len(entries), len(entries)), alike, dtype=np.float32)
    return newest_first(entries, similarity, relevance or [1.0] * len(entries), asked, **given)


OLD = said("i live in graz", 0)


def test_another_value_of_what_has_one_goes_before_the_old_one() -> None:
    assert order_of(OLD, said("our lead likes tea", 1, "like"), said("it is cork now, or ulm", 2)) == [2, 0, 1]


@pytest.mark.parametrize(
    "other",
    [
        said("i live in graz", 2),
        said("i lived in cork", -2),
        said("i may live in cork", 2, sure=LIKELY),
        said("Ida lives in cork", 2),
        said("i live in cork", 2, speaker="Bob"),
        said("i work in cork", 2, "employer"),
        an_entry("ann", "i live in cork", created_at=START + timedelta(days=2)),
    ],
    ids=["the same", "said before", "not sure", "of another", "by another", "of another thing", "not read"],
)
def test_what_is_no_other_value_of_the_same_stays(other: Entry) -> None:
    assert order_of(OLD, other) == [0, 1]


def test_what_is_said_to_be_new_goes_first_where_both_are_of_one_thing() -> None:
    meets = said("the dentist is at 9:30", 0, "appointment")
    moved = said("the dentist moved to 10:15", 2, "event", new=True, sure=LIKELY)
    assert order_of(meets, moved, alike=0.8) == [1, 0]
    assert order_of(meets, moved, alike=0.6) == [0, 1]
    assert order_of(meets, said("the choir is at 10:15", 2, "appointment"), alike=0.8) == [0, 1]
    assert order_of(meets, said("it is still 9:30", 2, "appointment", new=True), alike=0.8) == [0, 1]


@pytest.mark.parametrize(("relevance", "order"), [(0.2, [1, 0]), (0.1, [0, 1])])
def test_a_new_value_of_what_has_one_may_be_less_relevant(relevance: float, order: list[int]) -> None:
    moved = said("i moved to linz", 2, new=True)
    assert order_of(OLD, moved, relevance=[1.0, relevance]) == order
    assert order_of(OLD, said("our home is in linz", 2), relevance=[1.0, relevance]) == [0, 1]


def test_of_several_things_only_the_one_that_is_asked_for_counts() -> None:
    text = "i live in graz. the cat is called Tom"
    home, cat = Claim(slot="home", value=(10, 14), sentence=(0, 15), confidence=SURE), (33, 36)
    both = an_entry(
        "ann", text, created_at=START, claims=(home, Claim(slot="pet", value=cat, sentence=(16, 36), confidence=SURE))
    )
    moved = said("cork it is", 2).model_copy(update={"changes": (change_of(both),)})
    assert order_of(both, moved, asked=["live"]) == [1, 0]
    assert order_of(both, moved, asked=["cat"]) == [0, 1]


@pytest.mark.parametrize(
    ("alike", "relevance", "order"), [(0.25, 0.35, [1, 0]), (0.25, 0.2, [0, 1]), (0.15, 1.0, [0, 1])]
)
def test_what_is_unlike_or_hardly_relevant_stays(alike: float, relevance: float, order: list[int]) -> None:
    moved = said("i live in cork", 2)
    ended = an_entry("ann", "graz is history", created_at=START + timedelta(days=2), changes=(change_of(OLD),))
    for newer in (moved, ended):
        assert order_of(OLD, newer, alike=alike, relevance=[1.0, relevance]) == order


def change_of(entry: Entry) -> Change:
    return Change(entry_id=entry.id, slot="home", value=entry.claims[0].value, confidence=0.9)


def test_of_several_values_the_one_said_last_or_said_again_last_is_first() -> None:
    assert order_of(OLD, said("i live in cork", 2), said("i live in bern", 5)) == [2, 1, 0]
    again = OLD.model_copy(update={"last_said_at": START + timedelta(days=9)})
    assert order_of(again, said("i live in cork", 2)) == [0, 1]
    assert order_of(said("i live in cork", 2), again) == [1, 0]


def test_the_newer_side_of_a_conflict_goes_first_where_both_are_alike() -> None:
    newer = an_entry("ann", "hofer rents us the flat", created_at=START + timedelta(days=2), conflicts_with=(OLD.id,))
    assert order_of(OLD, newer, alike=0.35) == [1, 0]
    assert order_of(OLD, newer, alike=0.3) == [0, 1]
    assert order_of(said("huber rents us the flat", 0), newer, alike=0.35) == [0, 1]


def test_the_older_side_that_names_the_newer_one_does_not_go_before_it() -> None:
    newer = said("i live in cork", 2)
    assert order_of(newer, OLD.model_copy(update={"conflicts_with": (newer.id,)})) == [0, 1]


def test_nothing_goes_before_what_has_an_identifier_of_the_question_that_it_lacks() -> None:
    moved = said("i live in cork", 2)
    assert order_of(OLD, moved, named=[{0}, set()]) == [0, 1]
    assert order_of(OLD, moved, named=[{0}, {0, 1}]) == [1, 0]


@given(st.lists(st.tuples(st.sampled_from(["in graz", "in cork", "in bern"]), st.integers(0, 9)), max_size=14))
def test_nobody_is_lost_and_what_is_far_down_stays(told: list[tuple[str, int]]) -> None:
    order = order_of(*(said(text, day) for text, day in told))
    assert sorted(order) == list(range(len(told)))
    assert order[LOOKED_AT:] == list(range(len(told)))[LOOKED_AT:]
