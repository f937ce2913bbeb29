"""`memorybus export`: writes everything of a user, or of all, into a file of JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.progress import Progress

from contracts.ports import Place, TextStore
from services.cli import archive
from services.cli.archive import ArchiveError, EntryLine, Numbered, Tally, TurnLine
from services.cli.common import err, fail, plural, run, settings_from
from services.cli.sending import bars
from services.shared.app import Host
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus export memory.jsonl\n
  memorybus export ann.jsonl --user ann --data ./memory\n
  memorybus export memory.jsonl --resume\n
  memorybus export - --user ann | gzip > ann.jsonl.gz\n
  MEMORYBUS_OPENSEARCH_URL=http://… memorybus export memory.jsonl --text-store opensearch
"""
_PAGE = 500
_STANDARD_OUTPUT = Path("-")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; - writes standard output.")],
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; without, everybody's.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a file that was left unfinished.")] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder.", show_default=False)] = None,
    text_store: Annotated[str | None, typer.Option(help="System of record: sqlite, opensearch.")] = None,
) -> None:
    """Write conversation log and entries into a file that `memorybus import` reads, on whatever engines.

    Vectors are not in it: they are made again. memorybus may go on running meanwhile.
    """
    settings = settings_from(data=data, text_store=text_store)
    if settings.text_store == "sqlite" and not settings.sqlite_path.exists():
        fail(f"there is no memory in {settings.data}: name its folder with --data")
    if file == _STANDARD_OUTPUT and resume:
        fail("standard output cannot be gone on with: name a file, or leave out --resume")
    if file != _STANDARD_OUTPUT and file.exists() and not resume:
        fail(f"{file} exists: choose another name, or go on with it by --resume")
    try:
        tally = run(_export(settings, file, user))
    except ArchiveError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or file}: {error.strerror or error}")
    counted = f"{plural(tally.turns, 'turn')} and {plural(tally.kept, 'entry', 'entries')} ({tally.entries:,} active)"
    where = "written" if file == _STANDARD_OUTPUT else f"in {file}"
    err.print(f"{counted} are {where}", highlight=False, markup=False)


async def _export(settings: Settings, file: Path, user: str | None) -> Tally:
    host = Host(settings, "")
    try:
        store = await host.text_store()
        if user is not None and not await _knows(store, user):
            raise ArchiveError(f"there is nothing of a user {user!r} in this memory: nothing was written")
        with bars(err) as progress:
            if file == _STANDARD_OUTPUT:
                tally = await write_lines(store, sys.stdout.buffer, user, progress)
                sys.stdout.flush()
                return tally
            with _opened(file) as opened:
                return await write_archive(store, opened, str(file), user, progress)
    finally:
        await host.close()


def _opened(file: Path) -> BinaryIO:
    """The file, for its owner alone when it is new: it holds what people said."""
    return open(file, "a+b", opener=partial(os.open, mode=0o600))


async def _knows(store: TextStore, user: str) -> bool:
    return bool(
        await store.export_entries(user, after=None, limit=1) or await store.export_log(user, after=None, limit=1)
    )


async def write_archive(store: TextStore, file: BinaryIO, name: str, user: str | None, progress: Progress) -> Tally:
    """Write an export, or go on with one that was left unfinished.

    Raises:
        ArchiveError: the file holds something else, or another user's export.
    """
    tally, last = _left_off(file, name, user)
    if last and isinstance(last.line, archive.End):
        return tally
    return await write_lines(store, file, user, progress, tally, last)


async def write_lines(
    store: TextStore,
    file: BinaryIO,
    user: str | None,
    progress: Progress,
    tally: Tally | None = None,
    last: Numbered | None = None,
) -> Tally:
    """Write all lines of an export, or those that come after `last`, up to which `tally` counts."""
    tally = tally or Tally()
    if last is None:
        file.write(archive.encode(archive.Header(user=user)))
    begun = last.line if last and isinstance(last.line, EntryLine | TurnLine) else None
    task = progress.add_task("exporting", total=await _expected(store, user), note="", completed=_done(tally))
    async for line in lines(store, user, begun):
        file.write(archive.encode(line))
        tally = tally.plus(line)
        progress.update(task, completed=_done(tally))
    file.write(archive.encode(archive.End(end=tally)))
    return tally


async def _expected(store: TextStore, user: str | None) -> int:
    counts = await store.counts(user)
    return counts.turns + counts.entries


def _done(tally: Tally) -> int:
    return tally.turns + tally.entries


def _left_off(file: BinaryIO, name: str, user: str | None) -> tuple[Tally, Numbered | None]:
    """What the file holds already, and its last whole line; what comes after that line is cut off."""
    tally, last = Tally(), None
    file.seek(0)
    for last in archive.read(file, name):
        match last.line:
            case archive.Header() if last.line.user != user:
                whose = f"of {last.line.user!r}" if last.line.user else "of everybody"
                raise ArchiveError(f"{name}: is an export {whose}: name the same user to go on, or another file")
            case EntryLine() | TurnLine():
                tally = tally.plus(last.line)
    file.truncate(last.end if last else 0)
    file.seek(0, 2)
    return tally, last


async def lines(
    store: TextStore, user: str | None, begun: EntryLine | TurnLine | None = None
) -> AsyncIterator[EntryLine | TurnLine]:
    """Every line of an export that comes after `begun`: per user first the entries, then the turns."""
    async for name in _users(store, user, from_=archive.user_of(begun) if begun else ""):
        here = begun if begun and archive.user_of(begun) == name else None
        if not isinstance(here, TurnLine):
            async for entry_line in _entries(store, name, archive.place_of(here) if here else None):
                yield entry_line
        turns_after = archive.place_of(here) if isinstance(here, TurnLine) else None
        async for turn in _turns(store, name, turns_after):
            yield turn


async def _users(store: TextStore, user: str | None, *, from_: str) -> AsyncIterator[str]:
    if user is not None:
        yield user
        return
    if from_:
        yield from_
    while names := await store.users(after=from_, limit=_PAGE):
        for name in names:
            yield name
        from_ = names[-1]


async def _entries(store: TextStore, user: str, after: Place | None) -> AsyncIterator[EntryLine]:
    while page := await store.export_entries(user, after=after, limit=_PAGE):
        for entry in page:
            yield EntryLine(entry=entry)
        after = archive.place_of(EntryLine(entry=page[-1]))


async def _turns(store: TextStore, user: str, after: Place | None) -> AsyncIterator[TurnLine]:
    while page := await store.export_log(user, after=after, limit=_PAGE):
        for record in page:
            yield archive.turn_line(record)
        after = archive.place_of(archive.turn_line(page[-1]))
