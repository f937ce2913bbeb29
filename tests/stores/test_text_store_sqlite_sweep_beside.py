"""Sweeping the files of the embedded store while others read, write and forget."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from contracts.ports import Filters, Scope, Unavailable
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import SqliteTextStore, compaction
from tests.polling import eventually
from tests.stores.builders import (
    an_entry,
    store_entries,
    tomorrow,
)
from tests.stores.sqlite_secrets import fill, found, left_of, spread_and_forget, store_a_told


@pytest.fixture
def store(sqlite_store: SqliteTextStore) -> SqliteTextStore:
    return sqlite_store


async def test_a_reader_of_an_old_state_is_waited_for_and_then_left_alone(
    store: SqliteTextStore, path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_PATIENCE_MILLISECONDS", 20)
    entry = await store_a_told(store, user, "zanzibarium")
    reader = sqlite3.connect(path, isolation_level=None)
    try:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM entries").fetchone()
        await store.forget([entry], until=None)
        assert not await store.compact()
        assert not await store.compact()
        assert reader.execute("SELECT count(*) FROM entries").fetchone() == before
        await store_entries(store, [an_entry(user)])
        assert found(path, "zanzibarium")
        reader.execute("ROLLBACK")
        assert await store.compact()
        assert found(path, "zanzibarium") == 0
    finally:
        reader.close()


async def test_what_is_forgotten_while_a_reader_is_in_the_way_is_swept_too(
    store: SqliteTextStore, path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was written anew for the first; it is written anew once more for the others."""
    monkeypatch.setattr(compaction, "_PATIENCE_MILLISECONDS", 20)
    first, others = await store_a_told(store, user, "zanzibarium"), await fill(store, "secretword", 400)
    reader = sqlite3.connect(path, isolation_level=None)
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        await store.forget([first], until=None)
        assert not await store.compact()
        await spread_and_forget(store, others)
    finally:
        reader.close()
    assert await store.compact()
    assert found(path, "zanzibarium") == 0
    assert left_of(path, others) == list(range(0, 400, 3))


async def test_what_another_process_forgets_while_the_file_is_written_is_swept_the_next_time(
    store: SqliteTextStore, path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = await store_a_told(store, user, "zanzibarium")
    write_anew = compaction._write_anew

    def write_anew_and_be_overtaken(db: sqlite3.Connection) -> None:
        write_anew(db)
        with sqlite3.connect(path) as other:
            compaction.note_old_words(other)
        other.close()

    await store.forget([entry], until=None)
    with monkeypatch.context() as patch:
        patch.setattr(compaction, "_write_anew", write_anew_and_be_overtaken)
        assert not await store.compact()
    assert await store.compact()


async def test_a_writer_in_another_process_makes_sweeping_unavailable_for_now(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.shared.stores.sqlite.connection._BUSY_MILLISECONDS", 20)
    store = await SqliteTextStore.open(path)
    other = sqlite3.connect(path, isolation_level=None)
    try:
        entry = await store_a_told(store, user, "zanzibarium")
        await store.forget([entry], until=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another process"):
            await store.compact()
        other.execute("ROLLBACK")
        assert await store.compact()
        assert found(path, "zanzibarium") == 0
    finally:
        other.close()
        await store.close()


async def test_reading_and_writing_go_on_while_sweeping(store: SqliteTextStore, path: Path, user: str) -> None:
    kept = await fill(store, "keptword", 200)
    secrets = [await store_a_told(store, user, f"secret{i}secret") for i in range(6)]
    done = asyncio.Event()

    async def read() -> int:
        rounds = 0
        while not done.is_set() or not rounds:
            assert list(await store.get(kept)) == [entry.id for entry in kept]
            scope = Scope(kept[0].user_id)
            assert len(await store.search(scope, "keptword7x stays", limit=300, filters=Filters())) == len(kept)
            rounds += 1
        return rounds

    async def write() -> list[Entry]:
        written: list[Entry] = []
        while not done.is_set() or not written:
            written += await store_entries(store, [an_entry(user, f"written {len(written)}")])
        return written

    async def sweep_all() -> None:
        for secret in secrets:
            await store.forget([secret], until=tomorrow())
            await store.compact()
        await eventually(store.compact, bool)
        done.set()

    *rounds, written, _ = await asyncio.gather(read(), read(), write(), sweep_all())
    assert all(rounds)
    assert [found(path, f"secret{i}secret") for i in range(6)] == [0] * 6
    assert list(await store.get(written)) == [entry.id for entry in written]
