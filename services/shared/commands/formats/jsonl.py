"""JSON Lines: one turn a line, exactly as it is published on the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from contracts.v1.turns import Turn
from services.shared.commands.formats.source import FormatError, Source, parsed, without_mark

MAX_LINE_BYTES = 1024 * 1024

_BEGINNING = 64 * 1024
_SHAPES = {rb'"mapping"\s*:': "--format chatgpt", rb'"chat_messages"\s*:': "--format claude"}
"""Keys that only the lists of one format have."""


def read_jsonl(source: Source) -> Iterator[Turn]:
    """The turns of a file, read line by line; `source` fills in users and spaces that are missing."""
    with source.open() as file:
        for number, line in _lines(file, source):
            yield _turn(source, line, f"{source.name}:{number}")


def _lines(file: BinaryIO, source: Source) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line that is not blank."""
    name, number = source.name, 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if line.lstrip().startswith(b"["):
            beginning = line + (file.read(_BEGINNING) if source.rereadable else b"")
            raise FormatError(f"{name}:{number}: a list, not a turn: is it {_guessed(beginning)}?")
        if len(line) > MAX_LINE_BYTES:
            raise FormatError(f"{name}:{number}: the line has more than {MAX_LINE_BYTES:,} bytes")
        if number == 1:
            line = without_mark(line, name)
        if line.strip():
            yield number, line


def _guessed(beginning: bytes) -> str:
    """The formats that a list which begins so may be of."""
    by_key = (name for key, name in _SHAPES.items() if re.search(key, beginning))
    return next(by_key, "--format openai or --format locomo")


def _turn(source: Source, line: bytes, where: str) -> Turn:
    fields = parsed(line, where)
    if not isinstance(fields, dict):
        raise FormatError(f"{where}: is no JSON object")
    defaults = {"user_id": source.user, "space": source.space}
    fields |= {name: value for name, value in defaults.items() if value is not None and fields.get(name) is None}
    if fields.get("user_id") is None:
        raise FormatError(f"{where}: has no user_id: say whose memory it is with --user")
    return source.turn(where, fields)
