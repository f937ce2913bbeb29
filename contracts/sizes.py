"""How large a message is for the server of a bus: it counts the headers as they are sent, which its clients forget."""

from __future__ import annotations

from collections.abc import Mapping

_FIRST_LINE = len("NATS/1.0\r\n")
_LAST_LINE = len("\r\n")
_AROUND = len(": \r\n")


def message_size(payload: bytes, headers: Mapping[str, str] | None) -> int:
    """The bytes that count against `max_payload`: those of the body and of the block of headers before it."""
    return len(payload) + header_size(headers)


def header_size(headers: Mapping[str, str] | None) -> int:
    """The bytes of the block of headers; an empty one is sent, too, and only where there are none it is nothing."""
    if headers is None:
        return 0
    named = ((name.strip(), value.strip()) for name, value in headers.items())
    lines = (len(name.encode()) + len(value.encode()) + _AROUND for name, value in named if name)
    return _FIRST_LINE + sum(lines) + _LAST_LINE


def why_too_large(subject: str, payload: bytes, headers: Mapping[str, str] | None, most: int) -> str | None:
    """Why a bus that takes messages of at most so many bytes does not take this one; None where it does."""
    if (size := message_size(payload, headers)) <= most:
        return None
    where = subject.rpartition(".")[0] or subject  # what comes last may name a user
    return f"The message to {where} has {size:,} bytes with its headers, the bus takes {most:,}: send less at once."
