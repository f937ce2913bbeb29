"""Erasing a user: a durable mark first, then everything in every place, whatever happens meanwhile.

mark ──► text store and vectors ──► cleared ──► bus and dead letters ──► mark removed

From the mark on nothing that was published before it is shown or logged, and what is newer waits on the bus until the
text store is cleared. Every step may be repeated, by anybody: whoever finds a mark completes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contracts.ports import Erasure, InFlightCounts, Selection, TextStore, Unavailable
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest
from services.curate.forgetting import DataStores, compact, named
from services.curate.reconcile import embed_again
from services.shared.changes import change_entries
from services.shared.errors import Rejected
from services.shared.tasks import end

log = logging.getLogger(__name__)

_SETTLING = 0.3
"""Seconds after which what was in hand when the erasing began has reached the stores."""

_ROUNDS = 10
"""How often in a row a place is emptied and looked at again, before others are given time."""

_LOOK_EVERY = 1.0
_OTHERS = timedelta(seconds=10)
"""How old a mark must be that is completed here though another process made it: that has died, or a store was away."""

_MARGIN = 0.3
"""Seconds before the caller's deadline at which a receipt is sent."""

_PAGE = 500
_MOST_COVERED = 64
"""How many earlier requests one erasure takes over, so that each of them can be asked about."""


async def begin(user_id: str, *, places: DataStores) -> Erasure:
    """Mark a user durably: what is published by now is refused from here on.

    Raises:
        Unavailable: bus or text store do not answer; whether the mark is there is not known.
    """
    while True:
        held = await _mark_of(user_id, places.store)
        before, now = await places.in_flight.last(), datetime.now(UTC)
        new = Erasure(user_id, before, now) if held is None else _renewed(held, before, now)
        if await places.store.record_erasure(user_id, held, new):
            return new


def _renewed(held: Erasure, before: int, now: datetime) -> Erasure:
    covers = held.requests[:_MOST_COVERED]
    return Erasure(held.user_id, max(before, held.before), now, held.removed, covers=covers)


async def complete(erasure: Erasure, *, places: DataStores) -> Erasure:
    """Remove everything of an erasure, and its mark when looking again finds nothing; the mark as it was last.

    It ends where the mark is another one by now, or gone.

    Raises:
        Unavailable: a place does not answer; what was done until then need not be done again.
    """
    for step in (_count, _clear, _make_vectors_anew, _empty_bus):
        changed = await step(erasure, places)
        if changed is None:
            return erasure
        erasure = changed
    await places.store.record_erasure(erasure.user_id, erasure, None)
    return erasure


async def _count(erasure: Erasure, places: DataStores) -> Erasure | None:
    if erasure.removed:
        return erasure
    waiting = await places.in_flight.count(erasure.user_id, None)
    stored = await _stored(erasure.user_id, places)
    return await _changed(erasure, replace(erasure, removed={**stored, **named(waiting)}), places)


async def _clear(erasure: Erasure, places: DataStores) -> Erasure | None:
    """Empty text store and vectors, then let newer turns in. A vector store that is away does not keep them out."""
    if erasure.cleared:
        return erasure
    for _ in range(_ROUNDS):
        if await _mark_of(erasure.user_id, places.store) != erasure:
            return None
        await places.store.erase(erasure.user_id, mark=erasure)
        vectors_left = not await _has_no_vectors(erasure.user_id, places)
        await asyncio.sleep(_SETTLING)
        left = sum((await places.store.count_remaining(erasure.user_id)).values())
        if not left and (vectors_left or await _has_no_vectors(erasure.user_id, places)):
            return await _changed(erasure, replace(erasure, cleared=True, vectors_left=vectors_left), places)
    raise Unavailable("others add to what is erased in the stores")


async def _has_no_vectors(user_id: str, places: DataStores) -> bool:
    """Remove the vectors of a user; whether there are none any more."""
    if places.vectors is None:
        return True
    try:
        await places.vectors.erase(user_id)
        return await places.vectors.count(user_id) == 0
    except Unavailable as error:
        log.warning("erasing_waits", extra={"for": str(error)})
        return False


async def _make_vectors_anew(erasure: Erasure, places: DataStores) -> Erasure | None:
    """Remove vectors that could not be removed before newer turns came in, and have those of newer entries made again.

    Raises:
        Unavailable: the vector store is still away.
    """
    if not erasure.vectors_left or places.vectors is None:
        return erasure
    await places.vectors.erase(erasure.user_id)
    selection, cursor = Selection(erasure.user_id), None
    while True:
        page = await places.store.page(selection, limit=_PAGE, cursor=cursor)
        await change_entries(places.store, page.entries, embed_again)
        if page.cursor is None:
            return await _changed(erasure, replace(erasure, vectors_left=False), places)
        cursor = page.cursor


async def _empty_bus(erasure: Erasure, places: DataStores) -> Erasure:
    for _ in range(_ROUNDS):
        await places.in_flight.drop(erasure.user_id, None, before=erasure.before)
        if not any(await places.in_flight.count(erasure.user_id, None, before=erasure.before)):
            return erasure
        await asyncio.sleep(_SETTLING)
    raise Unavailable("others add to what is erased on the bus")


async def _changed(erasure: Erasure, new: Erasure, places: DataStores) -> Erasure | None:
    """The new mark; None where the mark is another one by now."""
    return new if await places.store.record_erasure(erasure.user_id, erasure, new) else None


async def _mark_of(user_id: str, store: TextStore) -> Erasure | None:
    marks = await store.erasures([user_id])
    return marks[0] if marks else None


async def _stored(user_id: str, places: DataStores) -> dict[str, int]:
    """How much of a user is found in the stores now; a vector store that is away has none to show."""
    found = {**await places.store.count_remaining(user_id), "vectors": 0}
    if places.vectors is not None:
        with suppress(Unavailable):
            found["vectors"] = await places.vectors.count(user_id)
    return found


class Eraser:
    """Erases on request, and completes what was begun, here or elsewhere; `ended` is called whenever one is done."""

    def __init__(self, places: DataStores, ended: Callable[[str], None] = lambda user_id: None) -> None:
        self._places = places
        self._ended = ended
        self._under_way: dict[str, asyncio.Task[Erasure | None]] = {}
        self._compacting: asyncio.Task[bool] | None = None

    async def erase(self, request: EraseRequest, *, within: float) -> EraseReply:
        """What became of the erasure after at most so many seconds; it goes on by itself.

        Raises:
            Unavailable: bus or text store do not answer, so that it is not certain that it has begun.
            Rejected: it is asked how an erasure stands that is neither under way nor was done in the last 24 hours.
        """
        deadline = time.monotonic() + within - _MARGIN
        if request.requested_at is None:
            mark = await begin(request.user_id, places=self._places)
        else:
            held = await _mark_of(request.user_id, self._places.store)
            if held is None or request.requested_at not in held.requests:
                return await self._done(request, await self._was(request.user_id, request.requested_at), deadline)
            mark = held
        while (left := deadline - time.monotonic()) > 0:
            task = self._completing(mark)
            await asyncio.wait({task}, timeout=left)
            mark = (task.done() and task.result()) or mark
            held = await _mark_of(request.user_id, self._places.store)
            if held is None:
                return await self._done(request, mark, deadline)
            mark = held
            await asyncio.sleep(min(_SETTLING, max(0.0, deadline - time.monotonic())))
        return await self._so_far(request, mark)

    async def run(self) -> None:
        """Complete whatever is marked, again and again, until cancelled."""
        newest = datetime.now(UTC)  # at the start: also what an earlier process left a moment ago
        try:
            while True:
                with suppress(Unavailable):
                    for mark in await self._places.store.erasures():
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
        """Try once; None where it was broken off, to be tried again."""
        try:
            done = await complete(mark, places=self._places)
        except Unavailable as error:
            log.warning("erasing_waits", extra={"for": str(error)})
            return None
        except Exception:
            log.exception("erasing_failed")
            return None
        self._ended(mark.user_id)
        return done

    async def _was(self, user_id: str, requested_at: datetime) -> Erasure:
        removed = await self._places.store.erased(user_id, requested_at)
        if removed is None:
            raise Rejected("not_found", "no erasure was asked for then, or it was done more than 24 hours ago")
        return Erasure(user_id, 0, requested_at, removed)

    async def _done(self, request: EraseRequest, mark: Erasure, deadline: float) -> EraseReply:
        """The receipt of what is done; asked once more, and where nothing was removed, the files are swept first."""
        removed = mark.removed or dict.fromkeys(await self._places_named(), 0)
        asks_again = request.requested_at is not None
        swept = (asks_again or not any(removed.values())) and await self._have_compacted(deadline - time.monotonic())
        receipt = EraseReceipt(
            removed=removed,
            left=dict.fromkeys(removed, 0),
            drained=await self._places.in_flight.is_drained(),
            swept=swept,
            requested_at=mark.requested_at,
        )
        return EraseReply(receipt=receipt, correlation_id=request.correlation_id)

    async def _have_compacted(self, within: float) -> bool:
        """Compact, and say whether that was done in time; it goes on by itself."""
        if self._compacting is None or self._compacting.done():
            self._compacting = asyncio.create_task(self._compact())
        await asyncio.wait({self._compacting}, timeout=max(0.0, within))
        return self._compacting.done() and self._compacting.result()

    async def _compact(self) -> bool:
        try:
            return await compact(self._places)
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
        return EraseReply(receipt=receipt, correlation_id=request.correlation_id)

    async def _left(self, mark: Erasure) -> Mapping[str, int]:
        """What is found now of what is being erased; what was found at first where counting takes too long."""
        try:
            async with asyncio.timeout(_MARGIN / 2):
                stored = await _stored(mark.user_id, self._places)
                waiting = await self._places.in_flight.count(mark.user_id, None, before=mark.before)
        except (TimeoutError, Unavailable):
            return mark.removed
        return {**(dict.fromkeys(stored, 0) if mark.cleared else stored), **named(waiting)}

    async def _places_named(self) -> list[str]:
        """What the places are called."""
        return [*await _stored("", self._places), *named(InFlightCounts(0, 0))]
