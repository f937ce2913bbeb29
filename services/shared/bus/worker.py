"""One stage at work: reads a batch, handles it, publishes the events, acknowledges; and its failure policy.

Unavailable        not the message's fault   wait in place, as long as it takes
Poison, invalid    never going to work       dead letter at once
anything else      may heal                  delayed redelivery, dead letter after MAX_ATTEMPTS

An event that names several entries is condemned only where one of them fails alone: the others have their effect.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import BaseModel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from contracts import subjects
from contracts.errors import Unavailable
from contracts.subjects import Consumer
from contracts.v1.entries import EntryEvent
from services.shared import telemetry, tracing
from services.shared.backoff import backoff_seconds, wait_backoff
from services.shared.bus.dead_letters import attempts_of, dead_letter, is_permanent, letter_id, number_of, share_of
from services.shared.bus.declarations import ACK_WAIT
from services.shared.bus.fairness import LoadOf, load_of_event
from services.shared.bus.pull import PullConsumer
from services.shared.bus.streams import Bus
from services.shared.cache import Cache
from services.shared.descriptors import named_when_exhausted
from services.shared.tasks import end

log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)
A = TypeVar("A")
T = TypeVar("T")

MAX_ATTEMPTS = 5
_LONGEST_WAIT = 5.0
_LONGEST_DELAY = 10.0
_MOST_LEFT = 1000
_READ_AT_ONCE = 256 * 1024
"""Bytes of messages that are read before others get at the event loop: some 2 ms."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[M]):
    """The consumer that a worker reads, how one of its messages is read, and the handler.

    `says` lists the events the handler may return. `read` turns one bus message into the model, raising `Poison` or a
    validation error for one that can never be handled. `handle` takes a batch and may be called again with the same.
    A batch names at most `max_batch` entries, by `load_of`, or is one message; among the `window` of messages that are
    held users take turns. `keeps_no_letter` tells of a message that cannot be handled whether no letter of it may be
    kept: it is erased, or must be. A stage beside the pipeline is `called` by a name of its own.
    """

    consumer: Consumer
    model: type[M]
    read: Callable[[Msg], M]
    handle: Callable[[Sequence[M]], Awaitable[Sequence[EntryEvent]]]
    says: tuple[type[EntryEvent], ...] = ()
    max_batch: int = 256
    keeps_no_letter: Callable[[Msg], Awaitable[bool]] | None = None
    window: int = 1024
    load_of: LoadOf = load_of_event
    called: str | None = None

    @property
    def name(self) -> str:
        """What it is called in metrics and logs: as the service that reads its consumer, or by a name of its own."""
        return self.called or self.consumer.service

    @property
    def is_optional(self) -> bool:
        """Whether it stands beside the pipeline, which goes on without it: a process that has it stuck is ready."""
        return self.called is not None


class Worker(Generic[M]):
    """One running stage. `stuck` says which engine it waits for, `progress_at` when it last finished a batch.

    Before each batch it may `give_way` to requests that somebody waits for.
    """

    def __init__(self, stage: Stage[M], bus: Bus, give_way: Callable[[], Awaitable[None]] | None = None) -> None:
        self.stage = stage
        self._give_way = give_way
        self.stuck: str | None = None
        self.progress_at = time.monotonic()
        self._bus = bus
        self._pull = PullConsumer(
            bus.client, stage.consumer, max_batch=stage.max_batch, window=stage.window, load_of=stage.load_of
        )
        self._left: Cache[int, M] = Cache(
            _MOST_LEFT
        )  # by number, the parts of messages that are to be handled at redelivery
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._releasing = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_running(self) -> bool:
        """Whether the loop is alive."""
        return bool(self._tasks) and not self._tasks[0].done()

    @property
    def is_busy(self) -> bool:
        """Whether a batch is in hand."""
        return not self._idle.is_set()

    @property
    def is_pinned(self) -> bool:
        """Whether this is the one reader of a part of the work."""
        return self._pull.is_pinned

    async def start(self) -> None:
        """Start reading."""
        await self._pull.start()
        self._tasks = [
            asyncio.create_task(self._run(), name=f"{self.stage.name}-worker"),
            asyncio.create_task(self._keep_alive(), name=f"{self.stage.name}-keep-alive"),
        ]

    async def stop(self, *, patience: float = 10.0) -> None:
        """Finish the batch in hand within `patience` seconds, give back the rest."""
        self._stopping = True
        await self._pull.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._idle.wait()
        await end(self._tasks)
        if not self._bus.client.is_closed:
            await _settle(self._pull.held, lambda msg: msg.nak())
            await self._pull.unpin()

    async def release(self) -> None:
        """Leave this part of the work to another replica, after the batch in hand."""
        self._releasing = self.is_busy
        if not self._releasing:
            await self._pull.unpin()

    async def _run(self) -> None:
        while not self._stopping:
            try:
                batch = await self._pull.next_batch()
                self._idle.clear()
                self.progress_at = time.monotonic()
                if self._give_way is not None:
                    await self._give_way()
                with tracing.batch(self.stage.name, [msg.headers for msg in batch]):
                    await self._process(batch)
            except Exception:
                log.exception("stage_failed", extra={"stage": self.stage.name})
                await asyncio.sleep(1.0)
            finally:
                self._pull.in_hand = []
                self._idle.set()
            if self._releasing:
                self._releasing = False
                await _settle(self._pull.take_back(), lambda msg: msg.nak())
                await self._pull.unpin()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(ACK_WAIT / 3)
            await _settle(self._pull.held, lambda msg: msg.in_progress())

    async def _process(self, batch: list[Msg]) -> None:
        readable: list[tuple[Msg, M]] = []
        size = 0
        for msg in batch:
            size += len(msg.data)
            if size > _READ_AT_ONCE:
                size = 0
                await asyncio.sleep(0)
            try:
                readable.append((msg, self._left.get(number_of(msg)) or self.stage.read(msg)))
            except Exception as error:
                await self._dead_letter(msg, [(None, error)])
        if readable:
            await self._handle(readable)
        self.progress_at = time.monotonic()

    async def _handle(self, pairs: Sequence[tuple[Msg, M]]) -> None:
        error = await self._try(pairs)
        if error is None:
            return
        alone = [(pair, await self._try([pair])) for pair in pairs] if len(pairs) > 1 else [(pairs[0], error)]
        for (msg, model), why in alone:  # only now, so that no neighbour waits for the parts of a bad one
            if why is not None:
                await self._on_failure(msg, model, why)

    async def _try(self, pairs: Sequence[tuple[Msg, M]]) -> Exception | None:
        """Handle messages together, and settle them; the error if they are still to be settled."""
        messages = [msg for msg, _ in pairs]
        try:
            await self._effect([model for _, model in pairs])
        except Unavailable:
            await _settle(messages, lambda msg: msg.nak())
        except Exception as error:
            return error
        else:
            await self._ack(messages)
        return None

    async def _effect(self, models: Sequence[M]) -> None:
        """Handle and publish; while something is unavailable wait in place, so that nothing piles up behind.

        Raises:
            Unavailable: the worker is stopping.
        """
        await self._patiently(self._effect_once, models)

    async def _patiently(self, do: Callable[[A], Awaitable[T]], what: A) -> T:
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(Unavailable),
            wait=wait_backoff(longest=_LONGEST_WAIT),
            stop=lambda _: self._stopping,
            before_sleep=self._on_unavailable,
            reraise=True,
        )
        done: T = await attempts(do, what)
        if self.stuck is not None:
            log.info("stage_continues", extra={"stage": self.stage.name})
            telemetry.STUCK.labels(self.stage.name).dec()
        self.stuck = None
        return done

    async def _effect_once(self, models: Sequence[M]) -> None:
        started = time.perf_counter()
        with named_when_exhausted():
            events = await self.stage.handle(models)
        self._measure(models, time.perf_counter() - started)
        await self._bus.publish_events(events)

    def _on_unavailable(self, attempt: RetryCallState) -> None:
        what = str(attempt.outcome.exception()) if attempt.outcome else ""
        if self.stuck is None:
            log.warning("stage_waits", extra={"stage": self.stage.name, "for": what})
            telemetry.STUCK.labels(self.stage.name).inc()  # the parts of a split stage are counted together
        self.stuck = what

    async def _on_failure(self, msg: Msg, model: M, error: Exception) -> None:
        """Handle the entries of a message one by one; those that fail alone are redelivered, or dead-lettered."""
        try:
            bad = await self._bad_parts(model, error)
        except Unavailable:
            await _settle([msg], lambda msg: msg.nak())
            return
        if not bad:
            await self._ack([msg])
        elif attempts_of(msg) >= MAX_ATTEMPTS or all(is_permanent(why) for _, why in bad):
            is_whole = bad[0][0] is model and number_of(msg) not in self._left
            await self._dead_letter(msg, [(None if is_whole else part, why) for part, why in bad])
        else:
            if bad[0][0] is not model:
                # So that the others are not handled again; forgetting them changes no result.
                self._left.put(number_of(msg), joined([part for part, _ in bad]))
            await self._retry(msg, bad[0][1])

    async def _bad_parts(self, model: M, error: Exception) -> list[tuple[M, Exception]]:
        """The parts of a model that fail even alone, each with its error; all others have their effect then."""
        parts = split(model)
        if not parts:
            return [(model, error)]
        bad: list[tuple[M, Exception]] = []
        for part in parts:
            try:
                await self._effect([part])
            except Unavailable:
                raise
            except Exception as why:
                bad += await self._bad_parts(part, why)
        return bad

    async def _retry(self, msg: Msg, error: Exception) -> None:
        attempts = attempts_of(msg)
        log.warning("will_retry", extra={"stage": self.stage.name, "attempts": attempts, "cause": repr(error)})
        telemetry.MESSAGES.labels(self.stage.name, "retried").inc()
        await msg.nak(delay=backoff_seconds(attempts, longest=_LONGEST_DELAY))

    async def _dead_letter(self, msg: Msg, bad: Sequence[tuple[BaseModel | None, Exception]]) -> None:
        """Keep the bad parts of a message, each in a letter of its own; None is the whole, to the byte."""
        try:
            if self.stage.keeps_no_letter is not None and await self._patiently(self.stage.keeps_no_letter, msg):
                await self._ack([msg])
                return
        except Unavailable:  # the worker is stopping
            await _settle([msg], lambda msg: msg.nak())
            return
        for part, error in bad:
            letter = dead_letter(msg, self.stage.consumer.service, error, part=part, room=self._bus.client.max_payload)
            body = letter.model_dump_json().encode()
            message_id = letter_id(letter, part)
            subject = subjects.dead(self.stage.consumer.service, share_of(letter, base64.b64decode(letter.body)))
            dropped = await self._bus.is_full(subject, subjects.DEAD_STREAM)
            await self._bus.publish(subject, body, message_id=message_id, stream=subjects.DEAD_STREAM.name)
            telemetry.LETTERS_DROPPED.labels(self.stage.name).inc(dropped)
            telemetry.MESSAGES.labels(self.stage.name, "dead").inc()
            log.warning("dead_lettered", extra={"stage": self.stage.name, "reason": letter.reason})
        await msg.term()
        self._left.pop(number_of(msg))

    async def _ack(self, messages: Sequence[Msg]) -> None:
        for msg in messages:
            self._left.pop(number_of(msg))
        await _settle(messages, lambda msg: msg.ack())
        telemetry.MESSAGES.labels(self.stage.name, "done").inc(len(messages))

    def _measure(self, models: Sequence[M], seconds: float) -> None:
        items = sum(len(getattr(model, "entries", ())) or 1 for model in models)
        telemetry.ITEMS.labels(self.stage.name).inc(items)
        telemetry.STAGE_SECONDS.labels(self.stage.name).observe(seconds)
        telemetry.ITEM_SECONDS.labels(self.stage.name).observe(seconds / items)


async def _settle(messages: Sequence[Msg], settle: Callable[[Msg], Awaitable[None]]) -> None:
    for msg in messages:
        with suppress(NatsError):  # a lost acknowledgement means redelivery, which changes nothing
            await settle(msg)


def split(model: M) -> list[M]:
    """Two events for one that names several entries, each once; nothing for a model that cannot be split."""
    if not isinstance(model, EntryEvent) or len(model.entries) < 2:
        return []
    refs = tuple(dict.fromkeys(model.entries))
    middle = len(refs) // 2
    return [model.of(part, at=model.occurred_at) for part in (refs[:middle], refs[middle:]) if part]


def joined(parts: Sequence[M]) -> M:
    """One event for all entries that these name."""
    first = parts[0]
    if not isinstance(first, EntryEvent):
        return first
    refs = [ref for part in parts if isinstance(part, EntryEvent) for ref in part.entries]
    return first.of(refs, at=first.occurred_at)


def read_json(model: type[M]) -> Callable[[Msg], M]:
    """A reader of bus messages whose body is this model as JSON."""

    def read(msg: Msg) -> M:
        return model.model_validate_json(msg.data)

    return read
