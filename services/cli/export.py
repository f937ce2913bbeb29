"""`memorybus export`: writes everything of a user, or of all, into a file of JSON lines."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from services.cli.common import FolderOption, bars, err, fail, plural, run, settings_from
from services.shared.app import Host
from services.shared.commands import transfer
from services.shared.commands.archive import ArchiveError, Tally
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus export memory.jsonl\n
  memorybus export ann.jsonl --user ann --data ./memory\n
  memorybus export memory.jsonl --resume\n
  memorybus export - --user ann | gzip > ann.jsonl.gz\n
  MEMORYBUS_OPENSEARCH_URL=http://… memorybus export memory.jsonl --text-store opensearch
"""
_STANDARD_OUTPUT = Path("-")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; - writes standard output.")],
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; without, everybody's.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a file that was left unfinished.")] = False,
    data: FolderOption = None,
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
    err.print(f"{counted} are {where}", markup=False)


async def _export(settings: Settings, file: Path, user: str | None) -> Tally:
    host = Host(settings, "")
    try:
        store = await host.text_store()
        if user is not None and not await transfer.knows(store, user):
            raise ArchiveError(f"there is nothing of a user {user!r} in this memory: nothing was written")
        with bars(err) as progress:
            if file == _STANDARD_OUTPUT:
                return await transfer.write_lines(store, sys.stdout.buffer, user, progress)
            with _opened(file) as opened:
                return await transfer.write_archive(store, opened, str(file), user, progress)
    finally:
        await host.close()


def _opened(file: Path) -> BinaryIO:
    """The file, for its owner alone when it is new: it holds what people said."""
    return open(file, "a+b", opener=partial(os.open, mode=0o600))
