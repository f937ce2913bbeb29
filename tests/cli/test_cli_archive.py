"""Export and import: a memory moves without loss, and a damaged file is never taken for a whole one."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from contracts.ports import Accepted, Key, Place, Record, RecordKey, Refused, TextStore
from contracts.v1.entries import Entry
from services.cli import export, import_
from services.curate.retention import own_limits
from services.shared.changes import change_record
from services.shared.commands.archive import ArchiveError, decode, encode
from services.shared.commands.transfer import lines, read_archive, write_archive
from services.shared.erasures import erased_record
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.sayings import not_said_in, renewed
from services.shared.preferences import Mark, Marks, Reason
from services.shared.stores.sqlite import SqliteTextStore
from tests.servers.opensearch import server_url as opensearch_server
from tests.stores.builders import NOON, a_proposal, a_repeat, a_turn, an_entry, entry_of, log_proposals, minutes
from tests.stores.changing import modify
from tests.stores.opensearch_openers import a_store

NOW = datetime.now(UTC)
USERS = ("ann", "bob", "übel\x1f/…")

pytestmark = pytest.mark.timeout(300)  # the first to ask for OpenSearch starts it


def repeated(entry: Entry) -> Entry:
    return entry.model_copy(update={"repeat_count": entry.repeat_count + 1})


async def fill(store: TextStore, user: str) -> None:
    """Every kind of outcome and status, a fact drawn from a turn, an entry without a turn, one undecided turn, one
    entry that was corrected, and records."""
    first, again, refused, retired, gone, late, _ = await log_proposals(store, user, 7)
    spoken = a_turn(user, "I moved to Ghent and I like it", space="work", created_at=NOON + minutes(90))
    itself, fact = a_proposal(spoken), a_proposal(spoken, ordinal=1, text="lives in Ghent")
    await store.append([spoken], [itself, fact])
    await store.apply([Accepted(entry_of(p, tags=("a", "ü"), importance=0.25)) for p in (first, retired, itself, fact)])
    await store.apply([a_repeat(again, first.id), Refused(refused, "forgotten before")])
    await store.apply([a_repeat(late, retired.id), Accepted(entry_of(gone))])
    await store.apply([Accepted(an_entry(user, "a note of nobody", enriched=True))])
    await modify(store, [retired], lambda e: e.model_copy(update={"status": "superseded", "superseded_by": first.id}))
    await modify(store, [gone], lambda e: e.model_copy(update={"status": "forgotten", "text": ""}))
    await modify(store, [first], lambda e: e.model_copy(update={"embedding_state": "ready", "embedding_model": "m"}))
    await modify(store, [itself], lambda e: edited(e, Edit(text="I moved to Bruges", by=user), NOON) or e)
    themes = [Record(user, "theme", slug, {"display_name": slug.upper()}, NOON) for slug in ("tea", "boats")]
    at_odds = {"space": "default", "newer": first.id, "older": late.id}
    conflict = Record(user, "conflict", f"{first.id}:{late.id}", at_odds, NOON)
    await store.add_records([*themes, conflict, Record(user, "settings", "*", {"retention_days": 9}, NOON)])


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[TextStore]:
    async with opened(tmp_path / "source.sqlite3") as store:
        for user in USERS:
            await fill(store, user)
        yield store


@pytest.fixture(params=["sqlite", "opensearch"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TextStore]:
    """An empty memory, on either engine."""
    if request.param == "sqlite":
        async with opened(tmp_path / "target.sqlite3") as store:
            yield store
        return
    url, whence = opensearch_server()
    if url is None:
        pytest.skip(whence)
    async with a_store(url) as store:
        yield store


@pytest.fixture
async def folder(source: TextStore, tmp_path: Path) -> Path:
    """A data folder with the memory of several users."""
    await source.close()
    (tmp_path / "source.sqlite3").rename(tmp_path / "memory.sqlite3")
    return tmp_path


async def typed(command: str, folder: Path, *arguments: str | Path) -> Result:
    words = [command, *map(str, arguments), "--data", str(folder), "--text-store", "sqlite"]
    app = typer.Typer()
    app.command()(export.export)
    app.command("import")(import_.import_)
    return await asyncio.to_thread(CliRunner().invoke, app, words, env={"COLUMNS": "200"})


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[TextStore]:
    store = await SqliteTextStore.open(file, synchronous="normal")
    yield store
    await store.close()


async def exported(store: TextStore, path: Path, user: str | None = None) -> list[bytes]:
    with path.open("a+b") as file:
        await write_archive(store, file, str(path), user)
        file.seek(0)
        return file.readlines()


async def imported(store: TextStore, path: Path) -> list[str]:
    return list((await read_archive(store, path)).users)


async def test_a_memory_moved_elsewhere_once_or_twice_and_exported_again_is_the_same_to_the_byte(
    source: TextStore, target: TextStore, tmp_path: Path
) -> None:
    there = await exported(source, tmp_path / "there.jsonl")
    assert len(there) == 3 * (6 + 8 + 4) + 2
    for time in ("once", "twice"):
        assert await imported(target, tmp_path / "there.jsonl") == sorted(USERS)
        assert (await exported(target, tmp_path / time))[1:] == there[1:]
    assert set(await own_limits(target)) == set(USERS), "curate does not find the limits that were moved"
    for user in USERS:
        moved, known = await target.counts(user), await source.counts(user)
        for count in ("turns", "entries", "merged", "refused", "undecided"):
            assert getattr(moved, count) == getattr(known, count), count


async def test_what_was_forgotten_since_the_export_stays_so_and_is_told(folder: Path) -> None:
    file = folder / "ann.jsonl"
    await typed("export", folder, file, "--user", "ann")
    async with opened(folder / "memory.sqlite3") as store:
        (entry, *_) = [
            entry for entry in await store.export_entries("ann", after=None, limit=100) if entry.status == "active"
        ]
        await store.forget([Key("ann", entry.id)], until=NOON)
    result = await typed("import", folder, file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "forgotten in this memory, and left so: 1 entry\n" in result.stdout


INCOGNITO = Marks(marks=(Mark(after=0, incognito=True, at=NOW, until=NOW + timedelta(hours=24)),))
DECIDED: dict[str, tuple[Record, Reason]] = {
    "off": (Record("ann", "settings", "*", {"memory_enabled": False}, NOW), "disabled"),
    "off in a space": (Record("ann", "settings", "default", {"memory_enabled": False}, NOW), "disabled"),
    "incognito by default": (Record("ann", "settings", "*", {"incognito_default": True}, NOW), "incognito"),
    "incognito": (Record("ann", "incognito", "c1", INCOGNITO.model_dump(mode="json"), NOW), "incognito"),
}


@pytest.mark.parametrize("decided", DECIDED)
async def test_what_its_user_wants_kept_no_more_is_left_out_and_counted(
    source: TextStore, target: TextStore, tmp_path: Path, decided: str
) -> None:
    file, (record, why) = tmp_path / "there.jsonl", DECIDED[decided]
    await exported(source, file)
    await target.add_records([record])
    done = await read_archive(target, file)
    kept = await target.export_entries("ann", after=None, limit=100)
    wanted = {entry.id for entry in await source.export_entries("ann", after=None, limit=100)}
    spoken = {"work"} if decided == "off in a space" else set()
    noted = {"a note of nobody"} if decided == "incognito" else set()
    for entry in kept:
        assert entry.status == "forgotten" or entry.space in spoken or entry.text in noted, entry
    assert done.left_out[why].kept == len(wanted) - len(kept) > 0
    assert done.left_out[why].turns == (await source.counts("ann")).turns - (await target.counts("ann")).turns > 0
    assert (await target.counts("bob")).turns == (await source.counts("bob")).turns
    assert not [one for one in await target.unfinished("undecided", before=NOW, limit=9) if one.user_id == "ann"]


async def test_what_is_there_already_stays_where_memory_is_off(
    source: TextStore, target: TextStore, tmp_path: Path
) -> None:
    file = tmp_path / "there.jsonl"
    await exported(source, file)
    await read_archive(target, file)
    held = await target.counts("ann")
    key = RecordKey("ann", "settings", "*")
    await change_record(target, key, lambda _: Record(*key, {"memory_enabled": False}, NOW))
    done = await read_archive(target, file)
    assert (done.left_out, await target.counts("ann")) == ({}, held)


async def test_an_import_says_what_is_left_out_and_why(folder: Path, tmp_path: Path) -> None:
    file = folder / "all.jsonl"
    await typed("export", folder, file)
    other = tmp_path / "other"
    other.mkdir()
    async with opened(other / "memory.sqlite3") as store:
        await store.add_records([DECIDED["off"][0]])
    result = await typed("import", other, file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "as memory is off there: turn it on, then repeat the import\n" in result.stdout
    assert "left out: 5 entries and 7 turns, " in result.stdout


async def test_an_import_that_brings_back_who_was_erased_says_so(folder: Path) -> None:
    file = folder / "all.jsonl"
    await typed("export", folder, file)
    async with opened(folder / "memory.sqlite3") as store:
        await store.add_records([erased_record("ann", NOON)])
    result = await typed("import", folder, file)
    assert result.exit_code == 0
    assert f"'ann' was erased here on {NOON:%Y-%m-%d %H:%M} UTC, and is back with what the file holds" in result.stdout
    assert "`memorybus erase --user ann` removes it again" in result.stdout
    assert "'bob' was erased" not in result.stdout


async def test_one_users_export_holds_nobody_else(source: TextStore, target: TextStore, tmp_path: Path) -> None:
    await exported(source, tmp_path / "bob.jsonl", "bob")
    assert await imported(target, tmp_path / "bob.jsonl") == ["bob"]
    assert await target.users(after="", limit=9) == ["bob"]


async def test_an_export_that_was_cut_off_is_finished_as_if_it_never_had_been(
    source: TextStore, tmp_path: Path
) -> None:
    whole, unfinished = await exported(source, tmp_path / "whole.jsonl"), tmp_path / "unfinished.jsonl"
    for cut, torn in product((1, 3, 9, 15, 16, 17, 18, 20, 37, 52), (b"", b'{"entry": {"id": "a')):
        unfinished.write_bytes(b"".join(whole[:cut]) + torn)
        assert await exported(source, unfinished) == whole, (cut, torn)
        assert await exported(source, unfinished) == whole, "what is whole stays as it is"


async def test_a_file_that_is_not_whole_is_said_to_be(source: TextStore, tmp_path: Path) -> None:
    whole, path = await exported(source, tmp_path / "whole.jsonl"), tmp_path / "part.jsonl"
    for lines_left, says in ((whole[:-1], "--resume"), (whole[:5] + whole[6:], "damaged")):
        path.write_bytes(b"".join(lines_left))
        with pytest.raises(ArchiveError, match=says):
            await imported(source, path)


NO_LINES = [
    b"", b"{", b"[1, 2]", b"null", b'"text"', b"{}", b'{"entry": 5}', b'{"turn": {"user_id": ""}}',
    b'{"end": {"turns": "many"}}', b"\xff\xfe", b"\x00" * 100,
]  # fmt: skip


async def test_what_is_no_line_of_an_export_is_named_by_its_number(source: TextStore, tmp_path: Path) -> None:
    whole, path = await exported(source, tmp_path / "whole.jsonl"), tmp_path / "damaged.jsonl"
    for line in NO_LINES:
        path.write_bytes(b"".join([*whole[:2], line + b"\n", *whole[2:]]))
        with pytest.raises(ArchiveError, match=r"damaged\.jsonl: line 3: "):
            await imported(source, path)


async def test_an_entry_with_a_strange_id_is_refused(source: TextStore, tmp_path: Path) -> None:
    whole, path = await exported(source, tmp_path / "whole.jsonl"), tmp_path / "strange.jsonl"
    entry = an_entry("ann", id="../../etc/passwd").model_dump_json().encode()
    path.write_bytes(b"".join([*whole[:2], b'{"entry": ' + entry + b"}\n", *whole[2:]]))
    with pytest.raises(ArchiveError, match="UUID"):
        await imported(source, path)


async def test_a_memory_is_not_given_to_another_by_changing_its_owner_in_the_file(
    source: TextStore, target: TextStore, tmp_path: Path
) -> None:
    whole = await exported(source, tmp_path / "bob.jsonl", "bob")
    (tmp_path / "eve.jsonl").write_bytes(b"".join(whole).replace(b'"user_id":"bob"', b'"user_id":"eve"'))
    for memory in (source, target):
        with pytest.raises(ArchiveError, match="is not of user 'eve'"):
            await imported(memory, tmp_path / "eve.jsonl")
        assert not (await memory.counts("eve")).entries


async def test_what_was_first_said_in_a_turn_that_came_later_or_is_gone_is_moved_like_all_else(
    target: TextStore, tmp_path: Path
) -> None:
    turns = [a_turn("ann", "I like tea", conversation_id=f"c{i}", created_at=NOON + minutes(i)) for i in (5, 0, 9)]
    made = entry_of(a_proposal(turns[0]))
    told = made
    for turn in turns[1:]:
        told = renewed(told, entry_of(a_proposal(turn)))
    left = not_said_in(told, "c0", NOON + minutes(20))
    assert left is not None
    for number, entry in enumerate((told, left)):
        async with opened(tmp_path / f"{number}.sqlite3") as memory:
            await memory.append(turns, [a_proposal(turn) for turn in turns])
            await memory.apply([Accepted(entry)])
            await exported(memory, tmp_path / f"{number}.jsonl", "ann")
        await imported(target, tmp_path / f"{number}.jsonl")
    assert list(await target.get([made])) == [made.id]


async def test_going_on_with_another_users_export_is_refused(source: TextStore, tmp_path: Path) -> None:
    await exported(source, tmp_path / "bob.jsonl", "bob")
    with pytest.raises(ArchiveError, match="'bob'"):
        await exported(source, tmp_path / "bob.jsonl", "ann")


async def test_pages_join_without_gap_or_repeat(source: TextStore) -> None:
    """Whatever the page size, in the order of time, space and id."""
    whole = await source.export_entries("ann", after=None, limit=100)
    places = [Place(entry.created_at, entry.space, entry.id) for entry in whole]
    assert places == sorted(places)
    for index, place in enumerate(places):
        assert await source.export_entries("ann", after=place, limit=2) == whole[index + 1 : index + 3]
    turns = [record.turn for record in await source.export_log("ann", after=None, limit=100)]
    assert [(t.created_at, t.space, t.turn_id) for t in turns] == sorted(
        (t.created_at, t.space, t.turn_id) for t in turns
    )


async def test_a_line_says_nothing_of_what_can_be_made_again(source: TextStore) -> None:
    written = [line.model_dump() for line in [line async for line in lines(source, "ann")]]
    assert any("entry" in line for line in written)
    entry = an_entry("ann", embedding_state="ready", embedding_model="m", version=7)
    line = decode(b'{"entry": ' + entry.model_dump_json().encode() + b"}", "here")
    assert b"embedding" not in encode(line)
    assert b"version" not in encode(line)
    assert await source.get([Key("ann", entry.id)]) == {}


async def test_an_export_is_the_same_bytes_each_time_and_on_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        assert (await typed("export", folder, folder / name)).exit_code == 0
    monkeypatch.chdir(folder)
    (folder / "-").touch()
    written = await typed("export", folder, "-")
    assert written.exit_code == 0
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes() == written.stdout_bytes
    assert "turns and" in written.stderr
    assert stat.S_IMODE((folder / "one").stat().st_mode) == 0o600


async def test_an_export_is_read_from_standard_input(folder: Path) -> None:
    assert (await typed("export", folder, folder / "one")).exit_code == 0
    command = [sys.executable, "-m", "services.cli", "import", "-", "--data", str(folder / "new")]
    with (folder / "one").open("rb") as export:
        done = await asyncio.to_thread(subprocess.run, command, stdin=export, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (await typed("export", folder / "new", folder / "again")).exit_code == 0
    assert (folder / "again").read_bytes() == (folder / "one").read_bytes()


async def test_a_user_who_is_not_known_is_said_to_be_and_no_file_is_made(folder: Path) -> None:
    for where in (str(folder / "nobody"), "-"):
        result = await typed("export", folder, where, "--user", "nobody")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("error: there is nothing of a user 'nobody'")
    assert not (folder / "nobody").exists()


async def test_where_it_cannot_be_written_or_gone_on_with_is_named_with_the_reason(folder: Path) -> None:
    file = folder / "nowhere" / "ann.jsonl"
    result = await typed("export", folder, file)
    assert (result.exit_code, result.stderr) == (1, f"error: {file}: No such file or directory\n")
    result = await typed("export", folder, "-", "--resume")
    assert result.exit_code == 1
    assert "standard output" in result.stderr
