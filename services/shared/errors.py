"""Errors that a handler raises to say how a message or request ends. No client library is needed to raise them."""

from __future__ import annotations

from contracts.envelope import ErrorCode, ErrorInfo


class Poison(Exception):
    """This message can never be handled; the text says why."""


class Rejected(Exception):
    """A request that is answered with an error; `info.code` says which."""

    def __init__(self, code: ErrorCode, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.info = ErrorInfo(code=code, message=message, retryable=retryable)
