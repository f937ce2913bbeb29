"""Keep a memory within its capacity and age: the log keeps trimmed entries, entries that are too old are forgotten."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from contracts.ports import Record, Selection, SpaceSize, TextStore, UserRecords
from contracts.v1.control import LIMITS
from contracts.v1.entries import Entry, Scores
from services.curate.rollups import RollUps
from services.curate.stores import Pause, Stores, entries_in, in_steps, pause_after, timed
from services.shared.changes import change_entries
from services.shared.decided import drop_settled
from services.shared.paging import pages
from services.shared.preferences import OwnSettings
from services.shared.ranking.capacity import Ageing, Valued, is_protected, trim, valued

_PAGE = 200
_STEP = 50
"""Entries that one transaction archives: some 30 ms in which nobody else writes."""


class Trimmed(NamedTuple):
    """The result for one space: entries archived, and entries that stayed only because they are protected."""

    archived: int
    protected: int


async def make_room(
    space: SpaceSize, *, stores: Stores, cap: int, ageing: Ageing, pause: Pause = pause_after
) -> Trimmed:
    """Archive the entries of a space that score lowest until `cap` are left, or only protected ones.

    It goes in small steps, with a `pause` after each, and each is complete in itself: broken off and begun again, it
    goes on. Archived entries are found no more, and stay in the store until they are too old. Done twice, it changes
    nothing the second time.
    """
    now = datetime.now(UTC)
    plan = await asyncio.to_thread(trim, await _survey(stores.text, space, now, ageing, pause), cap=cap)
    archived = 0
    for victims in in_steps(plan.victims, _STEP):
        gone = await timed(_change(victims, partial(put_away, now=now), stores), pause)
        archived += len(gone)
    for rescored in in_steps([one for one in plan.kept if one.fresh], _STEP):
        await timed(_change(rescored, with_scores, stores), pause)
    return Trimmed(archived, len(plan.protected))


async def _survey(store: TextStore, space: SpaceSize, now: datetime, ageing: Ageing, pause: Pause) -> list[Valued]:
    """The value of every active entry of a space; of the entries themselves a page at a time is in memory."""
    found = entries_in(Selection(space.user_id, space.space), store, pause)
    return [valued(entry, now, ageing) async for some in found for entry in some]


async def _change(
    some: Sequence[Valued], change: Callable[[Entry, Scores | None], Entry | None], stores: Stores
) -> list[Entry]:
    scores = {one.id: one.fresh for one in some}
    entries = (await stores.text.get(some)).values()
    changed = await change_entries(stores.text, entries, lambda entry: change(entry, scores[entry.id]))
    await stores.remove_vectors([entry.id for entry in changed if entry.status != "active"])
    return changed


def with_scores(entry: Entry, scores: Scores | None) -> Entry | None:
    """The entry with these scores; None when it went out of use meanwhile."""
    return entry.model_copy(update={"last_scores": scores}) if entry.status == "active" else None


def put_away(entry: Entry, scores: Scores | None, *, now: datetime) -> Entry | None:
    """The entry out of use, with new scores if given; None when it is already, or somebody asked for it to be kept."""
    if entry.status != "active" or is_protected(entry):
        return None
    update = {"status": "archived", "embedding_state": "pending", "neighbour_tags": (), "updated_at": now}
    return entry.model_copy(update={**update, "last_scores": scores or entry.last_scores})


async def expire(
    *,
    stores: Stores,
    max_age: timedelta,
    limit: int = 200,
    but: Collection[str] = (),
    of: SpaceSize | None = None,
) -> int:
    """Forget entries that were last said longer ago than `max_age`, unless they are protected; how many.

    Whatever their status, those of everybody without the users `but`, or `of` one space. Nothing of their words is
    left, and nothing of those that went into a roll-up which is too old. Unlike entries that a user forgets, they may
    be said again at once.
    """
    expired, where = 0, (of.user_id, of.space) if of else None
    while aged := await stores.text.expired(before=datetime.now(UTC) - max_age, limit=limit, but=but, of=where):
        gone = [one.tombstone for one in await stores.text.forget(aged, until=None)]
        await drop_settled(gone, stores.text)
        await stores.take_back_tags(gone)
        await RollUps(stores).have_forgotten(gone, until=None)
        await stores.remove_vectors([one.id for one in gone])
        expired += len(gone)
        if len(aged) < limit:
            break
    return expired


async def own_limits(store: UserRecords) -> dict[str, OwnSettings]:
    """The settings of the users who have limits of their own, for any of their spaces."""
    found = defaultdict[str, list[Record]](list)
    async for page in pages(lambda cursor: store.page_records("limits", user_id=None, limit=_PAGE, cursor=cursor)):
        for record in (await store.get_records([mark.key._replace(kind="settings") for mark in page.records])).values():
            found[record.user_id].append(record)
    own = {user_id: OwnSettings(records) for user_id, records in found.items()}
    return {user_id: one for user_id, one in own.items() if one.decides(*LIMITS)}
