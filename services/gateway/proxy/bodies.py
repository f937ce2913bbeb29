"""Bodies of requests and answers: read as JSON within bounds, and written again as they were."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx

from services.gateway.proxy.dialects import Asked, Dialect, Said
from services.gateway.proxy.dialects.content import items
from services.gateway.proxy.dialects.events import EventReader

MOST_MESSAGES = 20_000
"""Messages of a request of which the memory takes note."""

_MOST = {b"{": 200_000, b"[": 200_000, b",": 2_000_000}
"""Of these signs: each may be a value of its own, for which Python takes a hundred bytes and more."""

_LISTS = ("messages", "input")
_MOST_READ = 1024 * 1024  # bytes of an answer that is no stream


def has_too_many_parts(raw: bytes) -> bool:
    """Whether a body may hold so many values that reading it takes seconds and a hundred times its bytes."""
    return any(raw.count(sign) > most for sign, most in _MOST.items())


def read_body(dialect: Dialect, raw: bytes) -> tuple[Any, Asked] | None:
    """The body as JSON, and what it says; None where it could not be written again as it was, or is of too many parts.

    Raises:
        BadField: a field of memory is not as it must be.
    """
    body = None
    if not has_too_many_parts(raw):
        with suppress(ValueError, RecursionError):
            body = _loads(raw)
    if not isinstance(body, dict) or any(len(items(body.get(name))) > MOST_MESSAGES for name in _LISTS):
        return None
    return body, dialect.read(body)


def completed(dialect: Dialect, asked: Asked, block: str, recent: Sequence[Said]) -> bytes:
    """The body with the block of memories, and recent turns, as the model gets it."""
    return dumped(dialect.with_memory(asked, block, recent))


def _loads(raw: bytes) -> Any:
    return json.loads(raw, parse_float=_float, parse_constant=_float)


def _float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("no JSON has such a number")
    return value


def dumped(body: Any) -> bytes:
    """A body as bytes."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a character, which only its escape can write
        return json.dumps(body, separators=(",", ":")).encode()


class WholeReader:
    """Reads an answer that is no stream: kept up to a length, and understood at its end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if len(self._kept) <= _MOST_READ:
            self._kept += chunk

    @property
    def text(self) -> str:
        """What the assistant said."""
        return self._dialect.answer_text(self._body())

    @property
    def answer_id(self) -> str:
        """The id of the answer, once all of it came."""
        return self._dialect.answer_id(self._body()) if self._kept.rstrip().endswith(b"}") else ""

    def _body(self) -> Any:
        if len(self._kept) <= _MOST_READ:
            with suppress(ValueError, RecursionError):
                return json.loads(self._kept)
        return None


Reader = EventReader | WholeReader


def reader_of(dialect: Dialect, answer: httpx.Response) -> Reader | None:
    """What reads along with an answer; nothing does where it comes compressed all the same."""
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        return None
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    return dialect.reader() if is_stream else WholeReader(dialect)
