"""Errors that a handler raises to say how a message or request ends. No client library is needed to raise them."""

from __future__ import annotations

import errno
import os

from pydantic import ValidationError

from contracts.envelope import ErrorCode, ErrorInfo


def describe_error(error: ValidationError) -> str:
    """What is wrong with a message, field by field, without repeating the offending text."""
    parts = (f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors(include_input=False))
    return "; ".join(parts)


def words_of(error: BaseException) -> str:
    """Why a connection or a file could not be used, in words that hold neither an address nor what a server said."""
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
