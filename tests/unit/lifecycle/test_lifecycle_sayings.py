"""A repeat renews, in whatever order repeats arrive; and what is known of an earlier moment tells of nothing later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import MOST_SAYINGS, Entry, Scores
from services.shared.lifecycle.lineage import as_of
from services.shared.lifecycle.sayings import not_said_in, renewed

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)

days = st.integers(0, 300)


def said(day: int, number: int = 0, **fields: object) -> Entry:
    at = NOON + timedelta(days=day)
    given: dict[str, object] = {"conversation_id": f"c{day}", "turn_id": f"t{number}", "created_at": at, **fields}
    return Entry(id=f"e{number}", user_id="ann", text="the dentist is nice", updated_at=at, **given)


def told(first: int, repeats: list[int]) -> Entry:
    entry = said(first)
    for number, day in enumerate(repeats, start=1):
        entry = renewed(entry, said(day, number))
    return entry


@given(days, st.lists(days, max_size=3 * MOST_SAYINGS))
def test_it_was_first_said_at_the_earliest_time_and_last_at_the_latest(first: int, repeats: list[int]) -> None:
    entry = told(first, repeats)
    assert entry.created_at == NOON + timedelta(days=min([first, *repeats]))
    assert entry.conversation_id == f"c{min([first, *repeats])}"
    assert entry.last_said_at == NOON + timedelta(days=max([first, *repeats]))
    assert entry.repeat_count == len(repeats)


@given(days, st.lists(days, max_size=3 * MOST_SAYINGS))
def test_an_entry_names_the_newest_turns_that_said_it_again_and_the_first(first: int, repeats: list[int]) -> None:
    entry = told(first, repeats)
    named = [(saying.at - NOON).days for saying in entry.repeated_in]
    earliest, *later = sorted([first, *repeats])
    assert named == later[::-1][:MOST_SAYINGS]
    assert entry.sayings[-1].turn_id == f"t{[first, *repeats].index(earliest)}"
    assert {f"c{earliest}", *(f"c{day}" for day in named)} == set(entry.conversations)


@given(days, st.lists(days, max_size=MOST_SAYINGS), days)
def test_as_of_a_moment_an_entry_is_what_it_was_then(first: int, repeats: list[int], day: int) -> None:
    moment = NOON + timedelta(days=max(first, day))
    then = as_of(told(first, repeats), moment)
    expected = told(first, [repeat for repeat in repeats if repeat <= max(first, day)])
    assert (then.last_said_at, then.repeat_count) == (expected.last_said_at, expected.repeat_count)
    assert [saying.at for saying in then.sayings] == [saying.at for saying in expected.sayings]


def test_where_every_repeat_that_is_named_is_later_only_the_first_time_counts() -> None:
    entry = told(0, list(range(1, 2 * MOST_SAYINGS + 1)))
    then = as_of(entry, NOON + timedelta(days=5))
    assert (then.last_said_at, then.repeat_count, then.repeated_in) == (NOON, 0, ())
    later = as_of(entry, NOON + timedelta(days=2 * MOST_SAYINGS - 1))
    assert later.repeat_count == 2 * MOST_SAYINGS - 1


def test_scores_of_before_do_not_judge_what_was_said_again() -> None:
    scores = Scores(relevance=0, recency=0, importance=0, total=0, computed_at=NOON)
    assert renewed(said(0, last_scores=scores), said(1, 1)).last_scores is None


def test_an_entry_that_was_stored_without_a_last_time_was_last_said_when_it_was_first() -> None:
    former = said(0).model_dump(exclude={"last_said_at", "repeated_in", "clock_ahead"})
    assert Entry.model_validate(former).last_said_at == NOON
    assert said(3, last_said_at=NOON).last_said_at == NOON + timedelta(days=3)


def test_of_what_stands_where_another_turn_said_it_nobody_knows_what_clocks_showed_there() -> None:
    entry = renewed(said(1, utc_offset=120), said(5, 1, utc_offset=-300))
    first, again = not_said_in(entry, "c1", NOON), not_said_in(entry, "c5", NOON)
    assert first is not None
    assert again is not None
    assert (first.utc_offset, again.utc_offset) == (None, 120)


@given(days, st.lists(days, max_size=MOST_SAYINGS), days)
def test_what_was_not_said_in_a_conversation_is_as_if_it_had_never_been_said_there(
    first: int, repeats: list[int], day: int
) -> None:
    left = not_said_in(told(first, repeats), f"c{day}", NOON)
    others = [one for one in (first, *repeats) if one != day]
    if not others or day not in (first, *repeats):
        assert left is None
        return
    expected = told(others[0], others[1:])
    assert left is not None
    assert f"c{day}" not in left.conversations
    assert [saying.at for saying in left.sayings] == [saying.at for saying in expected.sayings]
    assert (left.created_at, left.last_said_at) == (expected.created_at, expected.last_said_at)
