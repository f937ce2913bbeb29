"""JSON Lines: one turn a line, exactly as it is published on the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from contracts.v1.turns import Turn
from services.shared.cache import Cache
from services.shared.commands.formats.source import FormatError, Source, parsed, without_mark
from services.shared.commands.formats.times import filled

MAX_LINE_BYTES = 1024 * 1024

Place = tuple[str, str, str | None]
_MOST_HELD = 256
_MOST_CONVERSATIONS = 10_000
_BEGINNING = 64 * 1024
_SHAPES = {rb'"mapping"\s*:': "--format chatgpt", rb'"chat_messages"\s*:': "--format claude"}
"""Keys that only the lists of one format have."""


def read_jsonl(source: Source) -> Iterator[Turn]:
    """The turns of a file, read line by line; `source` fills in users and spaces that are missing.

    What has no time among dated turns of its conversation was said next to them; a pipe is not held up for that.
    """
    with source.open() as file:
        turns = (_turn(source, line, f"{source.name}:{number}") for number, line in _lines(file, source))
        yield from _dated(turns, most_held=_MOST_HELD if source.rereadable else 0)


def _dated(turns: Iterator[Turn], *, most_held: int) -> Iterator[Turn]:
    last: Cache[Place, datetime] = Cache(_MOST_CONVERSATIONS)
    held: list[Turn] = []
    waiting: set[Place] = set()
    try:
        for turn in turns:
            held.append(turn)
            (waiting.add if turn.created_at is None else waiting.discard)(_place(turn))
            if not waiting or len(held) > most_held:
                yield from _settled(held, last)
                held.clear()
                waiting.clear()
    except FormatError:  # which is told of after what was read before
        yield from _settled(held, last)
        raise
    yield from _settled(held, last)


def _settled(held: list[Turn], last: Cache[Place, datetime]) -> list[Turn]:
    """The turns with the times that follow from others of their conversation, the `last` ones read among them."""
    settled = list(held)
    for place in dict.fromkeys(map(_place, held)):
        here = [n for n, turn in enumerate(held) if _place(turn) == place]
        before = last.get(place)
        times = [*([before] if before else []), *(held[n].created_at for n in here)]
        if any(times):
            found = filled(times)[-len(here) :]
            last.put(place, found[-1])
            for n, at in zip(here, found, strict=True):
                settled[n] = held[n].model_copy(update={"created_at": at})
    return settled


def _place(turn: Turn) -> Place:
    return turn.user_id, turn.space, turn.conversation_id


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
