"""Requests on the bus: somebody waits, so every one is answered, within the caller's deadline, in one envelope.

An answer goes to an inbox and nowhere else: a caller who names another reply subject would have us publish there with
our rights. Such a request is neither handled nor answered.

On plain subscriptions: a message to a coroutine and its result back is all there is to do, and every layer between
costs a share of the few milliseconds that an answer may take.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError
from pydantic import BaseModel, ValidationError

from contracts import subjects
from contracts.envelope import ErrorInfo, ErrorReply
from contracts.flow import Answer, Q, R
from contracts.ports import Unavailable
from services.shared import telemetry
from services.shared.descriptors import named_when_exhausted
from services.shared.errors import Rejected, describe_error
from services.shared.redaction import redact_text
from services.shared.tasks import end

log = logging.getLogger(__name__)

DEFAULT_DEADLINE = 2.0
_LONGEST_DEADLINE = 60.0
_LONGEST_DETAIL = 500
_MOST_WAITING = 1000
_HEADERS = 1024
"""Bytes of a message that a reply leaves to headers and to what servers put before its subject."""
_REPLY_PLACES = re.compile(
    r"(?:_GR_\.[^.]+\.[^.]+\.)?"  # what servers put before it on the way from another cluster
    rf"(?:{re.escape(subjects.INBOX)}|_R_)\.[^\s*>]+"  # `_R_`: the server's stand-in for an inbox of another account
)

_answer_by: ContextVar[float] = ContextVar("answer_by")


@dataclass(frozen=True, slots=True)
class Answering(Generic[Q, R]):
    """Who answers a request: `handle`, for at most `at_once` callers at a time, the others wait for their turn.

    `shorten` makes a reply that fits into so many bytes of one that does not.
    """

    answer: Answer[Q, R]
    handle: Callable[[Q], Awaitable[R]]
    at_once: int
    shorten: Callable[[Q, R, int], Awaitable[R]] | None = None


class Responder(Generic[Q, R]):
    """Answers one kind of request. Instances of one service share the work as a queue group."""

    def __init__(self, client: Client, service: str, answering: Answering[Q, R]) -> None:
        self._client = client
        self._service = service
        self._answer = answering.answer
        self._handle = answering.handle
        self._shorten = answering.shorten
        self._turns = asyncio.Semaphore(answering.at_once)
        self._under_way: set[asyncio.Task[None]] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Hear requests from now on."""
        self._subscription = await self._client.subscribe(
            self._answer.pattern, queue=self._service, cb=self._on_request
        )

    async def stop(self, *, patience: float = 10.0) -> None:
        """Hear no more, and answer what has been heard: a caller whose request was routed here still waits for it."""
        if self._subscription is not None and self._client.is_connected:
            with suppress(NatsError, TimeoutError):
                await self._subscription.drain()  # type: ignore[no-untyped-call]
        self._subscription = None
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=patience)
        await end([*self._under_way, *self._late])

    async def _on_request(self, msg: Msg) -> None:
        if not may_answer_to(msg.reply):
            telemetry.REPLIES_REFUSED.labels(self._answer.name).inc()
            log.warning("reply_subject_refused", extra={"request": self._answer.name})
            return
        if len(self._under_way) >= _MOST_WAITING:
            await self._send(msg, ErrorReply(error=_overloaded()).model_dump_json().encode())
            return
        task = asyncio.create_task(self._serve(msg))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, msg: Msg) -> None:
        started, outcome = time.perf_counter(), "ok"
        body: Q | None = None
        try:
            left = seconds_left(msg.headers)
            if left <= 0:
                raise TimeoutError
            _answer_by.set(time.monotonic() + left)
            body = self._read(msg)
            reply = await self._within(left, body)
        except Exception as error:
            info = error_info(error)
            failed = ErrorReply(error=info, correlation_id=getattr(body, "correlation_id", None))
            outcome, reply = info.code, failed.model_dump_json().encode()
        await self._send(msg, reply)
        telemetry.REQUEST_SECONDS.labels(self._answer.name, outcome).observe(time.perf_counter() - started)

    async def _within(self, seconds: float, body: Q) -> bytes:
        """The handler's reply in time. One whose time is over is ended, which may take a while.

        Raises:
            TimeoutError: it took longer.
        """
        handling = asyncio.create_task(self._in_turn(body))
        try:
            await asyncio.wait([handling], timeout=seconds)
        finally:
            if not handling.done():
                ending = asyncio.create_task(end([handling]))
                self._late.add(ending)
                ending.add_done_callback(self._late.discard)
        if not handling.done():
            raise TimeoutError
        return handling.result()

    async def _in_turn(self, body: Q) -> bytes:
        async with self._turns:
            with named_when_exhausted():
                reply = await self._handle(body)
                raw = reply.model_dump_json().encode()
                room = self._client.max_payload - _HEADERS
                if len(raw) <= room or self._shorten is None:
                    return raw
                return (await self._shorten(body, reply, room)).model_dump_json().encode()

    def _read(self, msg: Msg) -> Q:
        body = self._answer.request.model_validate_json(msg.data or b"{}")
        if self._answer.is_of_one_user:
            check_user(msg.subject, body)
        return body

    async def _send(self, msg: Msg, reply: bytes) -> None:
        if not msg.reply:
            return
        try:
            await self._client.publish(msg.reply, reply)
        except MaxPayloadError:
            await self._client.publish(msg.reply, ErrorReply(error=_too_large()).model_dump_json().encode())
        except NatsError as error:
            log.warning("reply_not_sent", extra={"request": self._answer.name, "cause": repr(error)})


def may_answer_to(reply: str) -> bool:
    """Whether an answer may go there: to an inbox, or nowhere as nobody waits."""
    return not reply or _REPLY_PLACES.fullmatch(reply) is not None


def check_user(subject: str, body: BaseModel) -> None:
    """The user in the body of a request must be the user in its subject.

    Raises:
        Rejected: it is not.
    """
    if subject.rpartition(".")[2] != subjects.user_token(getattr(body, "user_id", "")):
        raise Rejected("user_mismatch", "the user_id in the body is not the user in the subject")


def error_info(error: Exception) -> ErrorInfo:
    """How an exception is told to whoever asked; what is unexpected is logged, not told."""
    match error:
        case Rejected():
            return error.info
        case ValidationError():
            return ErrorInfo(code="invalid_request", message=describe_error(error)[:_LONGEST_DETAIL])
        case TimeoutError():
            return ErrorInfo(code="deadline_exceeded", message="no answer within the deadline", retryable=True)
        case Unavailable():
            return ErrorInfo(code="unavailable", message=redact_text(str(error))[:_LONGEST_DETAIL], retryable=True)
    log.error("request_failed", exc_info=error)
    return ErrorInfo(code="internal", message="unexpected error; the service's log has it", retryable=True)


def seconds_left(headers: Mapping[str, Any] | None) -> float:
    """Time until the caller's deadline (header `Memory-Deadline`, Unix milliseconds), the default without one.

    Raises:
        Rejected: the header is no number.
    """
    raw = (headers or {}).get(subjects.DEADLINE_HEADER)
    if raw is None:
        return DEFAULT_DEADLINE
    try:
        left = int(raw) / 1000 - time.time()
    except (ValueError, OverflowError):
        raise Rejected("invalid_request", f"header {subjects.DEADLINE_HEADER} must be Unix milliseconds") from None
    return min(left, _LONGEST_DEADLINE)


def time_left() -> float:
    """Seconds until the request that is being handled must be answered."""
    return max(0.0, _answer_by.get() - time.monotonic())


def _overloaded() -> ErrorInfo:
    return ErrorInfo(code="overloaded", message="too many requests are waiting here; ask again later", retryable=True)


def _too_large() -> ErrorInfo:
    return ErrorInfo(code="invalid_request", message="the reply is larger than the bus takes; ask for fewer at a time")
