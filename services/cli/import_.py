"""`memorybus import`: reads an export into the text store that is chosen now."""

from __future__ import annotations

import shlex
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contracts.ports import StageCounts
from services.cli.common import FolderOption, bars, err, fail, out, plural, run, settings_from, visible
from services.cli.tables import table
from services.shared.app import Host
from services.shared.commands.archive import ArchiveError, Tally
from services.shared.commands.formats.source import FormatError
from services.shared.commands.transfer import Imported, counts_of, read_archive
from services.shared.erasures import erased_at
from services.shared.preferences import Reason
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus import memory.jsonl --data ./memory\n
  memorybus export - --data ./old | memorybus import - --data ./new\n
  MEMORYBUS_OPENSEARCH_URL=http://… memorybus import memory.jsonl --text-store opensearch
"""


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File that `memorybus export` wrote; - is standard input.")
    ],
    data: FolderOption = None,
    text_store: Annotated[str | None, typer.Option(help="System of record: sqlite, opensearch.")] = None,
) -> None:
    """Read an export into the memory chosen now, and compare the counts.

    What is there already stays as it is, so an import that was interrupted is simply repeated. What its user wants
    kept no more is left out, and counted: where memory is off, or the conversation is incognito. Vectors are made by
    the running services: at once where they run, at the next `memorybus up` otherwise.
    """
    settings = settings_from(data=data, text_store=text_store)
    try:
        imported, found, erased = run(_import(settings, file))
    except (ArchiveError, FormatError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or file}: {error.strerror or error}")
    out.print(_compared(imported.tally, found))
    for why, left in imported.left_out.items():
        what = f"{plural(left.kept, 'entry', 'entries')} and {plural(left.turns, 'turn')}"
        out.print(f"left out: {what}, as {_LEFT_OUT[why]}", soft_wrap=True)
    for status, count in imported.inactive.items():
        out.print(f"{status} in this memory, and left so: {plural(count, 'entry', 'entries')}")
    for user, at in erased.items():
        _tell_that_erased(user, at)
    if missing := _missing(imported, found):
        fail(f"the memory holds less than the file: {', '.join(missing)}; repeat the import, it goes on")


def _tell_that_erased(user: str, at: datetime) -> None:
    """Who imports may not know that the user wanted all of this to be gone."""
    again = visible(shlex.join(["memorybus", "erase", "--user", user]))
    out.print(
        f"{visible(user)!r} was erased here on {at:%Y-%m-%d %H:%M} UTC, and is back with what the file "
        f"holds; `{again}` removes it again",
        markup=False,
        soft_wrap=True,
    )


async def _import(settings: Settings, file: Path) -> tuple[Imported, StageCounts, dict[str, datetime]]:
    host = Host(settings, "")
    try:
        store = await host.text_store()
        with bars(err) as progress:
            imported = await read_archive(store, file, progress)
        return imported, await counts_of(store, imported.users), await erased_at(store, imported.users)
    finally:
        await host.close()


_LEFT_OUT: dict[Reason, str] = {
    "disabled": "memory is off there: turn it on, then repeat the import",
    "incognito": "the conversation is incognito, or all are by default: end that, then repeat the import",
}
_COMPARED = ("turns", "entries", "merged", "refused")


def _compared(wanted: Tally, found: StageCounts) -> Table:
    rows = ((name, f"{getattr(wanted, name):,}", f"{getattr(found, name):,}") for name in _COMPARED)
    return table(("", "file", "memory"), rows, title="file and memory")


def _missing(imported: Imported, found: StageCounts) -> list[str]:
    """What memory has fewer of than the file without what was left out; entries that are inactive count as there."""
    there = {"entries": found.entries + imported.inactive.total()}
    wanted = {name: getattr(imported.tally, name) for name in _COMPARED}
    for left, name in product(imported.left_out.values(), _COMPARED):
        wanted[name] -= getattr(left, name)
    pairs = ((name, wants, there.get(name, getattr(found, name))) for name, wants in wanted.items())
    return [f"{has:,} of {wants:,} {name}" for name, wants, has in pairs if has < wants]
