"""Forgetting an entry and erasing a user: remove everywhere, then look again in every place. All places are ports.

An erasure begins with a durable mark and completes by itself, whatever happens meanwhile:

mark ──► text store and vectors ──► cleared ──► bus and dead letters ──► mark removed

From the mark on nothing that was published before it is shown or logged, and newer turns wait on the bus until the text
store is cleared. Every step may be repeated, and by any process that finds the mark.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contracts.ports import (
    NO_TRACES,
    UNBOUNDED,
    Erasure,
    Forgotten,
    InFlightCounts,
    Key,
    Record,
    RecordKind,
    Selection,
    TextStore,
    Traces,
    Unavailable,
)
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest, ForgetReceipt, ForgetReply, ForgetRequest
from contracts.v1.entries import Entry
from services.curate.commands import no_entry
from services.curate.stores import Stores, entries_in
from services.shared.changes import change_entries, change_record
from services.shared.context.embedding import embed_again
from services.shared.decided import drop_settled
from services.shared.dedup.fingerprint import all_digests_of
from services.shared.erasures import SETTLING, erased_key, erased_record
from services.shared.errors import Rejected
from services.shared.lifecycle.lineage import fact_keys
from services.shared.preferences import outliving
from services.shared.tasks import end

log = logging.getLogger(__name__)

_ROUNDS = 10
"""How often in a row a place is emptied and counted, before the stages are given time."""

_DECIDED_SOON = 0.2  # seconds
_HEARD_SOON = 0.02  # seconds
_LOOK_EVERY = 1.0
_OTHERS = timedelta(seconds=10)
"""Age of a mark of another process from which on this one completes it: that has died, or a store was away."""

_MARGIN = 0.3
"""Seconds before the caller's deadline at which a receipt is sent."""

_MOST_COVERED = 64
"""Earlier requests that one erasure takes over, so that each of them can be asked about."""


async def until_heard(user_id: str, stores: Stores, *, patience: float = 5.0) -> None:
    """Wait until all that the bus promised to keep of a user is a memory, or was refused; for a while at most.

    Who asks at once to forget what they just said means it, and not what they said before.
    """
    with suppress(TimeoutError, Unavailable):
        async with asyncio.timeout(patience):
            while True:
                waiting = await stores.in_flight.count(user_id, None)
                if not waiting.turns and not (await stores.text.counts(user_id)).undecided:
                    return
                await asyncio.sleep(_HEARD_SOON)


async def forget(request: ForgetRequest, *, stores: Stores, refuse_for: timedelta) -> ForgetReply:
    """Leave nothing of an entry but a tombstone, and refuse its statement for a while, unless it may return.

    Broken off at any point, the same request completes it.

    Raises:
        Rejected: the user has no such entry.
    """
    refuse_for = timedelta() if request.may_return else refuse_for
    until = None if request.may_return else datetime.now(UTC) + refuse_for
    traces = traces_of((await stores.text.get([Key(request.user_id, request.id)])).values())
    dropped = await drop_letters(request.user_id, traces, stores)  # afterwards nobody knows what it said
    forgotten = await stores.text.forget([Key(request.user_id, request.id)], until=until)
    if not forgotten:
        raise no_entry(request.id)
    (gone,) = forgotten
    await drop_settled([gone.tombstone], stores.text)
    await stores.take_back_tags([gone.tombstone])
    await forget_facts_of(gone.tombstone, stores, until=until)
    vectors = len(await stores.vectors_of([gone.tombstone]))
    messages = await stores.in_flight.drop(request.user_id, gone.turns)
    left = await _without_vectors(gone, stores, traces)
    receipt = ForgetReceipt(
        id=request.id,
        forgotten_at=gone.tombstone.updated_at,
        refused_until=gone.tombstone.updated_at + refuse_for,  # an entry that was forgotten before keeps its time
        turns=len(gone.turn_ids),
        vectors=vectors,
        messages=messages.turns,
        dead_letters=dropped + messages.dead_letters,
        left=left,
    )
    return ForgetReply(receipt=receipt)


async def forget_facts_of(entry: Entry, stores: Stores, *, until: datetime | None) -> None:
    """Forget the facts that a model drew from an entry, also those that became another's repeat.

    The log has no words of its turn any more, so what is decided from here on is refused; what was being decided before
    is waited for.

    Raises:
        Unavailable: it is still not decided what becomes of some.
    """
    keys = fact_keys(entry)
    for _ in range(_ROUNDS if keys else 0):
        records = (await stores.text.pending(keys)).values()
        outcomes = [record.outcome for record in records if record.outcome is not None]
        ids = {outcome.entry_id for outcome in outcomes if outcome.entry_id is not None}
        facts = await stores.text.forget([Key(entry.user_id, id_) for id_ in ids], until=until)
        for fact in facts:
            await _without_vectors(fact, stores)
        if len(outcomes) == len(records):
            return
        await asyncio.sleep(_DECIDED_SOON)
    if keys:
        raise Unavailable("what was drawn from the entry is being decided: try again")


def traces_of(entries: Iterable[Entry]) -> Traces:
    """What tells that a dead letter says what these entries say, or ever said."""
    return Traces(frozenset((entry.space, digest) for entry in entries for digest in all_digests_of(entry)))


async def drop_letters(user_id: str, traces: Traces, stores: Stores) -> int:
    """Remove the dead letters of a user that have one of these traces; how many there were."""
    return 0 if traces == NO_TRACES else (await stores.in_flight.drop(user_id, (), traces=traces)).dead_letters


async def _without_vectors(gone: Forgotten, stores: Stores, traces: Traces = NO_TRACES) -> dict[str, int]:
    """Remove the vectors, also one that was being written meanwhile; what is left of the entry, by place."""
    for _ in range(_ROUNDS):
        await stores.remove_vectors([gone.tombstone.id])
        left = await _left_of(gone, stores, traces)
        if not left["vectors"]:
            break
    return left


async def _left_of(gone: Forgotten, stores: Stores, traces: Traces) -> dict[str, int]:
    entry = gone.tombstone
    kept = await stores.entry(Key(entry.user_id, entry.id))
    in_flight = await stores.in_flight.count(entry.user_id, gone.turns, traces=traces)
    return {
        "entries": int(kept is not None and kept.status != "forgotten"),
        "vectors": len(await stores.vectors_of([entry])),
        **by_place(in_flight),
    }


def by_place(found: InFlightCounts) -> dict[str, int]:
    """Counts of messages as receipts name them."""
    return {"waiting messages": found.turns, "dead letters": found.dead_letters}


async def compact(stores: Stores) -> bool:
    """Have the files of both stores written without removed words; whether none are left."""
    text_is_clean = await stores.text.compact()
    return (stores.vectors is None or await stores.vectors.compact()) and text_is_clean


async def begin(user_id: str, *, stores: Stores) -> Erasure:
    """Mark a user durably: turns that are published by now are refused from here on.

    Raises:
        Unavailable: bus or text store do not answer; the mark may or may not be there.
    """
    while True:
        held = await _mark_of(user_id, stores.text)
        new = Erasure(user_id, UNBOUNDED, datetime.now(UTC))
        if held is not None:
            new = replace(new, removed=held.removed, covers=held.requests[:_MOST_COVERED])
        if await stores.text.record_erasure(user_id, held, new) and (bounded := await _bound(new, stores)):
            return bounded


async def complete(erasure: Erasure, *, stores: Stores) -> Erasure:
    """Remove everything of an erasure, and its mark when looking again finds nothing; returns the last mark.

    It ends early when the mark was replaced by a newer one, or removed by another process.

    Raises:
        Unavailable: a place does not answer; steps that were done need not be done again.
    """
    for step in (_bound, _keep_account, _keep_decisions, _count, _clear, _make_vectors_anew, _empty_bus):
        changed = await step(erasure, stores)
        if changed is None:
            return erasure
        erasure = changed
    await stores.text.record_erasure(erasure.user_id, erasure, None)
    return erasure


async def _bound(erasure: Erasure, stores: Stores) -> Erasure | None:
    """Say up to which turn everything is erased: no turn after it was logged before the mark kept it waiting."""
    if erasure.before != UNBOUNDED:
        return erasure
    return await _changed(erasure, replace(erasure, before=await stores.in_flight.last()), stores)


async def _keep_account(erasure: Erasure, stores: Stores) -> Erasure:
    """Keep that the user was erased, before anything of them goes: what was done earlier is written no more."""
    at = erasure.requested_at

    def newest(held: Record | None) -> Record | None:
        return erased_record(erasure.user_id, at) if held is None or held.at < at else None

    await change_record(stores.text, erased_key(erasure.user_id), newest)
    return erasure


async def _keep_decisions(erasure: Erasure, stores: Stores) -> Erasure:
    """Keep that nothing is to be kept, before what the user decided goes with all else."""
    kinds: tuple[RecordKind, ...] = ("settings", "incognito")
    for kind in kinds:
        for kept in filter(None, map(outliving, await stores.text.records(erasure.user_id, kind))):
            await _keep(kept, stores.text)
    return erasure


async def _keep(record: Record, store: TextStore) -> None:
    await change_record(store, record.key, lambda _: record)


async def _count(erasure: Erasure, stores: Stores) -> Erasure | None:
    if erasure.removed:
        return erasure
    waiting = await stores.in_flight.count(erasure.user_id, None)
    stored = await _stored(erasure.user_id, stores)
    return await _changed(erasure, replace(erasure, removed={**stored, **by_place(waiting)}), stores)


async def _clear(erasure: Erasure, stores: Stores) -> Erasure | None:
    """Empty text store and vectors, then admit newer turns. A vector store that is away does not keep them out."""
    if erasure.cleared:
        return erasure
    for _ in range(_ROUNDS):
        if await _mark_of(erasure.user_id, stores.text) != erasure:
            return None
        await stores.text.erase(erasure.user_id, mark=erasure)
        vectors_left = not await _has_no_vectors(erasure.user_id, stores)
        await asyncio.sleep(SETTLING)
        left = sum((await stores.text.count_remaining(erasure.user_id)).values())
        if not left and (vectors_left or await _has_no_vectors(erasure.user_id, stores)):
            return await _changed(erasure, replace(erasure, cleared=True, vectors_left=vectors_left), stores)
    raise Unavailable("others add to the erased user in the stores")


async def _has_no_vectors(user_id: str, stores: Stores) -> bool:
    """Remove the vectors of a user; whether none are left."""
    if stores.vectors is None:
        return True
    try:
        await stores.vectors.erase(user_id)
        return await stores.vectors.count(user_id) == 0
    except Unavailable as error:
        log.warning("erasing_waits", extra={"for": str(error)})
        return False


async def _make_vectors_anew(erasure: Erasure, stores: Stores) -> Erasure | None:
    """Remove vectors that could not be removed before, and have those of newer entries made again.

    Raises:
        Unavailable: the vector store is still away.
    """
    if not erasure.vectors_left or stores.vectors is None:
        return erasure
    await stores.vectors.erase(erasure.user_id)
    async for entries in entries_in(Selection(erasure.user_id), stores.text):
        await change_entries(stores.text, entries, embed_again)
    return await _changed(erasure, replace(erasure, vectors_left=False), stores)


async def _empty_bus(erasure: Erasure, stores: Stores) -> Erasure:
    for _ in range(_ROUNDS):
        await stores.in_flight.drop(erasure.user_id, None, before=erasure.before)
        if not any(await stores.in_flight.count(erasure.user_id, None, before=erasure.before)):
            return erasure
        await asyncio.sleep(SETTLING)
    raise Unavailable("others add to the erased user on the bus")


async def _changed(erasure: Erasure, new: Erasure, stores: Stores) -> Erasure | None:
    """The new mark; None where the mark is another one by now."""
    return new if await stores.text.record_erasure(erasure.user_id, erasure, new) else None


async def _mark_of(user_id: str, store: TextStore) -> Erasure | None:
    marks = await store.erasures([user_id])
    return marks[0] if marks else None


async def _stored(user_id: str, stores: Stores) -> dict[str, int]:
    """How much of a user the stores hold now; a vector store that is away counts as empty."""
    found = {**await stores.text.count_remaining(user_id), "vectors": 0}
    if stores.vectors is not None:
        with suppress(Unavailable):
            found["vectors"] = await stores.vectors.count(user_id)
    return found


class Eraser:
    """Erases on request, and completes erasures begun here or elsewhere; `ended` is called with each user erased."""

    def __init__(self, stores: Stores, ended: Callable[[str], None] = lambda user_id: None) -> None:
        self._stores = stores
        self._ended = ended
        self._under_way: dict[str, asyncio.Task[Erasure | None]] = {}
        self._compacting: asyncio.Task[bool] | None = None

    async def erase(self, request: EraseRequest, *, within: float) -> EraseReply:
        """The receipt after at most `within` seconds; an erasure that takes longer goes on by itself.

        Raises:
            Unavailable: bus or text store do not answer; the erasure may or may not have begun.
            Rejected: it is asked how an erasure stands that is neither under way nor was done in the last 24 hours.
        """
        deadline = time.monotonic() + within - _MARGIN
        if request.requested_at is None:
            mark = await begin(request.user_id, stores=self._stores)
        else:
            held = await _mark_of(request.user_id, self._stores.text)
            if held is None or request.requested_at not in held.requests:
                return await self._done(request, await self._was(request.user_id, request.requested_at), deadline)
            mark = held
        while (left := deadline - time.monotonic()) > 0:
            task = self._completing(mark)
            await asyncio.wait({task}, timeout=left)
            mark = (task.done() and task.result()) or mark
            held = await _mark_of(request.user_id, self._stores.text)
            if held is None:
                return await self._done(request, mark, deadline)
            mark = held
            await asyncio.sleep(min(SETTLING, max(0.0, deadline - time.monotonic())))
        return await self._so_far(request, mark)

    async def run(self) -> None:
        """Complete every marked erasure, again and again, until cancelled."""
        newest = datetime.now(UTC)  # at the start: also the marks that an earlier process left a moment ago
        try:
            while True:
                with suppress(Unavailable):
                    for mark in await self._stores.text.erasures():
                        if mark.requested_at <= newest:
                            self._completing(mark)
                await asyncio.sleep(_LOOK_EVERY)
                newest = datetime.now(UTC) - _OTHERS
        finally:
            await end([*self._under_way.values(), *([self._compacting] if self._compacting else [])])

    def _completing(self, mark: Erasure) -> asyncio.Task[Erasure | None]:
        """The one task of this process that completes the erasure of a user."""
        task = self._under_way.get(mark.user_id)
        if task is None or task.done():
            task = self._under_way[mark.user_id] = asyncio.create_task(self._complete(mark))
            task.add_done_callback(lambda _: self._forget_task(mark.user_id))
        return task

    def _forget_task(self, user_id: str) -> None:
        if self._under_way[user_id].done():
            del self._under_way[user_id]

    async def _complete(self, mark: Erasure) -> Erasure | None:
        """Complete an erasure; None where it was broken off, to be tried again."""
        try:
            done = await complete(mark, stores=self._stores)
        except Unavailable as error:
            log.warning("erasing_waits", extra={"for": str(error)})
            return None
        except Exception:
            log.exception("erasing_failed")
            return None
        self._ended(mark.user_id)
        return done

    async def _was(self, user_id: str, requested_at: datetime) -> Erasure:
        removed = await self._stores.text.erased(user_id, requested_at)
        if removed is None:
            raise Rejected("not_found", "no erasure was asked for then, or it was done more than 24 hours ago")
        return Erasure(user_id, 0, requested_at, removed)

    async def _done(self, request: EraseRequest, mark: Erasure, deadline: float) -> EraseReply:
        """The receipt of a completed erasure; asked for again, or with nothing removed, it compacts first."""
        removed = mark.removed
        if not removed:  # the names of the places all the same
            removed = dict.fromkeys([*await _stored("", self._stores), *by_place(InFlightCounts(0, 0))], 0)
        asks_again = request.requested_at is not None
        swept = (asks_again or not any(removed.values())) and await self._have_compacted(deadline - time.monotonic())
        receipt = EraseReceipt(
            removed=removed,
            left=dict.fromkeys(removed, 0),
            drained=await self._stores.in_flight.is_drained(),
            swept=swept,
            requested_at=mark.requested_at,
        )
        return EraseReply(receipt=receipt)

    async def _have_compacted(self, within: float) -> bool:
        """Compact; whether that was done in time. It goes on by itself."""
        if self._compacting is None or self._compacting.done():
            self._compacting = asyncio.create_task(self._compact())
        await asyncio.wait({self._compacting}, timeout=max(0.0, within))
        return self._compacting.done() and self._compacting.result()

    async def _compact(self) -> bool:
        try:
            return await compact(self._stores)
        except Unavailable:
            return False

    async def _so_far(self, request: EraseRequest, mark: Erasure) -> EraseReply:
        receipt = EraseReceipt(
            removed=mark.removed,
            left=await self._left(mark),
            drained=False,
            swept=False,
            state="under_way",
            requested_at=mark.requested_at,
        )
        return EraseReply(receipt=receipt)

    async def _left(self, mark: Erasure) -> Mapping[str, int]:
        """Counts of what is left of the user; the counts from the beginning where counting takes too long."""
        try:
            async with asyncio.timeout(_MARGIN / 2):
                stored = await _stored(mark.user_id, self._stores)
                waiting = await self._stores.in_flight.count(mark.user_id, None, before=mark.before)
        except (TimeoutError, Unavailable):
            return mark.removed
        return {**(dict.fromkeys(stored, 0) if mark.cleared else stored), **by_place(waiting)}
