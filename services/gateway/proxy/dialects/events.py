"""Server-sent events: read from bytes cut anywhere within bounds, and written."""

from __future__ import annotations

import codecs
import json
import re
from abc import ABC, abstractmethod

from services.gateway.proxy.dialects.content import Json, string
from services.shared.privacy.thoughts import without_thoughts

MOST_EVENT = 1024 * 1024
"""Bytes of one event that are read; a longer one says nothing."""

MOST_TEXT = 256 * 1024
"""Characters of an answer that are kept."""

_BLANK = re.compile(rb"(?>\r\n|\r|\n){2}")
_OF_BLANK = 3
"""Bytes of an end of two lines that may have come before the rest of it."""


def event(data: Json, name: str | None = None) -> bytes:
    """An event on the wire."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class EventReader(ABC):
    """Reads the events of one stream, and collects what the assistant says in them. It never raises.

    `answer_id` is that by which later requests may go on from the answer, as soon as it came; else empty.
    """

    def __init__(self) -> None:
        self.answer_id = ""
        self._rest = bytearray()
        self._is_too_long = False
        self._said: list[str] = []
        self._room = MOST_TEXT

    @property
    def text(self) -> str:
        """What the assistant has said so far."""
        return without_thoughts(string("".join(self._said)))

    @abstractmethod
    def take(self, data: Json) -> None:
        """Read one event."""

    def say(self, text: Json) -> None:
        """Add to what the assistant said, as far as there is room."""
        if isinstance(text, str) and text and self._room:
            self._said.append(text[: self._room])
            self._room -= len(self._said[-1])

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        looked_at = max(0, len(self._rest) - _OF_BLANK)
        self._rest += chunk
        while blank := _BLANK.search(self._rest, looked_at):
            event, looked_at = bytes(self._rest[: blank.start()]), 0
            del self._rest[: blank.end()]
            self._end(event)
        if len(self._rest) > MOST_EVENT:
            self._is_too_long = True
            del self._rest[:-_OF_BLANK]

    def _end(self, event: bytes) -> None:
        is_too_long, self._is_too_long = self._is_too_long or len(event) > MOST_EVENT, False
        if is_too_long:
            return
        lines = event.removeprefix(codecs.BOM_UTF8).splitlines()
        data = b"\n".join(line[5:] for line in lines if line.startswith(b"data:"))
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return
        self.take(found)
