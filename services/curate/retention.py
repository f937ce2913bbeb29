"""Keep a memory within its capacity and age: the log keeps trimmed entries, entries that are too old are forgotten."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, TypeVar

from contracts.ports import Record, Selection, SpaceSize, TextStore, UserRecords, VectorStore
from contracts.v1.control import LIMITS
from contracts.v1.entries import Entry, Scores
from services.curate.neighbour_tags import take_back_tags
from services.curate.rollups import RollUps
from services.shared.changes import change_entries
from services.shared.decided import drop_settled
from services.shared.preferences import OwnSettings
from services.shared.ranking.capacity import Ageing, Valued, is_protected, trim, valued

T = TypeVar("T")

Pause: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits after a step of background work that took so many seconds."""

_PAGE = 200
_STEP = 50
"""Entries that one transaction archives: some 30 ms in which nobody else writes."""


async def pause_after(seconds: float) -> None:
    """Leave stores and processors to others for twice as long as a step took."""
    await asyncio.sleep(2 * seconds)


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The result for one space: entries archived, and entries that stayed only because they are protected."""

    user_id: str
    space: str
    archived: int
    protected: int


async def make_room(
    space: SpaceSize,
    *,
    store: TextStore,
    vectors: VectorStore | None,
    cap: int,
    ageing: Ageing,
    pause: Pause = pause_after,
) -> Trimmed:
    """Archive the entries of a space that score lowest until `cap` are left, or only protected ones.

    It goes in small steps, with a `pause` after each, and each is complete in itself: broken off and begun again, it
    goes on. Archived entries are found no more, and stay in the store. Done twice, it changes nothing the second time.
    """
    now = datetime.now(UTC)
    plan = await asyncio.to_thread(trim, await _survey(store, space, now, ageing, pause), cap=cap)
    archived = 0
    for victims in _steps(plan.victims):
        archived += await _timed(_archive(victims, now, store, vectors), pause)
    for rescored in _steps([one for one in plan.kept if one.fresh]):
        await _timed(_keep_scores(rescored, store), pause)
    return Trimmed(space.user_id, space.space, archived, len(plan.protected))


async def _timed(step: Awaitable[T], pause: Pause) -> T:
    started = time.perf_counter()
    done = await step
    await pause(time.perf_counter() - started)
    return done


def _steps(entries: Sequence[Valued]) -> Iterator[Sequence[Valued]]:
    return (entries[start : start + _STEP] for start in range(0, len(entries), _STEP))


async def _survey(store: TextStore, space: SpaceSize, now: datetime, ageing: Ageing, pause: Pause) -> list[Valued]:
    """The value of every active entry of a space; of the entries themselves a page at a time is in memory."""
    selection, cursor = Selection(space.user_id, space.space), None
    found: list[Valued] = []
    while True:
        page = await _timed(store.page(selection, limit=_PAGE, cursor=cursor), pause)
        found += [valued(entry, now, ageing) for entry in page.entries]
        if page.cursor is None:
            return found
        cursor = page.cursor


async def _archive(victims: Sequence[Valued], now: datetime, store: TextStore, vectors: VectorStore | None) -> int:
    scores = {one.id: one.fresh for one in victims}
    entries = (await store.get(victims)).values()
    archived = await change_entries(store, entries, lambda entry: put_away(entry, now, scores[entry.id]))
    if vectors is not None:
        await vectors.remove([entry.id for entry in archived])
    return len(archived)


async def _keep_scores(rescored: Sequence[Valued], store: TextStore) -> None:
    scores = {one.id: one.fresh for one in rescored}
    entries = (await store.get(rescored)).values()
    await change_entries(store, entries, lambda entry: with_scores(entry, scores[entry.id]))


def with_scores(entry: Entry, scores: Scores | None) -> Entry | None:
    """The entry with these scores; None when it went out of use meanwhile."""
    return entry.model_copy(update={"last_scores": scores}) if entry.status == "active" else None


def put_away(entry: Entry, now: datetime, scores: Scores | None = None) -> Entry | None:
    """The entry out of use, with new scores if given; None when it is already, or somebody asked for it to be kept."""
    if entry.status != "active" or is_protected(entry):
        return None
    update = {"status": "archived", "embedding_state": "pending", "neighbour_tags": (), "updated_at": now}
    return entry.model_copy(update={**update, "last_scores": scores or entry.last_scores})


async def expire(
    *,
    store: TextStore,
    vectors: VectorStore | None,
    max_age: timedelta,
    limit: int = 200,
    but: Collection[str] = (),
    of: SpaceSize | None = None,
    made: RollUps | None = None,
) -> int:
    """Forget entries that were last said longer ago than `max_age`, unless they are protected; how many.

    Those of everybody without the users `but`, or `of` one space. Nothing of their words is left, and nothing of those
    that went into a roll-up which is too old. Unlike entries that a user forgets, they may be said again at once.
    """
    expired, where = 0, (of.user_id, of.space) if of else None
    while aged := await store.expired(before=datetime.now(UTC) - max_age, limit=limit, but=but, of=where):
        gone = await store.forget(aged, until=None)
        await drop_settled((one.tombstone for one in gone), store)
        await take_back_tags((one.tombstone for one in gone), store=store, vectors=vectors)
        if made is not None:
            await made.have_forgotten((one.tombstone for one in gone), until=None)
        if vectors is not None:
            await vectors.remove([one.tombstone.id for one in gone])
        expired += len(gone)
        if len(aged) < limit:
            break
    return expired


async def own_limits(store: UserRecords) -> dict[str, OwnSettings]:
    """The settings of the users who have limits of their own, for any of their spaces."""
    found: dict[str, list[Record]] = {}
    cursor: str | None = None
    while True:
        page = await store.page_records("limits", user_id=None, limit=_PAGE, cursor=cursor)
        for record in (await store.get_records([mark.key._replace(kind="settings") for mark in page.records])).values():
            found.setdefault(record.user_id, []).append(record)
        if page.cursor is None:
            own = {user_id: OwnSettings(records) for user_id, records in found.items()}
            return {user_id: one for user_id, one in own.items() if one.decides(*LIMITS)}
        cursor = page.cursor
