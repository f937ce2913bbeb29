"""Requests on the bus, on FastStream: every one is answered, within the caller's deadline, in one envelope.

A reply goes to an inbox and nowhere else: a caller who names another reply subject would have us publish there with
our rights. Such a request is neither handled nor answered.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

from faststream import BaseMiddleware
from faststream.nats import NatsBroker, NatsRouter
from faststream.nats.message import NatsMessage
from faststream.nats.response import NatsPublishCommand
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from pydantic import BaseModel, ValidationError

from contracts import subjects
from contracts.envelope import ErrorInfo, ErrorReply
from contracts.errors import Unavailable
from contracts.flow import Answer, Q, R
from services.shared import telemetry, tracing
from services.shared.bus.streams import HEADERS
from services.shared.descriptors import named_when_exhausted
from services.shared.errors import Rejected, RequestFailed, TooLarge, describe_error
from services.shared.redaction import redact_text
from services.shared.tasks import end

log = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_DEADLINE = 2.0
_LONGEST_DEADLINE = 60.0
_LONGEST_DETAIL = 500
_MOST_WAITING = 1000
_GIVES_WAY = 0.05
"""Seconds that a batch waits at most for requests that go first."""

_REPLY_SUBJECTS = re.compile(
    r"(?:_GR_\.[^.]+\.[^.]+\.)?"  # what servers put before it on the way from another cluster
    rf"(?:{re.escape(subjects.INBOX)}|_R_)\.[^\s*>]+"  # `_R_`: the server's stand-in for an inbox of another account
)

_answer_by: ContextVar[float] = ContextVar("answer_by")


@dataclass(frozen=True, slots=True)
class RequestHandler(Generic[Q, R]):
    """What answers a request: `handle`, for at most `max_concurrency` callers at a time, the others wait.

    `shorten` makes a reply that fits into so many bytes of one that does not. For one that `goes_first` the batches of
    this process wait: somebody is in the middle of a talk.
    """

    answer: Answer[Q, R]
    handle: Callable[[Q], Awaitable[R]]
    max_concurrency: int
    shorten: Callable[[Q, R, int], Awaitable[R]] | None = None
    goes_first: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """A request and what came of it, as who keeps account of it is told; None are those that could not be read or made.

    `asked_at` is when it came: what it made then is no older. `credential` is by what the caller was let in, as the
    header says.
    """

    answer: Answer[Any, Any]
    request: Any
    reply: BaseModel | None
    outcome: str
    asked_at: datetime
    seconds: float
    credential: str | None


class RequestBroker(NatsBroker):
    """FastStream on the connection of this process, which it neither opens nor closes.

    Each message is handled in a task of its own. FastStream's workers leave in a queue what they have no room for,
    where nobody answers that there are too many, and drop it when they stop. `heard` is told of every request after its
    answer is made.
    """

    def __init__(self, client: Client, heard: Callable[[Answered], None] = lambda _: None) -> None:
        super().__init__(apply_types=False, logger=log, log_level=logging.DEBUG)
        self.client = client
        self.heard = heard
        self.subscriptions: list[Subscription] = []
        self.handled: dict[str, RequestMiddleware[Any, Any]] = {}
        """What this process answers, by the name of the request."""
        self._going_first = 0
        self._none_goes_first = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    def answer(self, service: str, handler: RequestHandler[Any, Any]) -> None:
        """Subscribe a handler once this broker starts; replicas of a service share its requests as a queue group."""
        middleware = self.handled[handler.answer.name] = RequestMiddleware(handler, self)

        async def handle(request: Any) -> Any:  # FastStream counts parameters, and those a `partial` has filled in too
            return await handler.handle(request)

        router = NatsRouter(middlewares=(middleware,))
        # A decoder of our own: findings/faststream-plain-text.sh
        router.subscriber(handler.answer.pattern, queue=service, decoder=middleware.decode)(handle)
        self.include_router(router)

    def start_task(self, work: Awaitable[T]) -> asyncio.Task[T]:
        """Start something that is waited for when this broker stops."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @contextmanager
    def going_first(self) -> Iterator[None]:
        """While this lasts batches give way."""
        self._going_first += 1
        self._none_goes_first.clear()
        try:
            yield
        finally:
            self._going_first -= 1
            if not self._going_first:
                self._none_goes_first.set()

    async def give_way(self) -> None:
        """Wait for the requests that go first, for a moment at most: under any load the work goes on."""
        if self._going_first:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GIVES_WAY):
                    await self._none_goes_first.wait()

    async def start(self) -> None:
        """Listen; when this returns, the bus knows of it, and who asks is answered."""
        await super().start()
        with suppress(NatsError, TimeoutError):
            await self.client.flush()

    async def stop(self, *_: Any, patience: float = 10.0) -> None:
        """Hear no more, and answer what has been heard: a caller whose request was routed here still waits for it."""
        self.handled.clear()
        for subscription in self.subscriptions if self.client.is_connected else ():
            with suppress(NatsError, TimeoutError):
                await subscription.drain()  # type: ignore[no-untyped-call]
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        await end(self._tasks)

    async def _connect(self) -> Client:
        self.config.connect(_TaskPerMessage(self))
        return self.client


class _TaskPerMessage:
    """The connection as FastStream sees it."""

    def __init__(self, broker: RequestBroker) -> None:
        self._broker = broker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker.client, name)

    async def subscribe(self, subject: str, queue: str, cb: Callable[[Msg], Awaitable[None]], **_: Any) -> Subscription:
        async def start_task(msg: Msg) -> None:
            self._broker.start_task(cb(msg))

        subscription = await self._broker.client.subscribe(subject, queue=queue, cb=start_task)
        self._broker.subscriptions.append(subscription)
        return subscription


class RequestMiddleware(BaseMiddleware[NatsPublishCommand, Any], Generic[Q, R]):
    """What surrounds the handler of one kind of request: inbox, deadline, turn, a reply that fits, error envelope."""

    def __init__(self, handler: RequestHandler[Q, R], broker: RequestBroker) -> None:
        self.handler = handler
        self._broker = broker
        self._turns = asyncio.Semaphore(handler.max_concurrency)
        self._waiting = 0

    def __call__(self, msg: Any, /, *, context: Any) -> RequestMiddleware[Q, R]:
        """The middleware of a message: one for all, as nothing of a message is kept in it."""
        return self

    async def decode(self, msg: NatsMessage) -> Q:
        """The request in a message.

        Raises:
            ValidationError: it is none.
            Rejected: the user in its body is not the user in its subject.
        """
        answer = self.handler.answer
        body = answer.request.model_validate_json(msg.body or b"{}")
        user = msg.raw_message.subject.rpartition(".")[2]
        if answer.is_of_one_user and user != subjects.user_token(getattr(body, "user_id", "")):
            raise Rejected("user_mismatch", "the user_id in the body is not the user in the subject")
        return body

    async def consume_scope(self, call_next: Callable[[Any], Awaitable[Any]], msg: NatsMessage) -> bytes | None:  # type: ignore[override]
        """The reply to a request, whatever happens; None where a reply may not go where it is wanted."""
        name = self.handler.answer.name
        if not may_answer_to(msg.reply_to):
            telemetry.REPLIES_REFUSED.labels(name).inc()
            log.warning("reply_subject_refused", extra={"request": name})
            msg.reply_to = ""
            return None
        credential = (msg.headers or {}).get(subjects.CREDENTIAL_HEADER)
        with tracing.span(name, "SERVER", msg.raw_message.headers) as span:
            raw, _ = await self._answered(
                msg.decode, partial(seconds_left, msg.headers), partial(call_next, msg), credential, span
            )
        return raw

    async def answer_here(self, body: Q, seconds: float, credential: str | None) -> bytes:
        """The reply to a request of this process, treated like one from the bus.

        Raises:
            RequestFailed: it is answered with an error.
        """

        async def read() -> Q:
            return body

        with tracing.span(self.handler.answer.name) as span:
            raw, failed = await self._answered(
                read, lambda: seconds, partial(self.handler.handle, body), credential, span
            )
        if failed is not None:
            raise RequestFailed(failed)
        return raw

    async def _answered(
        self,
        read: Callable[[], Awaitable[Any]],
        seconds: Callable[[], float],
        handle: Callable[[], Awaitable[R]],
        credential: str | None,
        span: tracing.Span,
    ) -> tuple[bytes, ErrorInfo | None]:
        """The reply within so many seconds, or the error that is answered with; both are kept account of."""
        asked_at, started, failed = datetime.now(UTC), time.perf_counter(), None
        body: Any = None
        reply: BaseModel | None = None
        self._waiting += 1
        try:
            if self._waiting > _MOST_WAITING:
                raise Rejected("overloaded", "too many requests are waiting here; ask again later", retryable=True)
            left = seconds()
            body = await read()
            reply, raw = await self._within(left, handle, body)
        except Exception as error:
            failed = error_info(error)
            span.set_attribute("error.type", failed.code)
            told = ErrorReply(error=failed, correlation_id=getattr(body, "correlation_id", None))
            raw = told.model_dump_json().encode()
            if len(raw) > self._room:
                raw = ErrorReply(error=failed).model_dump_json().encode()
        finally:
            self._waiting -= 1
        took, outcome = time.perf_counter() - started, failed.code if failed else "ok"
        telemetry.REQUEST_SECONDS.labels(self.handler.answer.name, outcome).observe(took)
        self._broker.heard(Answered(self.handler.answer, body, reply, outcome, asked_at, took, credential))
        return raw, failed

    @property
    def _room(self) -> int:
        """Bytes that the body of a reply may have."""
        return self._broker.client.max_payload - HEADERS

    async def _within(self, seconds: float, handle: Callable[[], Awaitable[R]], body: Q) -> tuple[R, bytes]:
        """The handler's reply in time. One whose time is over is ended, which may take a while.

        Raises:
            TimeoutError: it took longer.
        """
        handling = self._broker.start_task(self._in_turn(handle, body, time.monotonic() + seconds))
        await asyncio.wait([handling], timeout=seconds)
        if not handling.done():
            self._broker.start_task(end([handling]))
            raise TimeoutError
        return handling.result()

    async def _in_turn(self, handle: Callable[[], Awaitable[R]], body: Q, by: float) -> tuple[R, bytes]:
        _answer_by.set(by)
        room = self._room
        first = self._broker.going_first() if self.handler.goes_first else nullcontext()
        async with self._turns:
            with named_when_exhausted(), first:
                reply = await handle()
                raw = reply.model_dump_json().encode()
                if len(raw) > room and self.handler.shorten is not None:
                    reply = await self.handler.shorten(body, reply, room)
                    raw = reply.model_dump_json().encode()
        if len(raw) > room:
            raise Rejected("invalid_request", "the reply is larger than the bus takes; ask for fewer at a time")
        return reply, raw

    async def publish_scope(
        self, call_next: Callable[[NatsPublishCommand], Awaitable[Any]], cmd: NatsPublishCommand
    ) -> None:
        """Send the reply, without the headers of the request, which may have any length."""
        cmd.correlation_id, cmd.headers = None, {"content-type": "application/json"}
        try:
            await call_next(cmd)
        except (NatsError, TooLarge) as error:
            log.warning("reply_not_sent", extra={"request": self.handler.answer.name, "cause": repr(error)})


def may_answer_to(reply: str) -> bool:
    """Whether an answer may go there: to an inbox, or nowhere as nobody waits."""
    return not reply or _REPLY_SUBJECTS.fullmatch(reply) is not None


def error_info(error: Exception) -> ErrorInfo:
    """How an exception is told to whoever asked; what is unexpected is logged, not told."""
    match error:
        case Rejected() | TooLarge():
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
        TimeoutError: the deadline is over.
    """
    raw = (headers or {}).get(subjects.DEADLINE_HEADER)
    if raw is None:
        return DEFAULT_DEADLINE
    try:
        left = int(raw) / 1000 - time.time()
    except (ValueError, OverflowError):
        raise Rejected("invalid_request", f"header {subjects.DEADLINE_HEADER} must be Unix milliseconds") from None
    if left <= 0:
        raise TimeoutError
    return min(left, _LONGEST_DEADLINE)


def time_left() -> float:
    """Seconds until the request that is being handled must be answered."""
    return max(0.0, _answer_by.get() - time.monotonic())
