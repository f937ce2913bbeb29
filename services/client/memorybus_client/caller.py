"""One call: the user whose memory it is, time and retries within bounds, and the loop in which it runs."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any, Self, TypeVar
from uuid import uuid4

from pydantic import ValidationError

from contracts import flow
from contracts.flow import Answer, R
from contracts.paths import EXPORT, VERB_OF, TruncateReply
from contracts.v1.commands import ListRequest
from contracts.v1.turns import Turn
from memorybus_client.errors import MemorybusError, Misused, RequestFailed, Unavailable
from memorybus_client.transport import Transport, invalid, without_login

T = TypeVar("T")

_ONCE = frozenset(
    one.subject for one in (flow.UPDATE, flow.FORGET, flow.BULK, flow.THEME_REMOVE, flow.COMMANDS, flow.ERASE)
)
"""What does not have the effect of one request when it is sent twice, or answers otherwise then."""

_FIRST_WAIT = 0.1
_TURN_PATIENCE = 10.0
_LONGEST_USER = 512
_CLOSED = "this memory was closed: make a new one"
_OTHER_LOOP = (
    "this memory belongs to the event loop that used it first: make one for each, or a Memory, which serves all"
)
_OTHER_PROCESS = "this memory was made before the process was forked: make one in each process"


class TurnId(str):
    """The id of a turn that was published.

    `kept`: whether it may be remembered; not so, it is gone, as its user wants: the turn was incognito, or its
    conversation is, or memory is off, or it says itself that it is not to be remembered, or answers one that does.
    None: the bus takes a turn without telling.
    """

    kept: bool | None

    def __new__(cls, turn_id: object, kept: bool | None = None) -> Self:
        """The id, and what became of the turn."""
        made = super().__new__(cls, turn_id)
        made.kept = kept
        return made


class Caller:
    """Calls a memorybus for one user; none takes longer than `timeout` in all."""

    def __init__(
        self, url: str, *, user: str | None, key: str | None, timeout: float, retries: int, options: Mapping[str, Any]
    ) -> None:
        if not (isinstance(timeout, int | float) and timeout > 0 and isinstance(retries, int) and retries >= 0):
            raise ValueError("timeout is more than 0 seconds, and retries are 0 or more")
        key = key and key.strip()  # as it is read from a file
        _check_names(user, key)
        self._transport = _transport(url, user, key, options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._user, self._timeout, self._retries = user or "me", timeout, retries

    async def call(self, answer: Answer[Any, R], **fields: Any) -> R:
        """Ask with these fields; null ones are left out."""
        given = {"user_id": self._user} | {name: value for name, value in fields.items() if value is not None}
        body = _made(answer.request, given)
        patience, repeatable = VERB_OF[answer.subject].patience, answer.subject not in _ONCE

        async def send(left: float) -> R:
            return await self._transport.ask(answer, body, patience=min(patience, left))

        return await self._within(send, repeatable=repeatable)

    async def publish(self, *, incognito: bool, **fields: Any) -> TurnId:
        """Publish a turn with these fields; its id, by which a repetition is known."""
        given = {"user_id": self._user, "turn_id": str(uuid4())}
        turn = _made(Turn, given | {name: value for name, value in fields.items() if value is not None})

        async def send(left: float) -> bool | None:
            return await self._transport.publish(turn, incognito=incognito, patience=min(_TURN_PATIENCE, left))

        return TurnId(turn.turn_id, await self._within(send, repeatable=True))

    async def forget_conversation(self, conversation_id: str, space: str | None) -> TruncateReply:
        """Forget what was said in a conversation, in one space or in all."""
        if not conversation_id:
            raise RequestFailed("invalid_request", "conversation_id: name the conversation")
        named = {"user_id": self._user, "conversation_id": conversation_id}
        asked = _made(ListRequest, named | ({"space": space} if space is not None else {}))
        patience = VERB_OF[flow.BULK.subject].patience

        async def send(left: float) -> TruncateReply:
            return await self._transport.forget_conversation(asked, patience=min(patience, left))

        return await self._within(send, repeatable=False)

    async def export(self) -> AsyncIterator[str]:
        """The lines of an export."""
        self._check_use()
        async for line in self._transport.export(self._user, patience=min(EXPORT.patience, self._timeout)):
            yield line

    async def close(self) -> None:
        """Let go of every connection; those of another event loop ended with it."""
        is_ours = self._loop in (None, asyncio.get_running_loop())
        if not self._is_closed and is_ours:
            await self._transport.close()
        self._is_closed = True

    def _check_use(self) -> None:
        """Refuse what would wait for a connection that nobody serves any more.

        Raises:
            Misused: it is so.
        """
        if self._is_closed:
            raise Misused(_CLOSED)
        running = asyncio.get_running_loop()
        if self._loop not in (None, running):
            raise Misused(_OTHER_LOOP)
        self._loop = running

    async def _within(self, send: Callable[[float], Awaitable[T]], *, repeatable: bool) -> T:
        """The outcome of sending, again where it failed and that does no harm, until tries or time are used up."""
        self._check_use()
        clock, last = asyncio.get_running_loop().time, "try again later"
        end, wait = clock() + self._timeout, _FIRST_WAIT
        for tries_left in range(self._retries, -1, -1):
            try:
                async with asyncio.timeout_at(end):
                    return await send(end - clock())
            except TimeoutError:
                raise Unavailable(f"no answer within {self._timeout:g} s: {last}") from None
            except MemorybusError as error:
                last = str(error)
                pause = max(error.wait, wait * random.uniform(0.5, 1.5))
                may_repeat = error.retryable and (repeatable or error.undone)
                if not (tries_left and may_repeat and clock() + pause < end):
                    raise
            await asyncio.sleep(pause)
            wait *= 2
        raise AssertionError("the last try returns or raises")


class BlockingCaller:
    """The same for programs without an event loop of their own: a thread of its own has one."""

    def __init__(self, url: str, **more: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, name="memorybus-client", daemon=True)
        self._thread.start()
        self._is_closed, self._process = False, os.getpid()
        try:
            self._caller = self._run(self._made(url, more))
        except BaseException:
            self._end()
            raise

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _made(self, url: str, more: dict[str, Any]) -> Caller:
        return Caller(url, **more)

    def call(self, answer: Answer[Any, R], **fields: Any) -> R:
        """Ask with these fields; null ones are left out."""
        return self._run(self._caller.call(answer, **fields))

    def publish(self, *, incognito: bool, **fields: Any) -> TurnId:
        """Publish a turn with these fields; its id, by which a repetition is known."""
        return self._run(self._caller.publish(incognito=incognito, **fields))

    def forget_conversation(self, conversation_id: str, space: str | None) -> TruncateReply:
        """Forget what was said in a conversation, in one space or in all."""
        return self._run(self._caller.forget_conversation(conversation_id, space))

    def export(self) -> Iterator[str]:
        """The lines of an export."""
        lines = self._caller.export()
        while (line := self._run(_next(lines))) is not None:
            yield line

    def close(self) -> None:
        """Let go of every connection, and end the thread; of a forked process they are not its own."""
        if not self._is_closed and os.getpid() == self._process:
            self._run(self._caller.close())
            self._end()

    def _end(self) -> None:
        self._is_closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def start(self, work: Callable[[Caller], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin a call in the thread of its own."""
        return self._started(work(self._caller))

    def _check_use(self) -> None:
        if self._is_closed:
            raise Misused(_CLOSED)
        if os.getpid() != self._process:  # threads do not go along
            raise Misused(_OTHER_PROCESS)

    def _started(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            self._check_use()
        except Misused:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        running = self._started(work)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise


class SharedCaller(Caller):
    """The calls of a `BlockingCaller`, awaited in whatever event loop."""

    def __init__(self, caller: BlockingCaller) -> None:
        self._shared = caller

    async def call(self, answer: Answer[Any, R], **fields: Any) -> R:
        """Ask with these fields; null ones are left out."""
        return await asyncio.wrap_future(self._shared.start(lambda own: own.call(answer, **fields)))

    async def publish(self, *, incognito: bool, **fields: Any) -> TurnId:
        """Publish a turn with these fields; its id, by which a repetition is known."""
        return await asyncio.wrap_future(self._shared.start(lambda own: own.publish(incognito=incognito, **fields)))

    async def forget_conversation(self, conversation_id: str, space: str | None) -> TruncateReply:
        """Forget what was said in a conversation, in one space or in all."""
        work = self._shared.start(lambda own: own.forget_conversation(conversation_id, space))
        return await asyncio.wrap_future(work)

    async def close(self) -> None:
        """Nothing: whoever made the memory closes it."""


async def _next(lines: AsyncIterator[str]) -> str | None:
    return await anext(lines, None)


def _made(model: type[Any], given: dict[str, Any]) -> Any:
    try:
        made = model.model_validate(given)
        made.model_dump_json()
    except ValidationError as error:
        raise invalid(error) from None
    except ValueError:  # of what is written as JSON
        raise RequestFailed("invalid_request", "half of a pair of characters (a lone surrogate) is no text") from None
    return made


def _check_names(user: str | None, key: str | None) -> None:
    if user is not None and key is not None:
        raise ValueError("give user or key, not both: the key names the user")
    if user is not None and not (0 < len(user) <= _LONGEST_USER and user == user.strip() and user.isprintable()):
        raise ValueError(f"user is a name of 1 to {_LONGEST_USER} printable characters, without spaces around it")
    if key is not None and not (key and key.isprintable()):
        raise ValueError("key is one line of printable characters, as it was given out")


def _transport(url: str, user: str | None, key: str | None, options: Mapping[str, Any]) -> Transport:
    """The way that the address names; its library is imported only now."""
    if url.startswith(("http://", "https://")):
        from memorybus_client.http import HttpTransport

        return HttpTransport(url, user=user, key=key, options=options)
    where = without_login(url)
    if not url.startswith(("nats://", "tls://", "ws://", "wss://")):
        raise ValueError(f"the address {where} does not say how: http://… is the HTTP edge, nats://… the bus")
    if key is not None:
        raise ValueError("a key is for the HTTP edge: name the user, and put the login of the bus into its address")
    if user is None:
        raise ValueError(f"name the user whose memory is meant: user=…, for the bus at {where}")
    from memorybus_client.bus import BusTransport

    return BusTransport(url, options)


def address(url: str | None) -> str:
    """Where to call: as given, else as MEMORYBUS_URL says, else the HTTP edge on this machine."""
    return (url or os.environ.get("MEMORYBUS_URL") or "http://127.0.0.1:8400").strip()
