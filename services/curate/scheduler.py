"""The background work of curate, until cancelled: resume stuck work, keep capacity and age, reconcile, compact."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.errors import Unavailable
from contracts.ports import Key, SpaceSize, Stuck, TextStore
from contracts.v1.commands import ForgetRequest, ReconcileRequest, Side
from contracts.v1.control import SpaceSettings
from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryEvent, EntryProposed, EntryRef
from services.curate import ageing, audit, control, privacy, reconcile, retention
from services.curate.privacy import Eraser
from services.curate.rollups import OTHERS, RollUps
from services.curate.set_aside import forget_set_aside
from services.curate.settings import CurateSettings
from services.curate.stores import Stores, in_steps, pause_after
from services.shared import telemetry
from services.shared.app import Host
from services.shared.embedders.minilm import reader_version
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.preferences import OwnSettings
from services.shared.ranking.capacity import Ageing

log = logging.getLogger(__name__)

AT_ONCE = 10_000
_PER_EVENT = 128
_LONGEST_PAUSE = timedelta(days=1)
_STAGES: tuple[tuple[subjects.Consumer, Stuck, type[EntryEvent]], ...] = (
    (subjects.DEDUPE, "undecided", EntryProposed),
    (subjects.ENRICH, "unenriched", EntryAccepted),
    (subjects.EMBED, "unembedded", EntryEnriched),
)
_SOON = 2.0
"""Seconds until the next look when there may be more than one look brings."""

_SPACES_AT_ONCE = 100
_TRY_AGAIN = 2.0
_LOOKED_AT = 100
_BEFORE_READING = 10.0
"""Seconds after a start at which entries are read anew: those that wait for it come first."""

_FIRST_LOOK = 600.0
"""Seconds after an orderly start at which the stores are reconciled for the first time: nobody waits for it."""


class Attempts:
    """The times at which stuck work was set going, by key: each time it is left alone for twice as long.

    Otherwise an entry that no stage can handle would be dead-lettered anew for ever.
    """

    def __init__(self) -> None:
        self._last: dict[Key, tuple[datetime, timedelta]] = {}

    def due(self, stuck: Sequence[Key], now: datetime, *, first: timedelta) -> list[Key]:
        """The keys, of all that are stuck now, to set going; they count as set going. The first pause is `first`."""
        self._last = {key: self._last[key] for key in stuck if key in self._last}
        due = [key for key in stuck if key not in self._last or now - self._last[key][0] >= self._last[key][1]]
        for key in due:
            pause = min(2 * self._last[key][1], _LONGEST_PAUSE) if key in self._last else first
            self._last[key] = (now, pause)
        return due


async def resume(
    event: type[EntryEvent],
    lacking: Stuck,
    attempts: Attempts,
    *,
    store: TextStore,
    before: datetime,
    pause: timedelta,
) -> list[EntryEvent]:
    """The events that set going again the work that is unfinished since before a moment, the oldest first."""
    now = datetime.now(UTC)
    found = await store.unfinished(lacking, before=before, limit=AT_ONCE)
    refs = [EntryRef(user_id=key.user_id, id=key.id) for key in attempts.due(found, now, first=pause)]
    return [event.of(some, at=now, cause=now.isoformat()) for some in in_steps(refs, _PER_EVENT)]


class Scheduler:
    """The background work of one process. Requests tell it of entries forgotten and users erased."""

    def __init__(self, host: Host, settings: CurateSettings, stores: Stores) -> None:
        self._host = host
        self._settings = settings
        self._stores = stores
        self._half_done: dict[Key, Callable[[], Awaitable[object]]] = {}
        self._is_tidying = False
        self._limited: asyncio.Queue[str] = asyncio.Queue()
        compact = partial(privacy.compact, stores)
        self.compactor = Compactor(compact, self._is_idle, after=settings.compact_after_seconds)
        self.eraser = Eraser(stores, self._have_erased)
        self.roll_ups = RollUps(stores)

    @property
    def all(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Every routine."""
        return (
            self.resume,
            self.tidy,
            self.reconcile,
            self.read_anew,
            self.finish_forgetting,
            self.hear_refusals,
            self.watch,
            self.compactor.run,
            self.eraser.run,
        )

    async def resume(self) -> None:
        """Set going again the work that the store shows unfinished.

        Work older than this start was left by an earlier process, by an import, or by a process without this stage: it
        goes at once, whatever else is on the bus. Later work is stuck only when it is old and nothing is on the bus for
        its stage.
        """
        started, pause = datetime.now(UTC), timedelta(seconds=self._settings.resume_after_seconds)
        attempts = {lacking: Attempts() for _, lacking, _ in _STAGES}
        store, bus = self._stores.text, self._host.bus
        at_start, may_be_more = True, False
        while True:
            before, most, is_busy = max(started, datetime.now(UTC) - pause), 0, False
            for consumer, lacking, event in _STAGES:
                if lacking not in self._done_here:
                    continue
                if at_start or await bus.backlog(consumer) == 0:
                    events = await resume(event, lacking, attempts[lacking], store=store, before=before, pause=pause)
                    await bus.publish_events(events)
                    most = max(most, sum(len(event.entries) for event in events))
                else:
                    is_busy = True
            at_start, may_be_more = False, most >= AT_ONCE or (may_be_more and is_busy)
            await asyncio.sleep(_SOON if may_be_more else self._settings.resume_every_seconds)

    @property
    def _done_here(self) -> set[Stuck]:
        done: set[Stuck] = {"undecided"}
        if self._host.settings.ner != "none":
            done.add("unenriched")
        if self._stores.vectors is not None:
            done.add("unembedded")
        return done

    async def tidy(self) -> None:
        """Keep every space within its capacity, and everything within its age; roll up what is old."""
        await self.roll_ups.go_on_with_all(older=timedelta(0))
        while True:
            if self._is_tidying:  # it was broken off, perhaps between an entry and its vector
                await self._reconcile("vectors")
            self._is_tidying = True
            await self.keep_limits()
            await self.roll_ups.go_on_with_all(older=OTHERS)
            if forgotten := await forget_set_aside(self._stores, self._forget):
                log.info("set_aside_forgotten", extra={"entries": forgotten})
            await control.expire_incognito(records=self._stores.text, in_flight=self._stores.in_flight)
            await audit.expire_audit(records=self._stores.text, days=self._settings.audit_days)
            self._is_tidying = False
            await self._keep_new_limits(self._settings.tidy_every_seconds)

    async def _forget(self, key: Key) -> None:
        request = ForgetRequest(user_id=key.user_id, id=key.id, may_return=True)
        again = partial(self.roll_ups.forget, request, refuse_for=self._settings.refuse_for)
        with self.finishing(key, again), suppress(Rejected):  # its user was erased, or forgot it, meanwhile
            await again()

    def limit(self, user_id: str) -> None:
        """Keep the spaces of a user within limits that were set just now, before the next look at everybody's."""
        self._limited.put_nowait(user_id)

    async def _keep_new_limits(self, seconds: float) -> None:
        """Keep the limits that users set, for so many seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                user_id = await asyncio.wait_for(self._limited.get(), left)
            except TimeoutError:
                return
            self._is_tidying = True
            await self._keep_own(user_id, OwnSettings(await self._stores.text.records(user_id, "settings")))
            self._is_tidying = False

    async def keep_limits(self) -> None:
        """Keep every space within the limits that its user has set, or those of this service."""
        own = await retention.own_limits(self._stores.text)
        await self._make_room(own)
        await self._expire(own)
        for user_id, settings in own.items():
            await self._keep_own(user_id, settings)
        await self._age_all(but=own)

    async def _make_room(self, own: Collection[str]) -> None:
        cap = self._settings.soft_cap
        for space in await self._stores.text.over_capacity(cap=cap, limit=_SPACES_AT_ONCE, but=own) if cap else ():
            await self._trim(space, cap)

    async def _trim(self, space: SpaceSize, cap: int) -> None:
        ageing = Ageing(self._settings.tau_days * 86400.0, self._settings.importance_kept)
        done = await retention.make_room(space, stores=self._stores, cap=cap, ageing=ageing)
        telemetry.TRIMMED.inc(done.archived)
        telemetry.PROTECTED.inc(done.protected)
        if done.archived or done.protected:
            fields = {"user": space.user_id, "space": space.space, **done._asdict()}
            log.log(logging.WARNING if done.protected else logging.INFO, "trimmed", extra=fields)

    async def _expire(self, own: Collection[str] = (), of: SpaceSize | None = None, days: float | None = None) -> None:
        days = self._settings.max_age_days if days is None else days
        if not days:
            return
        if expired := await retention.expire(stores=self._stores, max_age=timedelta(days=days), but=own, of=of):
            telemetry.EXPIRED.inc(expired)
            self.compactor.request()
            log.info("expired", extra={"entries": expired})

    async def _keep_own(self, user_id: str, own: OwnSettings) -> None:
        for space in await self._stores.text.spaces(user_id):
            limits = own.of(space.space, self._settings.of_a_space)
            await self._expire(of=space, days=limits.retention_days)
            if limits.soft_cap and space.entries > limits.soft_cap:
                await self._trim(space, limits.soft_cap)
            await self._age(space, limits)

    async def _age_all(self, but: Collection[str]) -> None:
        """Roll up what is old of all who have decided nothing, where this service does so."""
        store, limits, after = self._stores.text, self._settings.of_a_space, ""
        while (limits.roll_up_after_days or limits.originals_kept_days) and (
            users := await store.users(after=after, limit=_SPACES_AT_ONCE)
        ):
            for user_id in (one for one in users if one not in but):
                own = OwnSettings(await store.records(user_id, "settings"))
                for space in await store.spaces(user_id):
                    await self._age(space, own.of(space.space, limits))
            after = users[-1]

    async def _age(self, space: SpaceSize, limits: SpaceSettings) -> None:
        if limits.memory_enabled is False or await is_hidden(self._stores.text, space.user_id):
            return
        ages = ageing.Ages(limits.roll_up_after_days or 0, limits.originals_kept_days or 0)
        every = timedelta(hours=self._settings.ageing_every_hours)
        if done := await ageing.age(space.user_id, space.space, ages, made=self.roll_ups, every=every):
            self.compactor.request()
            log.info("rolled_up", extra={"user": space.user_id, "space": space.space, "rollups": done})

    async def reconcile(self) -> None:
        """Put right the differences that a crash left behind, and look again now and then."""
        every = self._settings.reconcile_every_hours * 3600
        if self._host.was_clean and not await self._is_of_former_version():
            await _pause(min(every, _FIRST_LOOK))
        while True:
            await self._reconcile(*reconcile.SIDES)
            await _pause(every)

    async def read_anew(self) -> None:
        """After an upgrade, have what the former reader read, or none, read by the one of this version."""
        if self._stores.vectors is None or self._host.settings.reader == "none":
            return
        await _pause(_BEFORE_READING)
        reader = await asyncio.to_thread(reader_version)
        if count := await reconcile.read_anew(reader, self._stores):
            log.info("read_anew", extra={"entries": count, "reader": reader})

    async def _is_of_former_version(self) -> bool:
        """Whether some vectors lack fields that this version filters by, as after an upgrade."""
        with suppress(Unavailable):
            looked = await reconcile.reconcile(ReconcileRequest(side="entries", limit=_LOOKED_AT), self._stores)
            return any(one.kind == "without_vector" for one in looked.differences)
        return False

    async def _reconcile(self, *sides: Side) -> None:
        found: Counter[str] = Counter()
        started = time.perf_counter()
        for side in sides:
            async for page in reconcile.pages(side, self._stores, fix=True):
                found.update(one.kind for one in page.differences)
                await pause_after(time.perf_counter() - started)
                started = time.perf_counter()
        telemetry.REPAIRED.inc(found.total())
        log.info("reconciled", extra={"sides": sides, "repaired": dict(found)})

    @contextmanager
    def finishing(self, key: Key, again: Callable[[], Awaitable[object]]) -> Iterator[None]:
        """Around forgetting or redacting an entry: compact the files afterwards; do it again if a store fails."""
        try:
            yield
        except (Unavailable, asyncio.CancelledError):
            self._half_done[key] = again
            raise
        finally:
            self.compactor.request()

    async def finish_forgetting(self) -> None:
        """Repeat each forgetting that was broken off because a store or the bus was away, or slow."""
        while True:
            await asyncio.sleep(_TRY_AGAIN)
            for key, again in list(self._half_done.items()):
                with suppress(Unavailable):
                    with suppress(Rejected):  # its user was erased meanwhile
                        await again()
                    self._half_done.pop(key, None)
                    self.compactor.request()

    def _have_erased(self, user_id: str) -> None:
        self._half_done = {key: again for key, again in self._half_done.items() if key.user_id != user_id}
        self.compactor.request()

    async def hear_refusals(self) -> None:
        """Have the files compacted after a refusal, too: for a moment the refused words were in the log."""

        async def request(_: Msg) -> None:
            self.compactor.request()

        heard = await self._host.client.subscribe(subjects.ENTRY_REFUSED, cb=request)
        try:
            await asyncio.Event().wait()
        finally:
            with suppress(NatsError):
                await heard.unsubscribe()

    async def watch(self) -> None:
        """Count the messages that wait for every stage: a stage that hears nothing any more cannot tell it itself."""
        while True:
            with suppress(Unavailable):
                for stage, waiting in (await self._host.bus.backlogs()).items():
                    telemetry.WAITING.labels(stage).set(waiting)
                telemetry.WAITING.labels(subjects.EXTRACT.name).set(await self._host.bus.backlog(subjects.EXTRACT))
                telemetry.LETTERS_USED.set(await self._host.bus.used(subjects.DEAD_STREAM))
            await asyncio.sleep(self._settings.watch_every_seconds)

    async def _is_idle(self) -> bool:
        try:
            return not any((await self._host.bus.backlogs()).values())
        except Unavailable:
            return False


async def _pause(seconds: float) -> None:
    await (asyncio.sleep(seconds) if seconds else asyncio.Event().wait())


class Compactor:
    """Compacts the files of the stores some seconds after a request, until nothing removed is left in them.

    It waits until nothing is on the bus, but no longer than `_LONGEST_WAIT` seconds.
    """

    _LONGEST_WAIT = 60.0
    _LOOK_EVERY = 0.5
    _LONG = 3.0
    _SHARE = 20
    """Compacting that takes longer than `_LONG` seconds is done for at most one part in so many of the time."""

    _LONGEST_PAUSE = 300.0
    """Seconds between attempts in the end: a busy cluster is hardly ever without removed documents."""

    def __init__(
        self, compact: Callable[[], Awaitable[bool]], is_idle: Callable[[], Awaitable[bool]], *, after: float
    ) -> None:
        self._compact = compact
        self._is_idle = is_idle
        self._after = after
        self._requested = asyncio.Event()
        self._requested.set()  # an earlier process may not have finished

    def request(self) -> None:
        """Compact soon: something was removed."""
        self._requested.set()

    async def run(self) -> None:
        """Compact until cancelled."""
        pause = self._after
        while True:
            await self._requested.wait()
            await asyncio.sleep(pause)
            await self._wait_for_quiet()
            self._requested.clear()
            started = time.monotonic()
            is_clean = await self._is_clean()
            pause = self._after if is_clean else min(2 * pause, self._LONGEST_PAUSE)
            if not is_clean:
                self._requested.set()
            took = time.monotonic() - started
            await asyncio.sleep(took * (self._SHARE - 1) if took > self._LONG else 0)

    async def _wait_for_quiet(self) -> None:
        for _ in range(round(self._LONGEST_WAIT / self._LOOK_EVERY)):
            if await self._is_idle():
                return
            await asyncio.sleep(self._LOOK_EVERY)

    async def _is_clean(self) -> bool:
        try:
            return await self._compact()
        except Unavailable as error:
            log.warning("not_compacted", extra={"cause": str(error)})
            return False
