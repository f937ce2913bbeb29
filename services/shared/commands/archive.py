"""The file format of an export: a header, per user entries, turns and records, and counts at the end.

Entries and turns are in order of time, the oldest first, records in that of their names.

One JSON object a line. What can be made again is left out: vectors and their state, cached scores, version numbers.
Entries come before the turns they were made from, so that whoever reads the file can settle a turn at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, BinaryIO, Literal

from pydantic import Field, ValidationError
from pydantic_core import from_json

from contracts.envelope import Message, Moment
from contracts.ports import LogRecord, Outcome, OutcomeKind, Place, ProposalRecord, Record, RecordKind
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.commands.formats.source import held_by
from services.shared.errors import describe_error

_DERIVED = frozenset(
    {
        "version",
        "edited_version",
        "level",
        "last_scores",
        "asked",
        "asked_at",
        "embedding_state",
        "embedding_provider",
        "embedding_model",
        "embedding_dimensions",
        "embedding_error",
        "claims",
        "changes",
        "read_by",
    }
)
LONGEST_LINE = 16 * 1024 * 1024
_MOST_HELD = 4 * LONGEST_LINE


class ArchiveError(Exception):
    """A file is no export, or is damaged; the text says where and what to do."""


class Header(Message):
    """The first line. `user` is None where everybody was exported. No time is in it: the same memory, the same file."""

    memorybus_export: Literal[1] = 1
    user: str | None = None


class ProposalLine(Message):
    """What a turn proposed and what became of it; no outcome while it was undecided."""

    ordinal: int = Field(default=0, ge=0)
    text: str | None = None
    outcome: OutcomeKind | None = None
    entry_id: str | None = None
    reason: str | None = None


class TurnLine(Message):
    """A logged turn."""

    turn: LoggedTurn
    proposals: tuple[ProposalLine, ...] = ()


class EntryLine(Message):
    """An entry in any status."""

    entry: Entry


EXPORTED: tuple[RecordKind, ...] = ("settings", "theme", "names", "loops", "rollup", "conflict")
"""The kinds of records that go with a memory, in order. What was done to one stays where it was done."""


class KeptRecord(Message):
    """A record without its version."""

    user_id: str
    kind: RecordKind
    name: str
    body: dict[str, Any]
    at: Moment


class RecordLine(Message):
    """A record about a user."""

    record: KeptRecord


class Tally(Message):
    """What the file holds; `entries` counts the active ones, as `memorybus status` does, `kept` all of them."""

    turns: int = 0
    entries: int = 0
    kept: int = 0
    merged: int = 0
    refused: int = 0
    records: int = 0

    def plus(self, line: Said) -> Tally:
        """The tally with one more line."""
        if isinstance(line, RecordLine):
            return self.model_copy(update={"records": self.records + 1})
        if isinstance(line, EntryLine):
            active = line.entry.status == "active"
            return self.model_copy(update={"kept": self.kept + 1, "entries": self.entries + active})
        first = [proposal.outcome for proposal in line.proposals if proposal.ordinal == 0]
        return self.model_copy(
            update={
                "turns": self.turns + 1,
                "merged": self.merged + first.count("merged"),
                "refused": self.refused + first.count("refused"),
            }
        )


class End(Message):
    """The last line: a file without it is not whole."""

    end: Tally


Said = EntryLine | TurnLine | RecordLine
"""A line about a user."""

Line = Header | Said | End
_KINDS: dict[str, type[Line]] = {
    "memorybus_export": Header,
    "turn": TurnLine,
    "entry": EntryLine,
    "record": RecordLine,
    "end": End,
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line with where it begins and ends in the file, in bytes."""

    line: Line
    number: int
    start: int
    end: int


def turn_line(record: LogRecord) -> TurnLine:
    """A logged turn as a line."""
    return TurnLine(turn=record.turn, proposals=tuple(_proposal_line(record.turn, d) for d in record.proposals))


def _proposal_line(turn: LoggedTurn, decision: ProposalRecord) -> ProposalLine:
    settled, text = decision.outcome, decision.proposal.written
    return ProposalLine(
        ordinal=decision.proposal.ordinal,
        text=text if text != turn.text else None,
        outcome=settled.kind if settled else None,
        entry_id=settled.entry_id if settled and settled.kind == "merged" else None,
        reason=settled.reason if settled else None,
    )


def record_of(line: TurnLine) -> LogRecord:
    """The logged turn that a line holds."""
    return LogRecord(line.turn, tuple(_decision(line.turn, proposal) for proposal in line.proposals))


def _decision(turn: LoggedTurn, line: ProposalLine) -> ProposalRecord:
    id_ = entry_id(turn.user_id, turn.space, turn.turn_id, line.ordinal)
    proposal = Proposal.logged(id_, turn, line.ordinal, turn.text if line.text is None else line.text)
    if line.outcome is None:
        return ProposalRecord(proposal, None)
    elsewhere = id_ if line.outcome == "stored" else line.entry_id
    return ProposalRecord(proposal, Outcome(id_, line.outcome, elsewhere, line.reason))


def record_line(record: Record) -> RecordLine:
    """A record as a line."""
    kept = {name: getattr(record, name) for name in KeptRecord.model_fields}
    return RecordLine(record=KeptRecord(**kept))


def place_of(line: Said) -> Place:
    """Where a line stands among those of its kind and user."""
    if isinstance(line, RecordLine):
        return Place(line.record.at, line.record.kind, line.record.name)
    if isinstance(line, EntryLine):
        return Place(line.entry.created_at, line.entry.space, line.entry.id)
    return Place(line.turn.created_at, line.turn.space, line.turn.turn_id)


def user_of(line: Said) -> str:
    """Whose line it is."""
    if isinstance(line, RecordLine):
        return line.record.user_id
    return line.entry.user_id if isinstance(line, EntryLine) else line.turn.user_id


def encode(line: Line) -> bytes:
    """A line as bytes; the same content always gives the same bytes."""
    if isinstance(line, EntryLine):
        body = line.entry.model_dump_json(exclude=set(_DERIVED), exclude_none=True)
        return b'{"entry":' + body.encode() + b"}\n"
    return line.model_dump_json(exclude_none=True).encode() + b"\n"


def decode(raw: bytes, where: str) -> Line:
    """A line of a file.

    Raises:
        ArchiveError: it is none.
    """
    if len(raw) > LONGEST_LINE:
        raise ArchiveError(f"{where}: is longer than {LONGEST_LINE:,} bytes")
    if held_by(raw) > _MOST_HELD:
        raise ArchiveError(f"{where}: would take more than {_MOST_HELD:,} bytes of memory")
    try:
        kind = next((name for name in from_json(raw) if name in _KINDS), None)
        if kind is None:
            raise ArchiveError(f"{where}: is no line of an export")
        return _KINDS[kind].model_validate_json(raw)
    except ValidationError as error:
        raise ArchiveError(f"{where}: {describe_error(error)}") from error
    except (ValueError, TypeError) as error:
        raise ArchiveError(f"{where}: is no JSON object: the file is damaged, or no export") from error


def read(file: BinaryIO, name: str) -> Iterator[Numbered]:
    """The whole lines of a file, from its beginning; an unfinished last line is left out.

    Raises:
        ArchiveError: a line is none of an export, or the first one is no header.
    """
    start = 0
    for number in count(1):
        raw = file.readline(LONGEST_LINE + 1)
        if not raw.endswith(b"\n"):
            if len(raw) > LONGEST_LINE:
                raise ArchiveError(f"{name}: line {number}: is longer than {LONGEST_LINE:,} bytes")
            return
        line = decode(raw, f"{name}: line {number}")
        if isinstance(line, Header) != (number == 1):
            raise ArchiveError(f"{name}: line {number}: the header belongs at the beginning, and only there")
        yield Numbered(line, number, start, start + len(raw))
        start += len(raw)
