"""Moving a memory: everything of a user or of all goes into a file of lines, and comes from there into any store."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar
from uuid import UUID

from contracts.ports import (
    Accepted,
    Conversation,
    Decision,
    Key,
    Merged,
    Place,
    ProposalRecord,
    Record,
    Refused,
    StageCounts,
    TextStore,
)
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import entry_id
from services.shared.commands import archive
from services.shared.commands.archive import ArchiveError, EntryLine, Numbered, RecordLine, Said, Tally, TurnLine
from services.shared.commands.formats.source import Source
from services.shared.commands.progress import Progress, untold
from services.shared.lifecycle.set_aside import back_in_use
from services.shared.preferences import NOTES, PreferenceReader, Reason, limits_mark

_PAGE = 500


async def write_archive(
    store: TextStore, file: BinaryIO, name: str, user: str | None, progress: Progress = untold
) -> Tally:
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
    begun = last.line if last and isinstance(last.line, Said) else None
    counts = await store.counts(user)
    async for line in lines(store, user, begun):
        file.write(archive.encode(line))
        tally = tally.plus(line)
        progress("exporting", tally.turns + tally.entries, counts.turns + counts.entries)
    file.write(archive.encode(archive.End(end=tally)))
    file.flush()
    return tally


async def knows(store: TextStore, user: str) -> bool:
    """Whether there is anything of a user in a store."""
    entries = await store.export_entries(user, after=None, limit=1)
    return bool(entries or await store.export_log(user, after=None, limit=1))


def _left_off(file: BinaryIO, name: str, user: str | None) -> tuple[Tally, Numbered | None]:
    """What the file holds already, and its last whole line; what comes after that line is cut off."""
    tally, last = Tally(), None
    file.seek(0)
    for last in archive.read(file, name):
        match last.line:
            case archive.Header() if last.line.user != user:
                whose = f"of {last.line.user!r}" if last.line.user else "of everybody"
                raise ArchiveError(f"{name}: is an export {whose}: name the same user to go on, or another file")
            case EntryLine() | TurnLine() | RecordLine():
                tally = tally.plus(last.line)
    file.truncate(last.end if last else 0)
    file.seek(0, 2)
    return tally, last


async def lines(store: TextStore, user: str | None, begun: Said | None = None) -> AsyncIterator[Said]:
    """Every line of an export that comes after `begun`: per user first the entries, then turns, then records."""
    async for name in _users(store, user, from_=archive.user_of(begun) if begun else ""):
        here = begun if begun and archive.user_of(begun) == name else None
        async for line in lines_of(store, name, *section_of(here)):
            yield line


Section = Literal["entries", "turns", "records"]


def section_of(line: Said | None) -> tuple[Section, Place | None]:
    """Where a line stands among those of its user; None is before all of them."""
    if line is None:
        return "entries", None
    if isinstance(line, RecordLine):
        return "records", archive.place_of(line)
    return "entries" if isinstance(line, EntryLine) else "turns", archive.place_of(line)


async def lines_of(
    store: TextStore, user: str, section: Section = "entries", after: Place | None = None, *, together: int = _PAGE
) -> AsyncIterator[Said]:
    """The lines of one user that come after a place in a section, and all of the later sections."""
    if section == "entries":
        while page := await store.export_entries(user, after=after, limit=together):
            for entry in page:
                yield EntryLine(entry=entry)
            after = archive.place_of(EntryLine(entry=page[-1]))
        section, after = "turns", None
    if section == "turns":
        while records := await store.export_log(user, after=after, limit=together):
            for record in records:
                yield archive.turn_line(record)
            after = archive.place_of(archive.turn_line(records[-1]))
        after = None
    for kind in archive.EXPORTED:
        for kept in await store.records(user, kind):
            if after is None or (archive.EXPORTED.index(kind), kept.name) > _order(after):
                yield archive.record_line(kept)


def _order(place: Place) -> tuple[int, str]:
    return list[str](archive.EXPORTED).index(place.space), place.id


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


@dataclass(slots=True)
class Imported:
    """What a file held, of which users, and how many of its active entries memory holds inactive, by status.

    `left_out`: what of it was not stored, by why its users want it kept no more.
    """

    tally: Tally = field(default_factory=Tally)
    left_out: dict[Reason, Tally] = field(default_factory=dict)
    users: dict[str, None] = field(default_factory=dict)
    inactive: Counter[Status] = field(default_factory=Counter)


async def read_archive(store: TextStore, file: Path, progress: Progress = untold) -> Imported:
    """Store what the file holds.

    Raises:
        ArchiveError: the file is damaged or not whole; what came before the damage is stored.
    """
    done, ended = Imported(), False
    for batch in _batches(file, progress):
        if ended:
            raise ArchiveError(f"{file}: goes on after its last line: it is damaged")
        match batch[0]:
            case archive.End():
                _check_end(batch[0].end, done.tally, file)
                ended = True
            case EntryLine():
                entries = [line for line in batch if isinstance(line, EntryLine)]
                done.inactive += await _store_entries(store, await _wanted(store, entries, done))
            case TurnLine():
                turns = [line for line in batch if isinstance(line, TurnLine)]
                await _store_turns(store, await _wanted(store, turns, done))
            case RecordLine():
                records = [_record(line) for line in batch if isinstance(line, RecordLine)]
                await store.add_records([*records, *filter(None, map(limits_mark, records))])
        for line in batch:
            if isinstance(line, Said):
                done.tally = done.tally.plus(line)
                done.users[archive.user_of(line)] = None
    if not ended:
        raise ArchiveError(f"{file}: is not whole: finish it with `memorybus export --resume`, then repeat the import")
    return done


def _batches(file: Path, progress: Progress) -> Iterator[list[archive.Line]]:
    """Lines of one kind, at most so many at a time; told are the bytes that are read."""
    source = Source(file)
    size = file.stat().st_size if source.rereadable else None
    with source.open() as opened:
        for _, same in groupby(archive.read(opened, str(file)), key=lambda found: type(found.line)):
            for some in _pages(same):
                yield [found.line for found in some]
                progress("importing", some[-1].end, size)


def _pages(lines: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """At most so many lines at a time, together no longer than one may be."""
    page: list[Numbered] = []
    for one in lines:
        if page and (len(page) == _PAGE or one.end - page[0].start > archive.LONGEST_LINE):
            yield page
            page = []
        page.append(one)
    if page:
        yield page


L = TypeVar("L", EntryLine, TurnLine)


async def _wanted(store: TextStore, lines: Sequence[L], done: Imported) -> list[L]:
    """The lines without what their users want kept no more, by what they decided in this memory; that is noted."""
    places = [_places(line) for line in lines]
    found = await PreferenceReader(store).of({place for some in places for place in some})
    reasons = [[found[place].refuse() for place in some] for some in places]
    refused: dict[Key, Reason] = {
        _key(line): why[0] for line, why in zip(lines, reasons, strict=True) if why and why[0] and all(why)
    }
    there = {*await _known(store, lines, list(refused))}
    for line in lines:
        key = _key(line)
        if key in refused and key.id not in there:
            why = refused[key]
            done.left_out[why] = done.left_out.get(why, Tally()).plus(line)
    return [line for line in lines if _key(line) not in refused]


async def _known(store: TextStore, lines: Sequence[L], keys: Sequence[Key]) -> Collection[str]:
    """Those of the keys, of entries or of turns, that memory has already."""
    of_turns = isinstance(lines[0], TurnLine)
    return await store.pending(keys) if of_turns else await store.get(keys)


def _places(line: EntryLine | TurnLine) -> list[Conversation]:
    """Where it was said; nowhere where it has no words any more."""
    if isinstance(line, TurnLine):
        turn = line.turn
        return [] if turn.redacted else [Conversation(turn.user_id, turn.space, turn.conversation_id)]
    entry = line.entry
    names = entry.conversations or (NOTES,)  # a roll-up was said in none
    return [] if entry.status == "forgotten" else [Conversation(entry.user_id, entry.space, name) for name in names]


def _key(line: EntryLine | TurnLine) -> Key:
    if isinstance(line, EntryLine):
        return Key(line.entry.user_id, line.entry.id)
    return Key(line.turn.user_id, entry_id(line.turn.user_id, line.turn.space, line.turn.turn_id))


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


def _record(line: RecordLine) -> Record:
    return Record(**dict(line.record))


def _check_id(entry: Entry) -> None:
    try:
        canonical = str(UUID(entry.id)) == entry.id
    except ValueError:
        canonical = False
    if not canonical:
        raise ArchiveError(f"entry id {entry.id[:64]!r} is no canonical UUID: the file was not made by memorybus")
    if not _may_be_of(entry):
        raise ArchiveError(
            f"entry {entry.id} is not of user {entry.user_id!r}, of whose name its id would be made: a memory gets"
            " another owner by publishing its turns with another user_id, not by changing it in an export"
        )


def _may_be_of(entry: Entry) -> bool:
    """Whether the id of an entry may be made of its user and of a turn that said it: not of the first, where an earlier
    one came later, and of one that is named no more, where its conversation was removed or many came after it."""
    if entry.source != "turn" or entry.turn_id is None or entry.session_id is None:
        return True
    named = [(entry.turn_id, entry.ordinal), *((one.turn_id, 0) for one in entry.repeated_in)]
    made = (entry_id(entry.user_id, entry.space, turn_id, ordinal) for turn_id, ordinal in named)
    return entry.repeat_count > len(entry.repeated_in) or entry.id in made


def _pending(entry: Entry) -> Entry:
    """The entry as a new one of this memory: without a vector, whatever the file says. What was set aside is read anew,
    and set aside once more."""
    anew = {"version": 1, "edited_version": 1, "embedding_state": "pending", "last_scores": None}
    return back_in_use(entry).model_copy(update={**anew, "claims": (), "changes": (), "read_by": None})


async def _store_turns(store: TextStore, lines: Sequence[TurnLine]) -> None:
    """Log turns and decide at once what they proposed, before anybody finds it undecided."""
    records = [archive.record_of(line) for line in lines]
    proposals = [proposal for record in records for proposal in record.proposals]
    await store.append([record.turn for record in records], [record.proposal for record in proposals])
    stored = await store.get([p.proposal for p in proposals if p.outcome and p.outcome.kind == "stored"])
    decisions = (_decision(record, stored) for record in proposals)
    await store.apply([decision for decision in decisions if decision is not None])


def _decision(record: ProposalRecord, stored: Mapping[str, Entry]) -> Decision | None:
    proposal, outcome = record.proposal, record.outcome
    if outcome is None:
        return None
    if outcome.kind == "merged" and outcome.entry_id is not None:
        return Merged(Key(proposal.user_id, proposal.id), outcome.entry_id, None)
    if outcome.kind == "refused":
        return Refused(Key(proposal.user_id, proposal.id), outcome.reason or "refused")
    return Accepted(stored[proposal.id]) if proposal.id in stored else None


async def counts_of(store: TextStore, users: Iterable[str]) -> StageCounts:
    """What the store holds of these users together."""
    counted = [await store.counts(user) for user in users]
    return StageCounts(*(sum(getattr(counts, name) for counts in counted) for name in StageCounts.__slots__))
