"""Requests on the bus: somebody waits, so every one is answered, within the caller's deadline, in one envelope."""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import ContextVar
from typing import Any

from fast_depends.exceptions import ValidationError as DependsValidationError
from faststream import BaseMiddleware
from faststream.message import StreamMessage
from pydantic import ValidationError

from contracts import subjects
from contracts.envelope import ErrorInfo, ErrorReply
from contracts.ports import Unavailable
from services.shared import telemetry
from services.shared.errors import Rejected, in_words

log = logging.getLogger(__name__)

DEFAULT_DEADLINE = 2.0
_LONGEST_DEADLINE = 60.0
_LONGEST_DETAIL = 500


_subject: ContextVar[str] = ContextVar("subject")


def check_user(user_id: str) -> None:
    """The user in the body of the request under way must be the user in its subject.

    Raises:
        Rejected: it is not.
    """
    if _subject.get().rpartition(".")[2] != subjects.user_token(user_id):
        raise Rejected("user_mismatch", "the user_id in the body is not the user in the subject")


def error_info(error: Exception) -> ErrorInfo:
    """How an exception is told to whoever asked; what is unexpected is logged, not told."""
    match error:
        case Rejected():
            return error.info
        case ValidationError():
            return ErrorInfo(code="invalid_request", message=in_words(error)[:_LONGEST_DETAIL])
        case DependsValidationError():
            return ErrorInfo(code="invalid_request", message=str(error)[:_LONGEST_DETAIL])
        case TimeoutError():
            return ErrorInfo(code="deadline_exceeded", message="no answer within the deadline", retryable=True)
        case Unavailable():
            return ErrorInfo(code="unavailable", message=str(error)[:_LONGEST_DETAIL], retryable=True)
    log.error("request_failed", exc_info=error)
    return ErrorInfo(code="internal", message="unexpected error; the service's log has it", retryable=True)


def seconds_left(headers: dict[str, Any] | None) -> float:
    """Time until the caller's deadline (header `Memory-Deadline`, Unix milliseconds), the default without one.

    Raises:
        Rejected: the header is no number.
    """
    raw = (headers or {}).get(subjects.DEADLINE_HEADER)
    if raw is None:
        return DEFAULT_DEADLINE
    try:
        left = float(raw) / 1000 - time.time()
    except ValueError:
        raise Rejected("invalid_request", f"header {subjects.DEADLINE_HEADER} must be Unix milliseconds") from None
    return min(left, _LONGEST_DEADLINE)


class Answering(BaseMiddleware):
    """Runs a request within its deadline and turns every exception into an error reply."""

    async def consume_scope(self, call_next: Any, msg: StreamMessage[Any]) -> Any:
        started = time.perf_counter()
        subject = str(msg.raw_message.subject)
        _subject.set(subject)
        name, outcome = ".".join(subject.split(".")[2:-1]), "ok"
        try:
            left = seconds_left(msg.headers)
            if left <= 0:
                raise TimeoutError
            async with asyncio.timeout(left):
                return await call_next(msg)
        except Exception as error:
            info = error_info(error)
            outcome = info.code
            return ErrorReply(error=info)
        finally:
            telemetry.REQUEST_SECONDS.labels(name, outcome).observe(time.perf_counter() - started)
