"""Of statements that a user makes again and again, those that time and not likeness tells apart, brought by time.

Which of many alike a search finds is chance. Where several were found, a few more are read in the order of time: the
newest, the first where that is asked for, those of the times that are, and what was said since of the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime

from contracts.ports import EntryStore, Filters, Scope, Selection, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.seen import Seen, pool_of
from services.retrieve.settings import RetrieveSettings
from services.retrieve.visibility import as_asked_for
from services.shared.core.features import that_tell
from services.shared.core.lookalikes import Alike, Wanted, alike_among
from services.shared.core.scoring import Candidate, Weights, rank

_MOST = 12
"""Entries that are read of each time."""

_WORDS = 4
_STEPS = 3
_AT_ONCE = 100
"""Those before the first one known that are read in one of so many steps."""


async def with_those_alike(
    seen: Seen,
    request: RetrieveRequest,
    scope: Scope,
    filters: Filters,
    now: datetime,
    store: EntryStore,
    settings: RetrieveSettings,
    weights: Weights,
) -> Seen:
    """What was found, and among the best of it, of statements alike, those that their time tells apart."""
    pool = seen.best[: pool_of(request)]
    if "lexical" in seen.degraded or (alike := alike_among(pool, request.query, now)) is None:
        return seen
    wanted = Wanted.by(request.query, now)
    brought = await _brought_by_time(alike, wanted, scope, filters, store, settings.leg_timeout_seconds)
    entries = that_tell(as_asked_for({one.id: one for one in brought}, scope, filters), request.query)
    kept = [one for one in wanted.of(alike, entries.values()) if one.id in entries or one in alike.members]
    known = {one.candidate.id: one for one in seen.ranked}
    near = [known[one.id].relevance for one in alike.members]
    new = [(Candidate(one.id, len(seen.legs.lexical) + 1), min(near)) for one in kept if one.id not in known]
    known |= {one.candidate.id: one for one in rank(new, entries, weights=weights, now=now)}
    moved = [known[one.id] for one in kept[: pool_of(request) - 1]]
    others = [one for one in seen.ranked if one not in moved]
    before = others[: pool_of(request) - len(moved)]
    ranked = [*sorted([*before, *moved], key=lambda one: -one.total), *others[len(before) :]]
    return replace(seen, ranked=ranked, entries={**seen.entries, **entries}, found=len(ranked))


async def _brought_by_time(
    alike: Alike, wanted: Wanted, scope: Scope, filters: Filters, store: EntryStore, patience: float
) -> list[Entry]:
    """The entries that go with those alike; none while the text store is away."""
    given = {one.name: getattr(filters, one.name) for one in fields(filters)}
    every = Selection(scope.user_id, scope.space, scope.persona_id or "", **given)
    try:
        async with asyncio.timeout(patience):
            return await _brought(alike, wanted, every, store)
    except (Unavailable, TimeoutError):
        return []


async def _brought(alike: Alike, wanted: Wanted, every: Selection, store: EntryStore) -> list[Entry]:
    same = replace(every, words=" ".join(alike.words))
    reading = [_page(same, store)]
    reading += [_page(replace(same, **_bounds(same, span.since, span.until)), store) for span in wanted.spans]
    if wanted.first:
        reading.append(_first(same, alike, store))
    found = [entry for part in await asyncio.gather(*reading) for entry in part if alike.has(entry)]
    newest = max((alike.newest, *found), key=lambda one: one.last_said_at)
    since = replace(every, **_bounds(every, newest.last_said_at, None))
    later = await asyncio.gather(*(_page(replace(since, words=word), store) for word in alike.asked[:_WORDS]))
    return [*found, *(entry for part in later for entry in part if alike.goes_on(entry))]


async def _page(selection: Selection, store: EntryStore) -> Sequence[Entry]:
    return (await store.page(selection, limit=_MOST, cursor=None)).entries


async def _first(same: Selection, alike: Alike, store: EntryStore) -> Sequence[Entry]:
    """The first of all, by those before the first that is known: of many that a search found, few are."""
    earliest = min(one.created_at for one in alike.members)
    for _ in range(_STEPS):
        page = await store.page(replace(same, **_bounds(same, None, earliest)), limit=_AT_ONCE, cursor=None)
        earliest = min((one.created_at for one in page.entries), default=earliest)
        if page.cursor is None:
            return page.entries[-1:]
    return ()


def _bounds(of: Selection, since: datetime | None, until: datetime | None) -> dict[str, datetime | None]:
    return {
        "since": max(filter(None, (of.since, since)), default=None),
        "until": min(filter(None, (of.until, until)), default=None),
    }
