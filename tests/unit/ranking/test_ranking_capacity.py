"""Who makes room: the lowest totals, never what somebody asked to be kept, the same answer every time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry, Scores
from services.shared.ranking.capacity import STALE, Ageing, Trim, scores_of, trim, valued

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def an_entry(number: int, *, age: timedelta = timedelta(), **fields: Any) -> Entry:
    return Entry(
        id=f"e{number:03}", user_id="ann", text=f"statement {number}", created_at=NOW - age, updated_at=NOW, **fields
    )


def cached(total: float, age: timedelta = timedelta(hours=1)) -> Scores:
    return Scores(relevance=total, recency=0.0, importance=0.0, total=total, computed_at=NOW - age)


def chosen(entries: list[Entry], cap: int) -> Trim:
    return trim([valued(entry, NOW, Ageing()) for entry in entries], cap=cap)


def test_nothing_goes_while_there_is_room() -> None:
    assert chosen([an_entry(number) for number in range(3)], 3) == Trim()


def test_the_lowest_totals_go_and_no_more_than_are_too_many() -> None:
    entries = [an_entry(number, last_scores=cached(total)) for number, total in enumerate((0.9, 0.1, 0.5, 0.2))]
    assert [entry.id for entry in chosen(entries, 2).victims] == ["e001", "e003"]


def test_what_was_retrieved_not_long_ago_keeps_its_relevance_and_what_is_stale_loses_it() -> None:
    fresh = an_entry(0, age=30 * DAY, last_scores=cached(0.8, STALE))
    stale = an_entry(1, age=30 * DAY, last_scores=cached(0.8, STALE + timedelta(seconds=1)))
    done = chosen([fresh, stale], 1)
    assert [entry.id for entry in done.victims] == ["e001"]
    (kept,) = done.kept
    assert (kept.id, kept.fresh) == ("e000", None)
    (rescored,) = [one.fresh for one in done.victims]
    assert rescored is not None
    assert (rescored.relevance, rescored.computed_at) == (0, NOW)


def test_without_scores_the_newer_and_the_more_important_stay() -> None:
    old, important, new = an_entry(0, age=20 * DAY), an_entry(1, age=20 * DAY, importance=0.9), an_entry(2)
    assert [entry.id for entry in chosen([important, new, old], 2).victims] == ["e000"]


@pytest.mark.parametrize("protection", ["pinned", "manually_saved"])
def test_what_somebody_asked_to_be_kept_never_goes_and_it_is_told_when_it_would_have(protection: str) -> None:
    kept = an_entry(0, age=300 * DAY, **{protection: True})
    done = chosen([kept, an_entry(1), an_entry(2)], 2)
    assert [entry.id for entry in done.protected] == ["e000"]
    assert [entry.id for entry in done.victims] == ["e001"]


def test_importance_fades_by_the_day_when_it_is_told_to() -> None:
    entry = an_entry(0, age=2 * DAY, importance=0.8)
    faded = scores_of(entry, NOW, Ageing(importance_kept=0.5))
    assert faded.importance == pytest.approx(0.2, abs=0.01)
    assert scores_of(entry, NOW, Ageing()).importance == pytest.approx(0.8, abs=0.01)


entries_of_any_kind = st.lists(
    st.builds(
        lambda age, importance, pinned, total: (age, importance, pinned, total),
        st.integers(0, 400),
        st.floats(0, 1),
        st.booleans(),
        st.none() | st.floats(0, 3),
    ),
    max_size=30,
)


@given(entries_of_any_kind, st.integers(0, 30), st.randoms())
def test_trimming_is_deterministic_exact_and_done_once(
    kinds: list[tuple[int, float, bool, float | None]], cap: int, random: Any
) -> None:
    entries = [
        an_entry(
            number,
            age=timedelta(hours=age),
            importance=importance,
            pinned=pinned,
            last_scores=None if total is None else cached(total),
        )
        for number, (age, importance, pinned, total) in enumerate(kinds)
    ]
    done = chosen(entries, cap)
    shuffled = entries[:]
    random.shuffle(shuffled)
    assert chosen(shuffled, cap).victims == done.victims
    assert not any(entry.protected for entry in done.victims)
    unprotected = sum(not entry.pinned for entry in entries)
    assert len(done.victims) == min(max(0, len(entries) - cap), unprotected)
    gone = {entry.id for entry in done.victims}
    assert chosen([entry for entry in entries if entry.id not in gone], cap).victims == ()


def test_what_was_said_again_counts_by_the_last_time() -> None:
    entries = [an_entry(0, age=300 * DAY, last_said_at=NOW - DAY), an_entry(1, age=2 * DAY)]
    assert [entry.id for entry in chosen(entries, 1).victims] == ["e001"]


def test_what_a_question_found_stays_before_what_none_asked_for() -> None:
    weighed = Scores(relevance=0.95, recency=0.99, importance=0.5, total=1.025, computed_at=NOW - timedelta(hours=1))
    entries = [an_entry(0, last_scores=weighed), an_entry(1, age=timedelta(hours=1))]
    assert [one.id for one in chosen(entries, 1).victims] == ["e001"]
