"""What only the embedded store has: a file that survives, is refused when it is not ours, and keeps no old words."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.ports import Accepted, Filters, Key, Scope, Selection, Unavailable
from services.shared.stores.sqlite import SqliteTextStore, Synchronous, UnusableFile, connection
from tests.stores.builders import (
    a_proposal,
    a_turn,
    an_entry,
    entry_of,
    log_proposals,
    similar_to,
    store_entries,
    undecided_of,
)


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteTextStore]:
    """With every commit on disk, as by default."""
    opened = await SqliteTextStore.open(path)
    yield opened
    await opened.close()


async def test_everything_is_there_after_opening_again(store: SqliteTextStore, path: Path, user: str) -> None:
    decided, open_ = await log_proposals(store, user, 2)
    entry = entry_of(decided, text="green tea", statement_hash="h", minhash_bands=("a",))
    await store.apply([Accepted(entry)])
    before = await store.counts()
    await store.close()
    assert [(file.name, stat.S_IMODE(file.stat().st_mode)) for file in path.parent.iterdir()] == [(path.name, 0o600)]
    again = await SqliteTextStore.open(path)
    try:
        assert await again.counts() == before
        assert await again.get([entry]) == {entry.id: entry}
        assert await undecided_of(again, [decided, open_]) == [open_]
        assert await similar_to(again, entry) == [[entry]]
        assert [h.id for h in await again.search(Scope(user), "tea", limit=1, filters=Filters())] == [entry.id]
    finally:
        await again.close()


@pytest.mark.parametrize(("synchronous", "level"), [("full", 2), ("normal", 1)])
async def test_a_commit_waits_for_the_disk_when_asked_to(path: Path, synchronous: Synchronous, level: int) -> None:
    store = await SqliteTextStore.open(path, synchronous=synchronous)
    assert await store.writer.run(lambda db: db.execute("PRAGMA synchronous").fetchone()) == (level,)
    await store.close()


_WRITER = """
import asyncio, sys
from pathlib import Path
from contracts.ports import Accepted
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import a_proposal, a_turn, entry_of

async def main():
    store = await SqliteTextStore.open(Path(sys.argv[1]))
    for batch in range(100_000):
        turns = [a_turn("ann", f"statement {batch} {i}") for i in range(7)]
        proposals = [a_proposal(turn) for turn in turns]
        await store.append(turns, proposals)
        print("logged", *(p.id for p in proposals), flush=True)
        await store.apply([Accepted(entry_of(p)) for p in proposals])
        print("stored", *(p.id for p in proposals), flush=True)

asyncio.run(main())
"""


async def test_nothing_that_was_durable_is_lost_when_the_process_is_killed(path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WRITER, str(path), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode().split() for _ in range(31)]
    process.send_signal(signal.SIGKILL)
    lines += [line.split() for line in (await process.stdout.read()).decode().splitlines(keepends=True) if "\n" in line]
    await process.wait()
    promised = {kind: [id_ for line in lines if line[0] == kind for id_ in line[1:]] for kind in ("logged", "stored")}
    store = await SqliteTextStore.open(path)
    try:
        logged = [Key("ann", id_) for id_ in promised["logged"]]
        stored = await store.get(logged)  # the last ones perhaps a moment before it could say so
        known = {*stored, *(p.id for p in await undecided_of(store, logged))}
        assert [id_ for id_ in stored if id_ in promised["stored"]] == promised["stored"]
        assert known >= set(promised["logged"])
        counted = await store.counts()
        assert counted.entries + counted.undecided == counted.turns >= len(promised["logged"])
        assert (await store.page(Selection("ann"), limit=1, cursor=None)).total == counted.entries
    finally:
        await store.close()


async def test_files_of_a_newer_version_or_another_program_are_refused(store: SqliteTextStore, path: Path) -> None:
    await store.close()
    other = path.with_name("bookmarks")
    for file, statement in ((path, "PRAGMA user_version = 999"), (other, "CREATE TABLE bookmarks (url TEXT)")):
        with sqlite3.connect(file) as db:
            db.execute(statement)
        db.close()
    with pytest.raises(UnusableFile, match="start the version that wrote it"):
        await SqliteTextStore.open(path)
    with pytest.raises(UnusableFile, match="another program"):
        await SqliteTextStore.open(other)


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"not a database " * 1000)
    with pytest.raises(UnusableFile, match="restore a backup"):
        asyncio.run(SqliteTextStore.open(path))
    assert path.read_bytes() == b"not a database " * 1000


async def test_a_folder_that_is_missing_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="data folder"):
        await SqliteTextStore.open(tmp_path / "missing" / "memory.sqlite3")


async def test_a_file_that_another_process_holds_is_unavailable_until_it_is_let_go(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_BUSY_MILLISECONDS", 50)
    store = await SqliteTextStore.open(path)
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another process"):
            await store_entries(store, [an_entry(user)])
        assert (await store.counts(user)).entries == 0
        other.execute("ROLLBACK")
        await store_entries(store, [an_entry(user)])
        assert (await store.counts(user)).entries == 1
    finally:
        other.close()
        await store.close()


async def test_a_full_disk_is_unavailable_and_loses_nothing(store: SqliteTextStore, user: str) -> None:
    (kept,) = await store_entries(store, [an_entry(user, "kept")])
    await store.writer.run(lambda db: db.execute("PRAGMA max_page_count = 60").fetchall())
    with pytest.raises(Unavailable, match="disk is full"):
        await store_entries(store, [an_entry(user, f"{i} " * 500) for i in range(300)])
    assert (await store.counts(user)).entries == 1
    assert await store.get([kept]) == {kept.id: kept}


async def test_calls_that_wait_share_a_commit_and_keep_their_own_failures(store: SqliteTextStore, user: str) -> None:
    turns = [a_turn(user, f"number {i}") for i in range(60)]
    calls = [store.append([turn], [a_proposal(turn)]) for turn in turns[:30]]
    calls += [store.append([], [a_proposal(turn)]) for turn in turns[30:]]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [list] * 30 + [ValueError] * 30
    assert (await store.counts(user)).turns == 30


async def test_a_call_that_is_given_up_before_it_began_does_nothing(store: SqliteTextStore, user: str) -> None:
    first = asyncio.ensure_future(store_entries(store, [an_entry(user, f"number {i}") for i in range(500)]))
    second = asyncio.ensure_future(store_entries(store, [an_entry(user, "given up")]))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert (await store.counts(user)).entries == 500


_VISITOR = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM turns").fetchone()[0])
connection.close()
"""


async def visit(path: Path) -> int:
    """How many turns another process sees, which opens the file and closes it again as an export or a backup does."""
    command = [sys.executable, "-c", _VISITOR, str(path)]
    return int((await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)).stdout)


async def test_another_process_that_opens_and_closes_the_file_takes_nothing_with_it(path: Path) -> None:
    store = await SqliteTextStore.open(path)
    try:
        for number in range(1, 4):
            proposal = a_proposal(a_turn("ann", turn_id=f"t{number}"))
            await store.append([proposal.turn], [proposal])
            assert (await store.counts()).turns == number  # through a connection of its own
            assert await visit(path) == number
    finally:
        await store.close()
