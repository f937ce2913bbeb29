"""Entries that were read lately are shown only as the file has them now, whoever wrote to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.v1.entries import Entry
from services.shared.stores.sqlite import SqliteTextStore, recent
from tests.stores.builders import a_user, an_entry, forget, store_entries
from tests.stores.changing import modify


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[SqliteTextStore, SqliteTextStore]]:
    """Two processes on one file, as far as a store can tell."""
    path = tmp_path / "memory.sqlite3"
    one, other = [await SqliteTextStore.open(path, synchronous="normal") for _ in range(2)]
    yield one, other
    await other.close()
    await one.close()


async def read(store: SqliteTextStore, *entries: Entry) -> list[Entry]:
    return list((await store.get(entries)).values())


async def test_what_another_process_changed_is_read_anew(both: tuple[SqliteTextStore, SqliteTextStore]) -> None:
    here, there = both
    (entry,) = await store_entries(here, [an_entry(a_user())])
    assert await read(here, entry) == await read(here, entry) == [entry]
    await modify(there, [entry], lambda found: found.model_copy(update={"tags": ("tools",)}))
    assert [found.tags for found in await read(here, entry)] == [("tools",)]


async def test_what_another_process_forgot_or_erased_is_not_shown(
    both: tuple[SqliteTextStore, SqliteTextStore],
) -> None:
    here, there = both
    user = a_user()
    forgotten, kept = await store_entries(here, [an_entry(user, "I like tea"), an_entry(user, "I like rain")])
    await read(here, forgotten, kept)
    await forget(there, forgotten)
    assert [(found.status, found.text) for found in await read(here, forgotten)] == [("forgotten", "")]
    await there.erase(user)
    assert await read(here, forgotten, kept) == []


async def test_an_entry_that_comes_again_after_an_erase_is_the_new_one(
    both: tuple[SqliteTextStore, SqliteTextStore],
) -> None:
    here, there = both
    (entry,) = await store_entries(here, [an_entry(a_user(), "I like tea")])
    await read(here, entry)
    await there.erase(entry.user_id)
    again = entry.model_copy(update={"text": "I like coffee", "updated_at": entry.updated_at.replace(microsecond=7)})
    await store_entries(there, [again])
    assert await read(here, entry) == [again]


async def test_an_entry_is_read_only_by_its_user_and_in_the_order_asked(sqlite_store: SqliteTextStore) -> None:
    user = a_user()
    first, second = await store_entries(sqlite_store, [an_entry(user, "I like tea"), an_entry(user, "I like rain")])
    for _ in range(2):
        assert await read(sqlite_store, second, first) == [second, first]
        assert await read(sqlite_store, first.model_copy(update={"user_id": "somebody"}), second) == [second]


async def test_few_are_kept_and_none_of_whoever_is_erased_here(
    sqlite_store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_MOST", 2)
    user = a_user()
    entries = await store_entries(sqlite_store, [an_entry(user, f"I like tea {number}") for number in range(5)])
    assert await read(sqlite_store, *entries) == entries
    assert len(sqlite_store.recent._held) == 2
    await sqlite_store.erase(user)
    assert not sqlite_store.recent._held
