"""Scores of answers are written back while nobody asks, a few at a time, and at last although somebody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.ports import Change, Key, Ref, Unavailable
from contracts.v1.entries import Entry, Scores
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from services.retrieve import recorder
from services.retrieve.recorder import ScoreRecorder
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.tasks import end
from tests.polling import eventually
from tests.stores.builders import an_entry, store_entries

SCORES = Scores(relevance=0.5, recency=0.5, importance=0.5, total=1.5, computed_at=datetime.now(UTC))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_EVERY", 0.01)
    monkeypatch.setattr(recorder, "_QUIET", 0.2)
    monkeypatch.setattr(recorder, "_LATEST", 60.0)


def answer(entries: Collection[Entry]) -> RetrieveReply:
    an_item: Any = RetrievedItem.model_construct
    items = tuple(an_item(id=entry.id, scores=SCORES, last_said_at=entry.last_said_at) for entry in entries)
    nothing = RetrieveReply.nothing(RetrieveRequest(user_id="ann", query="lamp"), "")
    return nothing.model_copy(update={"items": items})


@asynccontextmanager
async def recording(store: Any) -> AsyncIterator[ScoreRecorder]:
    one = ScoreRecorder(store)
    task = asyncio.create_task(one.run())
    yield one
    await end([task])


async def scored(store: SqliteTextStore, entries: Sequence[Entry]) -> int:
    found = await store.get([Key(entry.user_id, entry.id) for entry in entries])
    return sum(entry.last_scores == SCORES for entry in found.values())


class Noting:
    """A text store that notes how many entries are replaced at once, and is away as often as asked."""

    def __init__(self, store: SqliteTextStore, *, away: int = 0) -> None:
        self.sizes: list[int] = []
        self._store = store
        self._away = away

    async def get(self, refs: Sequence[Ref]) -> dict[str, Entry]:
        if self._away:
            self._away -= 1
            raise Unavailable("the text store is away")
        return await self._store.get(refs)

    async def replace(self, changes: Sequence[Change]) -> set[str]:
        self.sizes.append(len(changes))
        return await self._store.replace(changes)


async def test_scores_are_written_a_few_at_a_time_once_nobody_asks(store: SqliteTextStore) -> None:
    entries = await store_entries(store, [an_entry("ann", f"lamp {n}") for n in range(250)])
    noting = Noting(store)
    async with recording(noting) as one:
        one.note("ann", answer(entries))
        await eventually(lambda: scored(store, entries), lambda count: count == 250)
    assert noting.sizes == [100, 100, 50]


async def test_while_questions_go_on_nothing_is_written_until_it_must(
    store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = await store_entries(store, [an_entry("ann", f"lamp {n}") for n in range(3)])
    async with recording(store) as one:
        for _ in range(20):
            one.note("ann", answer(entries))
            await asyncio.sleep(0.02)
        assert await scored(store, entries) == 0
        monkeypatch.setattr(recorder, "_LATEST", 0.1)
        for _ in range(500):
            one.note("ann", answer(entries[:1]))
            if await scored(store, entries) == 3:
                break
            await asyncio.sleep(0.02)
    assert await scored(store, entries) == 3


async def test_what_the_store_did_not_take_is_lost_and_what_comes_then_is_not_but_of_what_is_archived(
    store: SqliteTextStore,
) -> None:
    entries = await store_entries(store, [an_entry("ann", f"lamp {n}") for n in range(2)])
    archived = await store_entries(store, [an_entry("ann", "lamp", status="archived")])
    async with recording(away := Noting(store, away=1)) as one:
        one.note("ann", answer(entries[:1]))
        await eventually(lambda: asyncio.sleep(0, away._away), lambda left: left == 0)
        one.note("ann", answer([*archived, *entries[1:]]))
        await eventually(lambda: scored(store, entries[1:]), lambda count: count == 1)
    assert await scored(store, [*entries, *archived]) == 1


async def test_answers_are_counted_beside_the_scores(store: SqliteTextStore) -> None:
    lamp, oven = await store_entries(store, [an_entry("ann", "lamp"), an_entry("ann", "oven")])

    async def asked() -> list[int]:
        found = await store.get([lamp, oven])
        return [found[one.id].asked for one in (lamp, oven)]

    async with recording(store) as one:
        for entries in ([lamp, oven], [lamp], [lamp]):
            one.note("ann", answer(entries))
        await eventually(asked, lambda counts: counts == [3, 1])
        one.note("ann", answer([oven]))
        await eventually(asked, lambda counts: counts == [3, 2])
    (entry,) = (await store.get([oven])).values()
    assert entry.asked_at == SCORES.computed_at
