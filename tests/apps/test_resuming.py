"""Stuck work is set going again, each time after twice as long; what is done is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import Key, Refused, TextStore
from contracts.v1.entries import EntryEvent, EntryProposed
from services.curate import scheduler
from services.curate.scheduler import Attempts, resume
from services.curate.settings import CurateSettings
from services.shared.settings import Settings
from services.shared.tasks import end
from tests.polling import eventually
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
        before = datetime.now(UTC) - older_than
        events = await resume(
            EntryProposed, "undecided", attempts, store=store, before=before, pause=timedelta(hours=1)
        )
        assert all(isinstance(event, EntryProposed) for event in events)
        return [len(event.entries) for event in events]

    assert await resumed(timedelta(hours=1)) == []
    assert await resumed(timedelta(0)) == [128, len(proposals) - 128]
    assert await resumed(timedelta(0)) == []


class BusyBus:
    """A bus on which something waits for every stage, for as long as it is told."""

    def __init__(self) -> None:
        self.is_busy = True
        self.looks = 0
        self.said: list[str] = []

    async def backlog(self, _: object) -> int:
        self.looks += 1
        return int(self.is_busy)

    async def publish_events(self, events: Sequence[EntryEvent]) -> None:
        self.said += [ref.id for event in events for ref in event.entries]

    async def has_said(self, count: int) -> list[str]:
        """What was said, once it is so much."""
        return await eventually(lambda: asyncio.sleep(0, self.said), lambda ids: len(ids) == count)


async def test_what_was_left_before_the_start_goes_at_once_however_busy_the_bus_is(store: TextStore) -> None:
    left = await log_proposals(store, "ann", 3)
    bus = BusyBus()
    async with resuming(store, bus):
        assert sorted(await bus.has_said(3)) == sorted(proposal.id for proposal in left)


async def test_more_than_one_look_brings_does_not_wait_for_the_next_minute(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_SOON", 0.01)
    monkeypatch.setattr(scheduler, "AT_ONCE", 2)
    monkeypatch.setitem(resume.__kwdefaults__ or {}, "limit", 2)
    left = await log_proposals(store, "ann", 4)
    bus = BusyBus()
    async with resuming(store, bus):
        await store.apply([Refused(Key("ann", id_), "for the test") for id_ in await bus.has_said(2)])
        await eventually(lambda: asyncio.sleep(0, bus.looks), bool)
        bus.is_busy = False
        await bus.has_said(len(left))


@asynccontextmanager
async def resuming(store: TextStore, bus: BusyBus) -> AsyncIterator[None]:
    """Curate's resuming, beside the block."""
    host: Any = SimpleNamespace(bus=bus, settings=Settings(ner="none"))
    stores: Any = SimpleNamespace(text=store, vectors=None)
    work = scheduler.Scheduler(host, CurateSettings(), stores)
    task = asyncio.create_task(work.resume())
    try:
        yield
    finally:
        await end([task])
