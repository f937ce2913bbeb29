"""The stages of memorybus on a misbehaving bus and real SQLite: runs that can die, or wait while others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from contracts.ports import InFlight, Ref, SpaceSize, TextStore, Unavailable, VectorStore
from contracts.v1.commands import EraseReply, EraseRequest, ForgetReply, ForgetRequest
from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryEvent, EntryProposed
from contracts.v1.turns import DatedTurn
from services.curate import privacy, reconcile, retention
from services.curate.stores import Stores
from services.dedupe import handler as dedupe
from services.embed import handler as embed
from services.enrich import handler as enrich
from services.ingest import handler as ingest
from services.shared.errors import Rejected
from services.shared.ranking.capacity import Ageing
from services.shared.stores import moments
from services.shared.stores.sqlite import SqliteTextStore
from tests.faults.misbehaving_bus import STAGES, Message, MisbehavingBus
from tests.faults.state_machine_ports import Crash, ExactVectors, Steps, TinyAnnotator, TinyEmbedder, Trouble, Watched

GAP = timedelta(minutes=30)
DAY = timedelta(hours=24)
_MICROSECOND = timedelta(microseconds=1)

Work = Callable[[Steps], Coroutine[Any, Any, Any]]
Ended = Callable[[Any], None]
"""Is told the result of what came to its end; None for what was rejected. Nothing is told of what died."""


def _nobody(result: Any) -> None:
    """Is told, and does nothing."""


@dataclass(slots=True)
class Run:
    """Something under way."""

    name: str
    task: asyncio.Task[Any]
    steps: Steps
    ended: Ended = _nobody
    messages: Sequence[Message] = ()

    @property
    def has_died(self) -> bool:
        return self.task.cancelled() or isinstance(self.task.exception(), Crash | Unavailable)

    def tell(self) -> None:
        rejected = isinstance(self.task.exception(), Rejected)
        self.ended(None if rejected else self.task.result())


class Clock:
    """What time it is for the text store and for forgetting: later and later than it is."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)
        truly, clock = moments.now, self

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return datetime.now(tz) + clock.ahead

        self._stack = ExitStack()
        self._stack.enter_context(patch.object(moments, "now", lambda: truly() + self.ahead // _MICROSECOND))
        self._stack.enter_context(patch.object(privacy, "datetime", Later))

    def close(self) -> None:
        self._stack.close()


class _Asyncio:
    """The module, with another way to sleep."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


class World:
    """Everything there is: stores, bus, and the runs that wait in the middle."""

    def __init__(self, store: SqliteTextStore) -> None:
        self.store = store
        self.vectors = ExactVectors()
        self.bus = MisbehavingBus()
        self.clock = Clock()
        self.in_hand: list[Run] = []
        self.left_behind: set[str] = set()
        self.settled = 0.0
        self._stack = ExitStack()
        # What was in hand when an erasing began comes to its end while that one waits for it; but for ingest, which
        # sees by the time that has passed that it was held up.
        self._stack.enter_context(patch.object(privacy, "asyncio", _Asyncio(self._settle)))
        self._stack.enter_context(patch.object(ingest, "passed_seconds", lambda: self.settled))

    @classmethod
    async def open(cls, folder: Path) -> World:
        return cls(await SqliteTextStore.open(folder / "memory.db", synchronous="normal", readers=1))

    async def close(self) -> None:
        self._stack.close()
        self.clock.close()
        for run in self.in_hand:
            run.task.cancel()
        await asyncio.gather(*(run.task for run in self.in_hand), return_exceptions=True)
        await self.store.close()

    def free(self, stage: str) -> list[Message]:
        """What a stage has to do and nobody has in hand."""
        held = [message for run in self.in_hand for message in run.messages]
        return [message for message in self.bus.open(stage) if message not in held]

    async def start(
        self, name: str, work: Work, trouble: Trouble, ended: Ended = _nobody, messages: Sequence[Message] = ()
    ) -> None:
        """Let it run until it ends, dies or waits."""
        steps = Steps(trouble)
        await self._watch(Run(name, asyncio.create_task(work(steps)), steps, ended, messages))

    async def go_on(self, run: Run) -> None:
        """Let a run that waits come to its end."""
        self.in_hand.remove(run)
        run.steps.waits.clear()
        run.steps.may_go_on.set()
        await self._watch(run)

    async def die(self, run: Run) -> None:
        """End a run where it waits."""
        self.in_hand.remove(run)
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)
        self.left_behind |= run.steps.changed

    async def _watch(self, run: Run) -> None:
        waiting = asyncio.create_task(run.steps.waits.wait())
        await asyncio.wait({run.task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not run.task.done():
            self.in_hand.append(run)
        elif run.has_died:
            self.left_behind |= run.steps.changed
        else:
            run.tell()

    async def _settle(self, seconds: float) -> None:
        self.settled += seconds
        for run in [run for run in self.in_hand if run.name not in ("erase", "ingest")]:
            await self.go_on(run)

    async def deliver(self, stage: str, messages: Sequence[Message], trouble: Trouble, *, lost_acks: int = 0) -> None:
        """Let a stage handle these messages as one batch; so many of its acknowledgements do not arrive."""

        async def work(steps: Steps) -> None:
            with suppress(Unavailable):  # a worker waits in place, and does all of it once more
                await effect(steps)
                return
            await effect(steps)

        async def effect(steps: Steps) -> None:
            deferred: set[Message] = set()
            events = await self._handlers(steps, deferred)[stage](messages)
            for event in events:
                await steps.before("publish")
                self.bus.publish(event)
            for message in [one for one in messages[lost_acks:] if one not in deferred]:
                await steps.before("ack")
                message.is_open = False

        await self.start(stage, work, trouble, messages=messages)

    def _handlers(
        self, steps: Steps, deferred: set[Message]
    ) -> dict[str, Callable[[Sequence[Message]], Awaitable[Sequence[EntryEvent]]]]:
        store, vectors = self._stores(steps)

        async def log_turns(messages: Sequence[Message]) -> Sequence[EntryEvent]:
            by_number = {self.bus.number(one): one for one in messages}
            arrived = [ingest.Arrived(number=n, turn=_read(DatedTurn, one)) for n, one in by_number.items()]

            async def gone(numbers: Collection[int]) -> set[int]:
                await steps.before("gone")
                return {number for number in numbers if not self.bus.holds(by_number[number])}

            async def defer(numbers: Collection[int]) -> None:
                deferred.update(by_number[number] for number in numbers)

            return await ingest.log_turns(arrived, store=store, missing_from_stream=gone, defer=defer, gap=GAP)

        async def judge(messages: Sequence[Message]) -> Sequence[EntryEvent]:
            return await dedupe.judge_proposals([_read(EntryProposed, one) for one in messages], store=store)

        async def annotate(messages: Sequence[Message]) -> Sequence[EntryEvent]:
            events = [_read(EntryAccepted, one) for one in messages]
            return await enrich.enrich_entries(events, store=store, annotator=TinyAnnotator())

        async def make_vectors(messages: Sequence[Message]) -> Sequence[EntryEvent]:
            events = [_read(EntryEnriched, one) for one in messages]
            return await embed.embed_entries(events, store=store, vectors=vectors, embedder=TinyEmbedder())

        return dict(zip(STAGES, (log_turns, judge, annotate, make_vectors), strict=True))

    async def forget(self, entry: Ref, refuse_for: timedelta, trouble: Trouble, ended: Ended) -> None:
        """Forget an entry as curate does on request; `ended` is told its reply."""
        request = ForgetRequest(user_id=entry.user_id, id=entry.id)

        async def work(steps: Steps) -> ForgetReply:
            return await privacy.forget(request, stores=self._data_stores(steps), refuse_for=refuse_for)

        await self.start("forget", work, trouble, ended)

    async def erase(self, user_id: str, trouble: Trouble, ended: Ended) -> None:
        """Erase a user as curate does on request; `ended` is told its reply."""

        async def work(steps: Steps) -> EraseReply:
            stores = self._data_stores(steps)
            done = await privacy.complete(await privacy.begin(user_id, stores=stores), stores=stores)
            return await privacy.Eraser(stores).erase(
                EraseRequest(user_id=user_id, requested_at=done.requested_at), within=1.0
            )

        await self.start("erase", work, trouble, ended)

    async def make_room(self, crowd: SpaceSize, cap: int, trouble: Trouble) -> None:
        """Archive what is too much."""

        async def work(steps: Steps) -> None:
            await retention.make_room(crowd, stores=self._data_stores(steps), cap=cap, ageing=Ageing())

        await self.start("make room", work, trouble)

    async def look_after_vectors(self) -> None:
        """Do what is done after somebody died: remove the vectors that nobody will come back to."""
        stores = Stores(self.store, self.vectors, cast(InFlight, self.bus), _say_nothing)
        async for page in reconcile.pages("vectors", stores, fix=True):
            assert {one.id for one in page.differences} <= self.left_behind, f"nobody died over {page.differences}"
        self.left_behind = set()

    def _stores(self, steps: Steps) -> tuple[TextStore, VectorStore]:
        return cast(TextStore, Watched(self.store, steps)), cast(VectorStore, Watched(self.vectors, steps))

    def _data_stores(self, steps: Steps) -> Stores:
        store, vectors = self._stores(steps)
        return Stores(store, vectors, cast(InFlight, Watched(self.bus, steps)), _say_nothing)


async def _say_nothing(events: Sequence[EntryEvent]) -> None:
    """To compare vectors sets nothing going."""
    assert not events


def _read(model: Any, message: Message) -> Any:
    return model.model_validate_json(message.body)


NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)
