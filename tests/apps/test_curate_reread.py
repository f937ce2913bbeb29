"""Entries that another reader read, or none, are read anew: each once, few at a time, and whatever breaks off again."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.entries import Entry, EntryEvent
from services.curate import reconcile
from services.curate.reconcile import read_anew
from services.curate.stores import Say, Stores
from tests.apps.fakes import FakeInFlight, FakeReader, home, say_nothing
from tests.apps.settling import settle
from tests.stores.builders import an_entry, store_entries

READER = "reader-2"
READY = {"embedding_state": "ready", "read_by": "reader-1"}


class Worker:
    """The embed stage, and how many entries it was given at once."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self.reader = FakeReader(READER)
        self.given: list[int] = []

    async def hear(self, events: Sequence[EntryEvent]) -> None:
        for event in events:
            self.given.append(len(event.entries))
            await settle(self._store, list((await self._store.get(event.entries)).values()), self.reader)


def told(store: TextStore, say: Say) -> Stores:
    return Stores(store, None, FakeInFlight(), say)


def entries_of_former_reader(count: int) -> list[Entry]:
    return [an_entry("ann", f"I live in town {n}.", **READY) for n in range(count)]


async def test_all_are_read_once_and_few_at_a_time(store: TextStore) -> None:
    stored = await store_entries(store, entries_of_former_reader(3 * reconcile._READ_AT_ONCE // 2))
    worker = Worker(store)
    assert await read_anew(READER, told(store, worker.hear)) == len(stored)
    assert max(worker.given) <= reconcile._READ_AT_ONCE
    found = await store.get(stored)
    assert {one.read_by for one in found.values()} == {READER}
    assert all(one.claims == (home(one.text),) for one in found.values())
    assert await read_anew(READER, told(store, worker.hear)) == 0
    assert sum(worker.given) == len(stored)


OTHERS: dict[str, dict[str, Any]] = {
    "read already": {"read_by": READER},
    "on its way": {"embedding_state": "pending"},
    "refused by the model": {"embedding_state": "error"},
    "out of use": {"status": "archived"},
    "an assistant": {"role": "assistant"},
}


@pytest.mark.parametrize("fields", OTHERS.values(), ids=OTHERS.keys())
async def test_others_are_left_alone(store: TextStore, fields: dict[str, Any]) -> None:
    (entry,) = await store_entries(store, [an_entry("ann", "I live in Ghent.", **(READY | fields))])
    worker = Worker(store)
    assert await read_anew(READER, told(store, worker.hear)) == 0
    assert (await store.get([entry]))[entry.id] == entry


async def test_a_worker_that_is_away_is_not_waited_for_for_ever(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "_PATIENCE", 0.2)
    monkeypatch.setattr(reconcile, "_LOOK_EVERY", 0.1)
    await store_entries(store, entries_of_former_reader(2))
    assert await read_anew(READER, told(store, say_nothing)) == 2


async def test_one_that_is_taken_back_meanwhile_is_not_waited_for(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = await store_entries(store, entries_of_former_reader(1))

    async def take_back(_: Sequence[EntryEvent]) -> None:
        assert await store.remove(list((await store.get([entry])).values())) == set()

    async def wait(_: float) -> None:
        raise AssertionError("it is waited for")

    monkeypatch.setattr(reconcile, "asyncio", SimpleNamespace(sleep=wait))
    assert await read_anew(READER, told(store, take_back)) == 1
