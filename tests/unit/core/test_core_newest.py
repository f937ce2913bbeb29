"""What tells of a change goes before what it may have changed, and nothing else moves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.core.newest import newest_first
from tests.stores.builders import an_entry

START = datetime(2026, 3, 1, tzinfo=UTC)


def said(text: str, day: int, **fields: Any) -> Entry:
    return an_entry("ann", text, created_at=START + timedelta(days=day), **fields)


def order_of(*entries: Entry, alike: float = 0.5) -> list[int]:
    similarity = np.full((len(entries), len(entries)), alike, dtype=np.float32)
    return newest_first(entries, similarity)


OLD = said("Standup is at 9:30", 0)


def test_a_newer_time_goes_before_the_old_one() -> None:
    assert order_of(OLD, said("Our lead likes tea", 1), said("The morning thing moved to 10:15", 2)) == [2, 0, 1]


def test_of_two_changes_the_later_is_first() -> None:
    changes = (said("It moved to 10:15", 2), said("They moved it again, to 11:00", 5))
    assert order_of(OLD, *changes) == [2, 1, 0]


@pytest.mark.parametrize(
    "other",
    [
        said("The morning thing is at 10:15", 2),
        said("The morning thing moved to another room", 2),
        said("The morning thing moved to 9:30", 2),
        said("The morning thing moved to 10:15", -2),
        said("The morning thing moved to 10:15", 2, role="assistant"),
        said("The morning thing moved to 10:15", 2, speaker="Bob"),
    ],
    ids=["no cue", "no value", "the same value", "said before", "an echo", "somebody else"],
)
def test_what_is_no_later_change_of_the_same_voice_stays(other: Entry) -> None:
    assert order_of(OLD, other) == [0, 1]


def test_the_newer_side_of_a_conflict_goes_first_in_whatever_words() -> None:
    newer = said("Hofer rents us the flat", 2).model_copy(update={"conflicts_with": (OLD.id,)})
    assert order_of(OLD, newer, alike=0.0) == [1, 0]
    assert order_of(said("Huber rents us the flat", 0), newer, alike=0.0) == [0, 1]


def test_the_older_side_that_names_the_newer_one_does_not_go_before_it() -> None:
    newer = said("Hofer rents us the flat", 2)
    assert order_of(newer, OLD.model_copy(update={"conflicts_with": (newer.id,)}), alike=0.0) == [0, 1]


def test_what_is_not_alike_stays() -> None:
    assert order_of(OLD, said("My flight moved to 10:15", 2), alike=0.2) == [0, 1]


def test_an_old_echo_of_the_assistant_goes_behind_the_change() -> None:
    echo = said("Noted: standup at 9:30", 0, role="assistant")
    assert order_of(echo, said("Standup moved to 10:15", 2)) == [1, 0]


@given(
    st.lists(
        st.builds(said, st.sampled_from(["at 9:30", "now at 10:15", "moved to 11:00", "tea"]), st.integers(0, 9)),
        max_size=14,
    )
)
def test_nobody_is_lost_and_what_is_far_down_stays(entries: list[Entry]) -> None:
    order = order_of(*entries)
    assert sorted(order) == list(range(len(entries)))
    assert order[10:] == list(range(len(entries)))[10:]
