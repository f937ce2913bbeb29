"""What was forgotten, erased or refused is in no byte of the embedded store's files, while others read and write."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from contracts.ports import Accepted, Filters, Refused, Scope, Selection, Unavailable
from contracts.v1.entries import Entry, NeighbourTag
from services.shared.stores.sqlite import SqliteTextStore, compaction, connection
from tests.polling import eventually
from tests.stores.builders import (
    a_proposal,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    log_texts,
    store_entries,
    suppressed,
    tomorrow,
    yesterday,
)
from tests.stores.changing import modify
from tests.stores.sqlite_secrets import QUOTED, fill, found, full_entry, left_of, spread_and_forget, store_a_told, told


@pytest.fixture
def store(sqlite_store: SqliteTextStore) -> SqliteTextStore:
    return sqlite_store


@pytest.mark.parametrize("marker", ["zanzibarium", QUOTED])
async def test_what_was_forgotten_is_in_no_byte(store: SqliteTextStore, path: Path, user: str, marker: str) -> None:
    kept = await fill(store, "keptword")
    entry = await store_a_told(store, user, marker)
    (archived,) = await store_entries(store, [full_entry(told(user, marker), marker)])
    await modify(store, [archived], lambda e: e.model_copy(update={"status": "archived"}))
    assert found(path, marker)
    await store.forget([entry, archived], until=tomorrow())
    assert found(path, marker)  # what nobody sees any more is still in the bytes
    assert await store.compact()
    assert found(path, marker) == 0
    assert found(path, "keptword7x")
    assert list(await store.get(kept)) == [entry.id for entry in kept]
    assert (await store.get([entry]))[entry.id].status == "forgotten"
    assert await suppressed(store, [entry]) == {entry.id}


async def test_what_was_refused_is_in_no_byte(store: SqliteTextStore, path: Path, user: str) -> None:
    await fill(store, "keptword")
    proposal = told(user, QUOTED)
    fact = a_proposal(a_turn(user, "a turn that is kept"), ordinal=1, text=f"fact of {QUOTED}")
    await store.append([proposal.turn, fact.turn], [proposal, a_proposal(fact.turn), fact])
    assert found(path, QUOTED)
    (said,) = await store_entries(store, [an_entry(user, "the same", statement_hash="h")])
    await store.forget([said], until=tomorrow())
    judged = entry_of(proposal, statement_hash="h", minhash_bands=("b",))
    assert await store.apply([Accepted(judged, known_similar=frozenset())]) == []
    await store.apply([Refused(proposal, "forgotten"), Refused(fact, "forgotten")])
    assert await store.compact()
    assert found(path, QUOTED) == 0
    assert found(path, "a turn that is kept")


async def test_who_was_erased_is_in_no_byte(store: SqliteTextStore, path: Path) -> None:
    await fill(store, "keptword")
    user = a_user()
    await store_a_told(store, user, QUOTED)
    await log_texts(store, user, "undecided secret")
    assert found(path, user)
    assert found(path, QUOTED)
    await store.erase(user)
    assert await store.compact()
    assert (found(path, user), found(path, QUOTED), found(path, "undecided secret")) == (0, 0, 0)
    assert found(path, "keptword7x")


async def test_a_speaker_of_what_is_still_remembered_stays(store: SqliteTextStore, path: Path, user: str) -> None:
    entries = [an_entry(user, f"text {i}", speaker="Zenobia", statement_hash=f"h{i}") for i in range(2)]
    await store_entries(store, entries)
    await store.forget(entries[:1], until=None)
    assert await store.compact()
    assert found(path, "Zenobia")
    assert (await store.get(entries[1:]))[entries[1].id] == entries[1]
    await store.forget(entries[1:], until=None)
    assert await store.compact()
    assert found(path, "Zenobia") == 0


async def test_a_store_goes_on_after_sweeping(store: SqliteTextStore, path: Path, user: str) -> None:
    for marker in ("secret0secret", "secret1secret"):
        entry = await store_a_told(store, user, marker)
        assert [hit.id for hit in await store.search(Scope(user), marker, limit=5, filters=Filters())] == [entry.id]
        await store.forget([entry], until=tomorrow())
        assert await store.compact()
        assert found(path, marker) == 0
    counted = await store.counts(user)
    assert (counted.turns, counted.entries, counted.inactive, counted.merged) == (4, 0, 2, 2)
    assert (await store.page(Selection(user, status="forgotten"), limit=9, cursor=None)).total == 2


async def test_nothing_is_written_anew_when_nothing_was_forgotten(store: SqliteTextStore, path: Path) -> None:
    await fill(store, "keptword")
    log = path.with_name(f"{path.name}-wal")
    before = log.stat().st_size
    assert await store.compact()
    assert log.stat().st_size == before > 0


async def test_what_could_not_be_swept_before_a_restart_is_swept_after_it(path: Path, user: str) -> None:
    """The file is copied with its log as a killed process leaves them."""
    store = await SqliteTextStore.open(path, synchronous="normal")
    entry = await store_a_told(store, user, "zanzibarium")
    await store.forget([entry], until=None)
    left = path.parent / "left"
    left.mkdir()
    for file in path.parent.glob("memory.sqlite3*"):
        (left / file.name).write_bytes(file.read_bytes())
    await store.close()
    assert found(left / path.name, "zanzibarium")
    again = await SqliteTextStore.open(left / path.name)
    try:
        assert await again.compact()
        assert found(left / path.name, "zanzibarium") == 0
    finally:
        await again.close()


async def test_a_closed_store_has_swept(store: SqliteTextStore, path: Path, user: str) -> None:
    entry = await store_a_told(store, user, "zanzibarium")
    await store.forget([entry], until=None)
    await store.close()
    assert found(path, "zanzibarium") == 0
    with pytest.raises(Unavailable, match="closed"):
        await store.compact()


async def test_hashes_whose_time_is_over_are_dropped(store: SqliteTextStore, path: Path, user: str) -> None:
    entries = [an_entry(user, statement_hash=f"{marker}hash") for marker in ("zanzibarium", "quillonate")]
    await store_entries(store, entries)
    await store.forget(entries[:1], until=yesterday())
    await store.forget(entries[1:], until=tomorrow())
    assert (await store.count_remaining(user))["digests"] == 2
    assert await store.compact()
    assert (await store.count_remaining(user))["digests"] == 1
    assert found(path, "zanzibariumhash") == 0
    assert found(path, "quillonatehash")


async def test_a_tag_that_is_not_proposed_any_more_is_in_no_byte(store: SqliteTextStore, path: Path, user: str) -> None:
    tag = NeighbourTag(tag="zanzibarium", confidence=0.5, source_ids=("a", "b"))
    (entry,) = await store_entries(store, [an_entry(user, neighbour_tags=(tag,))])
    assert await store.compact()
    await modify(store, [entry], lambda e: e.model_copy(update={"neighbour_tags": ()}))
    assert await store.compact()
    assert found(path, "zanzibarium") == 0


async def test_a_reader_of_an_old_state_is_waited_for_and_what_is_forgotten_meanwhile_is_swept_too(
    store: SqliteTextStore, path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was written anew for the first; it is written anew once more for the others."""
    monkeypatch.setattr(compaction, "_PATIENCE_MILLISECONDS", 20)
    first, others = await store_a_told(store, user, "zanzibarium"), await fill(store, "secretword", 400)
    reader = sqlite3.connect(path, isolation_level=None)
    try:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM entries").fetchone()
        await store.forget([first], until=None)
        assert not await store.compact()
        assert not await store.compact()
        assert reader.execute("SELECT count(*) FROM entries").fetchone() == before
        assert found(path, "zanzibarium")
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
    monkeypatch.setattr(connection, "_BUSY_MILLISECONDS", 20)
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
