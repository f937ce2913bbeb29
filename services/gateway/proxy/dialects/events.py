"""Server-sent events: read from bytes cut anywhere within bounds, and written."""

from __future__ import annotations

import codecs
import json
import re
from abc import ABC, abstractmethod
from typing import Any

from services.gateway.proxy.dialects.base import MOST_TEXT, Json, string
from services.shared.privacy.thoughts import without_thoughts

MOST_EVENT = 1024 * 1024
"""Bytes of one event that are read; of a longer one only its name counts."""

DONE = b"[DONE]"

_END = re.compile(rb"\r\n|\r|\n")


def event(data: Json, name: str | None = None) -> bytes:
    """An event on the wire."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class EventReader(ABC):
    """Reads the events of one stream, and collects what the assistant says in them."""

    def __init__(self) -> None:
        self.complete = False
        self.answer_id = ""
        self._line = bytearray()
        self._name = ""
        self._data = bytearray()
        self._is_first = True
        self._is_whole = True  # nothing of the line, or of the event's data, was too long
        self._lost = False
        self._after_return = False
        self._said: list[str] = []
        self._room = MOST_TEXT

    @property
    def text(self) -> str:
        """What the assistant has said so far."""
        return without_thoughts(string("".join(self._said)))

    @abstractmethod
    def take(self, name: str, data: Json) -> None:
        """Read one event; `data` is None where it was too long or is no JSON."""

    def say(self, text: Json) -> None:
        """Add to what the assistant said, as far as there is room."""
        if isinstance(text, str) and text and self._room:
            self._said.append(text[: self._room])
            self._room -= len(self._said[-1])

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        if not chunk:
            return
        self._after_return = chunk.endswith(b"\r")
        *ended, rest = _END.split(chunk)
        for piece in ended:
            self._add(piece)
            self._end_line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if self._is_whole and len(self._line) + len(piece) <= MOST_EVENT:
            self._line += piece
        else:
            self._is_whole = False
            # What remains tells whether the line is of data.
            self._line = self._line[:16] + piece[: max(0, 16 - len(self._line))]

    def _end_line(self) -> None:
        line, is_whole = bytes(self._line), self._is_whole
        self._line.clear()
        self._is_whole = True
        if self._is_first:
            line, self._is_first = line.removeprefix(codecs.BOM_UTF8), False
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            self._end_event()
        elif field == b"data":
            self._add_data(value, is_whole)
        elif field == b"event" and is_whole:
            self._name = value[:256].decode(errors="replace")

    def _add_data(self, value: bytes, is_whole: bool) -> None:
        if value == DONE:  # nothing need follow it
            self.complete = True
        elif is_whole and not self._lost and len(self._data) + len(value) < MOST_EVENT:
            self._data += value + b"\n"
        else:
            self._data.clear()
            self._lost = True

    def _end_event(self) -> None:
        data, name = bytes(self._data), self._name
        self._data.clear()
        self._name, self._lost = "", False
        if data or name:
            self.take(name, _parsed(data))


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
