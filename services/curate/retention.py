"""Keeping a memory within its capacity and age. The log keeps what capacity trims; what is too old loses its words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contracts.ports import Crowd, Selection, TextStore, VectorStore
from contracts.v1.entries import Entry, Scores
from services.shared.core.capacity import Ageing, is_protected, trim

_PAGE = 1000
_TOGETHER = 200


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What became of one space: how many entries were archived, and how many stayed only because they are protected."""

    user_id: str
    space: str
    archived: int
    spared: int


async def make_room(
    crowd: Crowd, *, store: TextStore, vectors: VectorStore | None, cap: int, ageing: Ageing
) -> Trimmed:
    """Archive the entries of a space that score lowest until `cap` are left, or only protected ones.

    Archived entries are found no more, and stay in the store. Done twice, it changes nothing the second time.
    """
    now = datetime.now(UTC)
    entries = [entry async for entry in _active(store, crowd)]
    plan = trim(entries, cap=cap, now=now, ageing=ageing)
    await _keep_scores(store, entries, plan.rescored or {})
    archived = await store.modify(plan.victims, lambda entry: put_away(entry, now))
    if vectors is not None:
        await vectors.remove([entry.id for entry in archived])
    return Trimmed(crowd.user_id, crowd.space, len(archived), len(plan.spared))


async def _active(store: TextStore, crowd: Crowd) -> AsyncIterator[Entry]:
    selection, cursor = Selection(crowd.user_id, crowd.space), None
    while True:
        page = await store.page(selection, limit=_PAGE, cursor=cursor)
        for entry in page.entries:
            yield entry
        if page.cursor is None:
            return
        cursor = page.cursor


async def _keep_scores(store: TextStore, entries: Sequence[Entry], rescored: dict[str, Scores]) -> None:
    stale = [entry for entry in entries if entry.id in rescored]
    for start in range(0, len(stale), _TOGETHER):
        await store.modify(
            stale[start : start + _TOGETHER],
            lambda entry: with_scores(entry, rescored[entry.id]),
        )


def with_scores(entry: Entry, scores: Scores) -> Entry | None:
    """The entry with these scores; None when it went out of use meanwhile."""
    return entry.model_copy(update={"last_scores": scores}) if entry.status == "active" else None


def put_away(entry: Entry, now: datetime) -> Entry | None:
    """The entry out of use; None when it is already, or somebody asked meanwhile for it to be kept."""
    if entry.status != "active" or is_protected(entry):
        return None
    return entry.model_copy(update={"status": "archived", "embedding_state": "pending", "updated_at": now})


async def expire(*, store: TextStore, vectors: VectorStore | None, max_age: timedelta, limit: int = 200) -> int:
    """Forget what was said longer ago than `max_age`, unless it is protected; how many entries.

    Nothing of their words is left. Unlike what a user forgets, they may be said again at once.
    """
    expired = 0
    while aged := await store.aged(before=datetime.now(UTC) - max_age, limit=limit):
        gone = await store.forget(aged, until=None)
        if vectors is not None:
            await vectors.remove([one.tombstone.id for one in gone])
        expired += len(gone)
        if len(aged) < limit:
            break
    return expired
