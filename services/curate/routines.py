"""What curate does without being asked: resume, tidy, compare, compact. Each runs until it is cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.ports import Stuck, Unavailable
from contracts.v1.commands import ForgetRequest, ReconcileRequest, Side
from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryEvent, EntryProposed
from services.curate import forgetting, handler, reconcile, retention
from services.curate.compactor import Compactor
from services.curate.erasing import Eraser
from services.curate.forgetting import DataStores
from services.curate.settings import CurateSettings
from services.shared import telemetry
from services.shared.app import Host
from services.shared.core.capacity import Ageing
from services.shared.errors import Rejected

log = logging.getLogger(__name__)

_STAGES: tuple[tuple[subjects.Consumer, Stuck, type[EntryEvent]], ...] = (
    (subjects.DEDUPE, "undecided", EntryProposed),
    (subjects.ENRICH, "unenriched", EntryAccepted),
    (subjects.EMBED, "unembedded", EntryEnriched),
)
_SPACES_AT_ONCE = 100
_TRY_AGAIN = 2.0
_SOON = 2.0
"""Seconds until the next look when there may be more than one look brings."""

_LOOKED_AT = 100
_FIRST_LOOK = 600.0
"""Seconds after an orderly start at which the stores are compared for the first time: nobody waits for it."""


class Routines:
    """The background work of one process, and what its requests tell it."""

    def __init__(self, host: Host, settings: CurateSettings, places: DataStores, stores: reconcile.Stores) -> None:
        self._host = host
        self._settings = settings
        self._places = places
        self._stores = stores
        self._half_done: dict[str, ForgetRequest] = {}
        self._is_tidying = False
        compact = partial(forgetting.compact, places)
        self.compactor = Compactor(compact, self._is_idle, after=settings.compact_after_seconds)
        self.eraser = Eraser(places, self._have_erased)

    @property
    def all(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Every routine."""
        return (
            self.resume,
            self.tidy,
            self.compare,
            self.finish_forgetting,
            self.hear_refusals,
            self.watch,
            self.compactor.run,
            self.eraser.run,
        )

    @contextmanager
    def noting(self, request: ForgetRequest) -> Iterator[None]:
        """Around forgetting an entry: the files are compacted afterwards; what a store could not do now is repeated."""
        try:
            yield
        except Unavailable:
            self._half_done[request.id] = request
            raise
        finally:
            self.compactor.request()

    def _have_erased(self, user_id: str) -> None:
        """Nothing of this user is to be forgotten any more, and the files are to be written without them."""
        self._half_done = {id_: one for id_, one in self._half_done.items() if one.user_id != user_id}
        self.compactor.request()

    async def resume(self) -> None:
        """Set going again what the store shows unfinished.

        What is older than this start was left by an earlier process, by an import, or by one that was started without
        this stage: it goes at once, whatever else is on the bus. What came later is stuck only when it is old and
        nothing is on the bus for its stage.
        """
        started, pause = datetime.now(UTC), timedelta(seconds=self._settings.resume_after_seconds)
        attempts = {lacking: handler.Attempts() for _, lacking, _ in _STAGES}
        store, bus = self._places.store, self._host.bus
        at_start, may_be_more = True, False
        while True:
            before, most, is_busy = max(started, datetime.now(UTC) - pause), 0, False
            for consumer, lacking, event in _STAGES:
                if lacking not in self._done_here:
                    continue
                if at_start or await bus.backlog(consumer) == 0:
                    events = await handler.resume(
                        event, lacking, attempts[lacking], store=store, before=before, pause=pause
                    )
                    await bus.publish_events(events)
                    most = max(most, sum(len(event.entries) for event in events))
                else:
                    is_busy = True
            at_start, may_be_more = False, most >= handler.AT_ONCE or (may_be_more and is_busy)
            await asyncio.sleep(_SOON if may_be_more else self._settings.resume_every_seconds)

    @property
    def _done_here(self) -> set[Stuck]:
        done: set[Stuck] = {"undecided"}
        if self._host.settings.ner != "none":
            done.add("unenriched")
        if self._places.vectors is not None:
            done.add("unembedded")
        return done

    async def tidy(self) -> None:
        """Keep every space within its capacity, and everything within its age."""
        while True:
            if self._is_tidying:  # it was broken off, perhaps between an entry and its vector
                await self._compare("vectors")
            self._is_tidying = True
            await self._make_room()
            await self._expire()
            self._is_tidying = False
            await asyncio.sleep(self._settings.tidy_every_seconds)

    async def _make_room(self) -> None:
        cap, store, vectors = self._settings.soft_cap, self._places.store, self._places.vectors
        ageing = Ageing(self._settings.tau_days * 86400.0, self._settings.importance_kept)
        for space in await store.over_capacity(cap=cap, limit=_SPACES_AT_ONCE) if cap else ():
            done = await retention.make_room(space, store=store, vectors=vectors, cap=cap, ageing=ageing)
            telemetry.TRIMMED.inc(done.archived)
            telemetry.PROTECTED.inc(done.protected)
            if done.archived or done.protected:
                fields = {
                    "user": done.user_id,
                    "space": done.space,
                    "archived": done.archived,
                    "protected": done.protected,
                }
                log.log(logging.WARNING if done.protected else logging.INFO, "trimmed", extra=fields)

    async def _expire(self) -> None:
        if not self._settings.max_age_days:
            return
        max_age = timedelta(days=self._settings.max_age_days)
        gone = await retention.expire(store=self._places.store, vectors=self._places.vectors, max_age=max_age)
        if gone:
            telemetry.EXPIRED.inc(gone)
            self.compactor.request()
            log.info("expired", extra={"entries": gone})

    async def compare(self) -> None:
        """Put right what a crash left behind, and look again now and then."""
        every = self._settings.reconcile_every_hours * 3600
        if self._host.was_clean and not await self._is_of_former_version():
            await self._pause(min(every, _FIRST_LOOK))
        while True:
            await self._compare(*reconcile.SIDES)
            await self._pause(every)

    async def _is_of_former_version(self) -> bool:
        """Whether vectors are filtered by less than this version asks for, as after an upgrade; some are looked at."""
        with suppress(Unavailable):
            looked = await reconcile.reconcile(ReconcileRequest(side="entries", limit=_LOOKED_AT), self._stores)
            return bool(looked.differences)
        return False

    async def _compare(self, *sides: Side) -> None:
        found: Counter[str] = Counter()
        for side in sides:
            async for page in reconcile.pages(side, self._stores, fix=True):
                found.update(one.kind for one in page.differences)
        telemetry.REPAIRED.inc(found.total())
        log.info("reconciled", extra={"sides": sides, "repaired": dict(found)})

    @staticmethod
    async def _pause(seconds: float) -> None:
        await (asyncio.sleep(seconds) if seconds else asyncio.Event().wait())

    async def finish_forgetting(self) -> None:
        """Repeat what was broken off because a store or the bus was away."""
        while True:
            await asyncio.sleep(_TRY_AGAIN)
            for request in list(self._half_done.values()):
                with suppress(Unavailable):
                    await self._forget_again(request)

    async def _forget_again(self, request: ForgetRequest) -> None:
        with suppress(Rejected):  # its user was erased meanwhile
            await forgetting.forget(request, places=self._places, refuse_for=self._settings.refuse_for)
        self._half_done.pop(request.id, None)
        self.compactor.request()

    async def hear_refusals(self) -> None:
        """have the files compacted after a refusal, too: for a moment what was refused was in the log."""

        async def note(_: Msg) -> None:
            self.compactor.request()

        heard = await self._host.client.subscribe(subjects.ENTRY_REFUSED, cb=note)
        try:
            await asyncio.Event().wait()
        finally:
            with suppress(NatsError):
                await heard.unsubscribe()

    async def watch(self) -> None:
        """Count what waits for every stage: one that hears nothing any more cannot tell it itself."""
        while True:
            with suppress(NatsError, TimeoutError, Unavailable):
                for stage, waiting in (await self._host.bus.backlogs()).items():
                    telemetry.WAITING.labels(stage).set(waiting)
                telemetry.LETTERS_USED.set(await self._host.bus.used(subjects.DEAD_STREAM))
            await asyncio.sleep(self._settings.watch_every_seconds)

    async def _is_idle(self) -> bool:
        try:
            return not any((await self._host.bus.backlogs()).values())
        except (NatsError, TimeoutError, Unavailable):
            return False
