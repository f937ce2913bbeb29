"""What all formats share: the file, its limits, and turns that are checked before they are published."""

from __future__ import annotations

import codecs
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from contracts.v1.turns import Turn

Format = Literal["jsonl", "openai", "chatgpt", "claude", "mem0", "zep", "letta", "langgraph", "locomo"]

STDIN = Path("-")
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
MAX_HELD_BYTES = 4 * MAX_DOCUMENT_BYTES
"""Bytes of memory that a document may take when it is read: many short values take far more than their letters."""

_TAKES = {b"{": 200, b"[": 72, b",": 40, b":": 32}
"""Bytes of memory for what stands at each of these."""

WITHOUT_TEXT = "without text"
UNREADABLE = "that cannot be read"

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

M = TypeVar("M", bound=BaseModel)


class FormatError(Exception):
    """A file is not what it should be; the text says where, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of turns, `-` for standard input, and what its turns get where the file leaves it open.

    `longest` is the most bytes of UTF-8 a text may have; `skipped` counts, by reason, what was no turn, and `unread`
    says of the first that cannot be read where it stands; `notes` counts what else is to be known of the file; `users`
    are those of the turns that were read.
    """

    path: Path
    format: Format = "jsonl"
    user: str | None = None
    space: str | None = None
    longest: int = 64 * 1024
    skipped: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    users: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What errors call the file."""
        return "standard input" if self.path == STDIN else str(self.path)

    @property
    def rereadable(self) -> bool:
        """Whether the file can be read again from the beginning; a pipe cannot."""
        return self.path != STDIN and self.path.is_file()

    def begin(self) -> None:
        """Forget what was counted when the file was read before."""
        for counted in (self.skipped, self.unread, self.notes, self.users):
            counted.clear()

    def leave_unread(self, problem: str) -> None:
        """Count what cannot be read."""
        self.skipped[UNREADABLE] += 1
        if not self.unread:
            self.unread.append(problem)

    def open(self) -> BinaryIO:
        """The bytes of the file."""
        if self.path != STDIN:
            return self.path.open("rb")
        if sys.stdin is None:
            raise FormatError("there is no standard input: name a file")
        # A reader of its own: a thread that waits in sys.stdin would keep the interpreter from ending.
        return open(sys.stdin.fileno(), "rb", closefd=False)

    def whole(self, most: int | None = None) -> bytes:
        """The file at once, without a byte order mark; it may have `most` bytes, or as many as any document."""
        most = MAX_DOCUMENT_BYTES if most is None else most
        with self.open() as file:
            raw = file.read(most + 1)
        if len(raw) > most:
            raise FormatError(f"{self.name}: has more than {most:,} bytes: split it")
        return without_mark(raw, self.name)

    def turn(self, where: str, fields: dict[str, Any]) -> Turn:
        """A checked turn; `where` is the place in the file that errors name."""
        turn = checked(Turn, fields, where)
        if not turn.text.strip():
            raise FormatError(f"{where}: text: is blank")
        size = len(turn.text.encode())
        if size > self.longest:
            allowed = f"{self.longest:,} are allowed, see MEMORYBUS_MAX_TEXT_BYTES"
            raise FormatError(f"{where}: text: has {size:,} bytes, {allowed}")
        return turn


def held_by(raw: bytes) -> int:
    """The bytes of memory that a JSON document takes with what is read from it, rather too many than too few."""
    return len(raw) + sum(size * raw.count(mark) for mark, size in _TAKES.items())


def check_held(raw: bytes, where: str) -> None:
    """Refuse a document before it takes more memory than it may."""
    if held_by(raw) > MAX_HELD_BYTES:
        raise FormatError(f"{where}: would take more than {MAX_HELD_BYTES:,} bytes of memory: split it")


def parsed(raw: bytes, where: str) -> Any:
    """The value of a JSON document in UTF-8."""
    check_held(raw, where)
    try:
        return from_json(raw)
    except ValueError as error:
        raise FormatError(f"{where}: is not JSON: {error}") from None


def checked(model: type[M], data: object, where: str) -> M:
    """The data as a model."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise FormatError(f"{where}: {_first_problem(error)}") from None
    except OverflowError:
        raise FormatError(f"{where}: created_at is not between the years 1 and 9999 in UTC") from None


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    told = problem["msg"].partition(" or instance of ")[0]  # the rest is a name of our own
    place = ".".join(_printable(str(part)) for part in problem["loc"])
    return f"{place}: {told}" if place else told


def _printable(name: str) -> str:
    """A name from a file, as it can stand in a line of text."""
    return (name if name.isprintable() else repr(name))[:64]


def later(moment: datetime, step: timedelta) -> datetime:
    """The moment after a step; at the end of time there is no later one."""
    try:
        return moment + step
    except OverflowError:
        return moment


def without_mark(raw: bytes, where: str) -> bytes:
    """The bytes after a UTF-8 byte order mark."""
    if raw.startswith(_UTF16):
        raise FormatError(f"{where}: is UTF-16: save it as UTF-8")
    return raw.removeprefix(codecs.BOM_UTF8)
