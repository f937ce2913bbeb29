"""Stuck work is set going again, each time after twice as long; what is done is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import Key, TextStore
from contracts.v1.entries import EntryProposed
from services.curate.handler import Attempts, resume
from tests.stores.builders import log_proposals

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STUCK = [Key("ann", "e1"), Key("ann", "e2")]


def test_what_stays_stuck_is_tried_after_pauses_that_double_up_to_a_day() -> None:
    attempts = Attempts()
    tried = [minute for minute in range(4 * 24 * 60) if attempts.due(STUCK, NOW + minute * MINUTE, first=2 * MINUTE)]
    assert tried[:6] == [0, 2, 6, 14, 30, 62]
    assert {later - earlier for earlier, later in zip(tried[-3:], tried[-2:], strict=False)} == {24 * 60}


def test_what_was_done_meanwhile_and_is_stuck_again_begins_anew() -> None:
    attempts = Attempts()
    for minute in (0, 2, 6):
        assert attempts.due(STUCK, NOW + minute * MINUTE, first=2 * MINUTE) == STUCK
    assert attempts.due([], NOW + 7 * MINUTE, first=2 * MINUTE) == []
    assert attempts.due(STUCK, NOW + 8 * MINUTE, first=2 * MINUTE) == STUCK


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
def test_between_two_attempts_there_is_never_less_than_the_first_pause(waits: list[int]) -> None:
    attempts, now, last = Attempts(), NOW, None
    for wait in waits:
        now += timedelta(minutes=wait)
        if attempts.due(STUCK[:1], now, first=10 * MINUTE):
            assert last is None or now - last >= 10 * MINUTE
            last = now


async def test_resuming_says_the_events_of_the_stage_for_what_is_old_enough(store: TextStore) -> None:
    proposals = await log_proposals(store, "ann", 200)
    attempts = Attempts()

    async def resumed(older_than: timedelta) -> list[int]:
        events = await resume(
            EntryProposed, "undecided", attempts, store=store, older_than=older_than, pause=timedelta(hours=1)
        )
        assert all(isinstance(event, EntryProposed) for event in events)
        return [len(event.entries) for event in events]

    assert await resumed(timedelta(hours=1)) == []
    assert await resumed(timedelta(0)) == [128, len(proposals) - 128]
    assert await resumed(timedelta(0)) == []
