"""Entries that another reader read, or none, are read anew: each once, few at a time, and whatever breaks off again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.entries import Entry, EntryEnriched, EntryEvent
from services.curate import reconcile
from services.curate.reconcile import read_anew
from services.curate.stores import Say, Stores
from services.embed.handler import embed_entries
from services.shared.changes import change_entries
from tests.apps.fakes import FakeInFlight, FakeReader, FakeVectors, home
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
        self.given.append(sum(len(event.entries) for event in events))
        enriched = [event for event in events if isinstance(event, EntryEnriched)]
        await embed_entries(enriched, store=self._store, vectors=FakeVectors(), embedder=self.reader)


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

    async def nobody(_: Sequence[EntryEvent]) -> None:
        return

    assert await read_anew(READER, told(store, nobody)) == 2


async def test_one_that_is_forgotten_meanwhile_is_not_waited_for(store: TextStore) -> None:
    (entry,) = await store_entries(store, entries_of_former_reader(1))

    async def forget(_: Sequence[EntryEvent]) -> None:
        await change_entries(store, [entry], lambda one: one.model_copy(update={"status": "archived"}))
        await store.remove([entry])

    assert await read_anew(READER, told(store, forget)) == 1
