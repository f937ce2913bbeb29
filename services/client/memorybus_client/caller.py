"""One call: the user whose memory it is, time and retries within bounds, and the loop in which it runs."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
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
        verb, repeatable = VERB_OF[answer.subject], answer.subject not in _ONCE
        once = {verb.idempotent_by: str(uuid4())} if verb.idempotent_by else {}  # sent again it is the same request
        body = _made(answer.request, once, user_id=self._user, **fields)

        async def send(left: float) -> R:
            return await self._transport.ask(answer, body, patience=min(verb.patience, left))

        return await self._within(send, repeatable=repeatable)

    async def publish(self, *, incognito: bool, **fields: Any) -> TurnId:
        """Publish a turn with these fields; its id, by which a repetition is known."""
        turn = _made(Turn, {"turn_id": str(uuid4())}, user_id=self._user, **fields)

        async def send(left: float) -> bool | None:
            return await self._transport.publish(turn, incognito=incognito, patience=min(_TURN_PATIENCE, left))

        return TurnId(turn.turn_id, await self._within(send, repeatable=True))

    async def forget_conversation(self, conversation_id: str, space: str | None) -> TruncateReply:
        """Forget what was said in a conversation, in one space or in all."""
        if not conversation_id:
            raise RequestFailed("invalid_request", "conversation_id: name the conversation")
        asked = _made(ListRequest, {}, user_id=self._user, conversation_id=conversation_id, space=space)
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


class LoopThread:
    """An event loop in a thread of its own, for programs that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, name="memorybus-client", daemon=True)
        self._thread.start()
        self._is_closed, self._process = False, os.getpid()

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something there.

        Raises:
            Misused: the thread has ended, or is that of another process.
        """
        if not self._is_closed and os.getpid() == self._process:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise Misused(_CLOSED if self._is_closed else _OTHER_PROCESS)  # threads do not go along into a fork

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something there, and wait for it."""
        running = self.start(work)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """End the thread, with a last thing to do there; of a forked process it is not its own."""
        if not self._is_closed and os.getpid() == self._process:
            self.run(last())
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


class SharedCaller(Caller):
    """The calls of a caller in a thread, awaited in whatever event loop."""

    def __init__(self, caller: Caller, thread: LoopThread) -> None:
        self.__dict__.update(vars(caller))
        self._thread = thread

    async def _within(self, send: Callable[[float], Awaitable[T]], *, repeatable: bool) -> T:
        return await asyncio.wrap_future(self._thread.start(super()._within(send, repeatable=repeatable)))

    async def close(self) -> None:
        """Nothing: whoever made the memory closes it."""


def _made(model: type[Any], unless_given: dict[str, Any], **given: Any) -> Any:
    """A message; what is None is left out."""
    try:
        made = model.model_validate(unless_given | {name: one for name, one in given.items() if one is not None})
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
