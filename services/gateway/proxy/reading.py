"""Reads along with the answer of a model, as it passes."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import httpx

from services.gateway.proxy.dialects import Dialect, StreamReader

_MOST_READ = 1024 * 1024


class WholeReader:
    """Reads an answer that is no stream: kept up to a length, and understood at its end."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._kept = bytearray()
        self.complete = False

    def feed(self, chunk: bytes) -> None:
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


def reader_of(dialect: Dialect, answer: httpx.Response) -> StreamReader | None:
    """What reads along with an answer; nothing does where it comes compressed all the same."""
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        return None
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    return dialect.reader() if is_stream else WholeReader(dialect)
