"""Entries that were read lately are shown only as the file has them now, whoever wrote to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.v1.entries import Entry
from services.shared.stores.sqlite import SqliteTextStore, changelog, recent
from services.shared.stores.sqlite.connection import connect
from tests.stores.builders import a_user, an_entry, forget, store_entries
from tests.stores.changing import modify


@pytest.fixture
async def both(path: Path) -> AsyncIterator[tuple[SqliteTextStore, SqliteTextStore]]:
    """Two processes on one file, as far as a store can tell."""
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


async def test_a_change_is_told_by_the_log_as_far_as_it_reaches_back(
    both: tuple[SqliteTextStore, SqliteTextStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = both
    user = a_user()
    changed, kept, *others = await store_entries(here, [an_entry(user, f"I like tea {n}") for n in range(52)])
    for rounds, held in ((1, True), (changelog.KEPT // 50 + 1, False)):
        before, _ = await read(here, changed, kept)
        await modify(there, [changed], lambda found: found.model_copy(update={"asked": found.asked + 1}))
        for _ in range(rounds):
            await modify(there, others, lambda found: found.model_copy(update={"asked": found.asked + 1}))
        with monkeypatch.context() as patch:
            if held:
                patch.setattr(recent, "_BODIES", f"{recent._BODIES} WHERE entries.id <> '{kept.id}'")
            (after, same) = await read(here, changed, kept)
        assert (after.asked, same) == (before.asked + 1, kept)


async def test_a_reader_of_an_older_state_sees_entries_as_they_were_then(
    both: tuple[SqliteTextStore, SqliteTextStore], path: Path
) -> None:
    here, there = both
    user = a_user()
    first, second, third = await store_entries(here, [an_entry(user, f"I like tea {n}") for n in range(3)])
    await read(here, second)
    await modify(there, [third], lambda found: found.model_copy(update={"tags": ("tools",)}))
    older = connect(path, synchronous="normal")
    older.execute("BEGIN")
    assert older.execute("SELECT count(*) FROM entries").fetchone() == (3,)
    await modify(there, [first], lambda found: found.model_copy(update={"tags": ("tools",)}))
    for _ in range(2):
        assert [found.tags for found in await read(here, first)] == [("tools",)]
        assert here.recent.read(older, [first.id, second.id]) == {first.id: first, second.id: second}
        assert here.recent._held[first.id].entry.tags == ("tools",)
    older.close()
