"""Bodies of requests: read as JSON within bounds, and written again as they were."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from services.gateway.proxy.dialects import Asked, Dialect, Said
from services.gateway.proxy.dialects.base import items

MOST_MESSAGES = 20_000
"""Messages of a request of which the memory takes note."""

_MOST = {b"{": 200_000, b"[": 200_000, b",": 2_000_000}
"""Of these signs: each may be a value of its own, for which Python takes a hundred bytes and more."""

_LISTS = ("messages", "input")


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
