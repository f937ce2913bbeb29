"""Errors that say how a message, a request or a command ends. No client library is needed to raise them."""

from __future__ import annotations

import errno
import logging
import os
import re

from pydantic import ValidationError

from contracts.envelope import ErrorCode, ErrorInfo

log = logging.getLogger(__name__)

AWAY = "memorybus, or something that it needs, cannot answer now: try again"
_OPERATORS = re.compile(
    r"://|MEMORYBUS_|`|\b\d+(?:\.\d+){3}\b|[\w\]]:\d{2,5}\b|(?<![\w/])/\w"
    r"|\b(?:opensearch|qdrant|nats|jetstream|sqlite|index|shard|stream|collection)s?\b",
    re.IGNORECASE,
)
"""What only those who run memorybus can make use of: addresses, files, settings, commands, servers."""


def outward(message: str) -> str:
    """Why something is away, as those are told who only use it; what is for operators goes to the log instead."""
    if _OPERATORS.search(message) is None:
        return message
    log.warning("unavailable", extra={"why": message})
    return AWAY


def describe_error(error: ValidationError) -> str:
    """The faults of a message, field by field, without the offending text."""
    parts = (f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors(include_input=False))
    return "; ".join(parts)


def describe_os_error(error: BaseException) -> str:
    """The reason why a connection or file could not be used, without an address and without words of a server."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EMFILE, errno.ENFILE):
        return f"{os.strerror(number)}: raise the limit with `ulimit -n`"
    return os.strerror(number) if number else type(error).__name__


class Poison(Exception):
    """This message can never be handled; the text says why."""


class Rejected(Exception):
    """A request that is answered with an error; `info.code` says which."""

    def __init__(self, code: ErrorCode, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.info = ErrorInfo(code=code, message=message, retryable=retryable)


class RequestFailed(Exception):
    """memorybus answered with an error."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(f"{info.code}: {info.message}")
        self.info = info


class TooLarge(RequestFailed):
    """A message that no bus takes which takes no larger ones: it is not sent, and never can be as it is."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorInfo(code="invalid_request", message=why))


class MissingExtra(Exception):
    """What the settings choose needs libraries that are not installed; the text says how to get them."""
