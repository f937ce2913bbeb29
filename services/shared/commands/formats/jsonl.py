"""JSON Lines: one turn a line, exactly as it is published on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from contracts.v1.turns import Turn
from services.shared.commands.formats.source import FormatError, Source, parsed, without_mark

MAX_LINE_BYTES = 1024 * 1024


def read_jsonl(source: Source) -> Iterator[Turn]:
    """The turns of a file, read line by line; `source` fills in users and spaces that are missing."""
    with source.open() as file:
        for number, line in _lines(file, source.name):
            yield _turn(source, line, f"{source.name}:{number}")


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line that is not blank."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise FormatError(f"{name}:{number}: the line has more than {MAX_LINE_BYTES:,} bytes")
        if number == 1:
            line = without_mark(line, name)
        if line.strip():
            yield number, line


def _turn(source: Source, line: bytes, where: str) -> Turn:
    if line.lstrip().startswith(b"["):
        raise FormatError(f"{where}: a list, not a turn: is it --format openai or --format locomo?")
    fields = parsed(line, where)
    if not isinstance(fields, dict):
        raise FormatError(f"{where}: is no JSON object")
    defaults = {"user_id": source.user, "space": source.space}
    fields |= {name: value for name, value in defaults.items() if value is not None and fields.get(name) is None}
    if fields.get("user_id") is None:
        raise FormatError(f"{where}: has no user_id: say whose memory it is with --user")
    return source.turn(where, fields)
