"""`memorybus import`: reads an export into the text store that is chosen now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from contracts.ports import Accepted, Decision, Key, Merged, ProposalRecord, Refused, StageCounts, TextStore
from contracts.v1.entries import Entry, Status
from services.cli import archive
from services.cli.archive import ArchiveError, EntryLine, Tally, TurnLine
from services.cli.common import err, fail, out, plural, run, settings_from
from services.cli.sending import bars
from services.shared.app import Host
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus import memory.jsonl --data ./memory\n
  MEMORYBUS_OPENSEARCH_URL=http://… memorybus import memory.jsonl --text-store opensearch
"""
_BATCH = 500


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `memorybus export` wrote.", exists=True)],
    data: Annotated[Path | None, typer.Option(help="Data folder.", show_default=False)] = None,
    text_store: Annotated[str | None, typer.Option(help="System of record: sqlite, opensearch.")] = None,
) -> None:
    """Read an export into the memory chosen now, and compare the counts.

    What is there already stays as it is, so an import that was interrupted is simply repeated. Vectors are made by
    the running services: at once where they run, at the next `memorybus up` otherwise.
    """
    settings = settings_from(data=data, text_store=text_store)
    try:
        wanted, found, changed = run(_import(settings, file))
    except ArchiveError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or file}: {error.strerror or error}")
    out.print(_compared(wanted, found))
    for status, count in changed.items():
        out.print(f"{status} in this memory, and left so: {plural(count, 'entry', 'entries')}", highlight=False)
    if missing := _missing(wanted, found, changed.total()):
        fail(f"the memory holds less than the file: {', '.join(missing)}; repeat the import, it goes on")


async def _import(settings: Settings, file: Path) -> tuple[Tally, StageCounts, Counter[Status]]:
    host = Host(settings, "")
    try:
        store = await host.text_store()
        with bars(err) as progress:
            tally, users, changed = await read_archive(store, file, progress)
        return tally, await _counts(store, users), changed
    finally:
        await host.close()


async def read_archive(store: TextStore, file: Path, progress: Progress) -> tuple[Tally, list[str], Counter[Status]]:
    """Store what the file holds; what that was, of which users, and how many active entries memory has inactive.

    Raises:
        ArchiveError: the file is damaged or not whole; what came before the damage is stored.
    """
    task = progress.add_task("importing", total=_size(file), note="")
    tally, users, changed, ended = Tally(), dict[str, None](), Counter[Status](), False
    for batch in _batches(file, progress, task):
        if ended:
            raise ArchiveError(f"{file}: goes on after its last line: it is damaged")
        match batch[0]:
            case archive.End():
                _check_end(batch[0].end, tally, file)
                ended = True
            case EntryLine():
                changed += await _store_entries(store, [line for line in batch if isinstance(line, EntryLine)])
            case TurnLine():
                await _store_turns(store, [line for line in batch if isinstance(line, TurnLine)])
        for line in batch:
            if isinstance(line, EntryLine | TurnLine):
                tally = tally.plus(line)
                users[archive.user_of(line)] = None
    if not ended:
        raise ArchiveError(f"{file}: is not whole: finish it with `memorybus export --resume`, then repeat the import")
    return tally, list(users), changed


def _size(file: Path) -> int:
    return file.stat().st_size


def _batches(file: Path, progress: Progress, task: TaskID) -> Iterator[list[archive.Line]]:
    """Lines of one kind, at most so many at a time."""
    with file.open("rb") as opened:
        for _, same in groupby(archive.read(opened, str(file)), key=lambda found: type(found.line)):
            lines: list[archive.Line] = []
            for found in same:
                lines.append(found.line)
                if len(lines) == _BATCH:
                    yield lines
                    lines = []
                    progress.update(task, completed=found.end)
            if lines:
                yield lines


def _check_end(promised: Tally, tally: Tally, file: Path) -> None:
    if promised != tally:
        raise ArchiveError(f"{file}: holds {tally!r}, but its last line promises {promised!r}: it is damaged")


async def _store_entries(store: TextStore, lines: Sequence[EntryLine]) -> Counter[Status]:
    """Store entries; how many of the active ones memory holds already, and not active any more."""
    for line in lines:
        _check_id(line.entry)
    await store.apply([Accepted(_pending(line.entry)) for line in lines])
    held = await store.get([line.entry for line in lines if line.entry.status == "active"])
    return Counter(entry.status for entry in held.values() if entry.status != "active")


def _check_id(entry: Entry) -> None:
    try:
        canonical = str(UUID(entry.id)) == entry.id
    except ValueError:
        canonical = False
    if not canonical:
        raise ArchiveError(f"entry id {entry.id[:64]!r} is no canonical UUID: the file was not made by memorybus")


def _pending(entry: Entry) -> Entry:
    """The entry as a new one of this memory: without a vector, whatever the file says."""
    return entry.model_copy(update={"version": 1, "embedding_state": "pending", "last_scores": None})


async def _store_turns(store: TextStore, lines: Sequence[TurnLine]) -> None:
    """Log turns and settle at once what they proposed, before anybody finds it undecided."""
    records = [archive.record_of(line) for line in lines]
    decisions = [decision for record in records for decision in record.proposals]
    await store.append([record.turn for record in records], [decision.proposal for decision in decisions])
    stored = await store.get([d.proposal for d in decisions if d.outcome and d.outcome.kind == "stored"])
    verdicts = [verdict for decision in decisions if (verdict := _verdict(decision, stored)) is not None]
    await store.apply(verdicts)


def _verdict(decision: ProposalRecord, stored: dict[str, Entry]) -> Decision | None:
    proposal, settled = decision.proposal, decision.outcome
    if settled is None:
        return None
    if settled.kind == "merged" and settled.entry_id is not None:
        return Merged(Key(proposal.user_id, proposal.id), settled.entry_id, None)
    if settled.kind == "refused":
        return Refused(Key(proposal.user_id, proposal.id), settled.reason or "refused")
    return Accepted(stored[proposal.id]) if proposal.id in stored else None


async def _counts(store: TextStore, users: Sequence[str]) -> StageCounts:
    counted = [await store.counts(user) for user in users]
    return StageCounts(*(sum(getattr(counts, name) for counts in counted) for name in StageCounts.__slots__))


_COMPARED = ("turns", "entries", "merged", "refused")


def _compared(wanted: Tally, found: StageCounts) -> Table:
    table = Table(title="file and memory")
    for column in ("", "file", "memory"):
        table.add_column(column, justify="right" if column else "left")
    for name in _COMPARED:
        table.add_row(name, f"{getattr(wanted, name):,}", f"{getattr(found, name):,}")
    return table


def _missing(wanted: Tally, found: StageCounts, inactive: int) -> list[str]:
    """What memory has fewer of than the file; entries that are inactive here count as there."""
    there = {"entries": found.entries + inactive}
    pairs = ((name, getattr(wanted, name), there.get(name, getattr(found, name))) for name in _COMPARED)
    return [f"{has:,} of {wants:,} {name}" for name, wants, has in pairs if has < wants]
