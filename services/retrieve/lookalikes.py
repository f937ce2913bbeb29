"""Of statements that a user makes again and again, those that time and not likeness tells apart, brought by time.

Which of many alike a search finds is chance. Where several were found, a few more are read in the order of time: the
newest, the first where that is asked for, those of the times that are, and what was said since of the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from contracts.ports import EntryStore, Filters, Page, Scope, Selection, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.seen import Seen, pool_of
from services.retrieve.settings import RetrieveSettings
from services.retrieve.visibility import as_asked_for
from services.shared.core.features import that_tell
from services.shared.core.lookalikes import Alike, Wanted, alike_among
from services.shared.core.sayings import is_said_within
from services.shared.core.scoring import Candidate, Weights, rank

_MOST = 12
"""Entries that are read of each time."""

_WORDS = 4
_MOST_LEAPS = 24
_LEAST_LEAP = timedelta(days=4)


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
    times = [same, *(_between(same, span.since, span.until) for span in wanted.spans)]
    pages = await asyncio.gather(*(_page(one, store) for one in times))
    first = [await _first(one, alike, store) for one in times[-1:] if wanted.first]
    found = [entry for part in (*(page.entries for page in pages), *first) for entry in part if alike.has(entry)]
    newest = max((alike.newest, *found), key=lambda one: one.last_said_at)
    since = _between(every, newest.last_said_at, None)
    later = await asyncio.gather(*(_page(replace(since, words=word), store) for word in alike.asked[:_WORDS]))
    return [*found, *(entry for page in later for entry in page.entries if alike.goes_on(entry))]


async def _page(selection: Selection, store: EntryStore) -> Page:
    return await store.page(selection, limit=_MOST, cursor=None)


async def _first(same: Selection, alike: Alike, store: EntryStore) -> Sequence[Entry]:
    """The first of all, looked for by leaps back from the first that is known, longer ones while some are before."""
    known = [one.created_at for one in alike.members if is_said_within(one, same.since, same.until)]
    until, leap = min(known, default=same.until), _LEAST_LEAP
    page = await _page(replace(same, until=until), store)
    for _ in range(_MOST_LEAPS):
        if page.cursor is None:
            return page.entries
        before = _before(until or page.entries[-1].created_at, leap)
        earlier = await _page(replace(same, until=before), store)
        if earlier.entries:
            page, until, leap = earlier, before, 2 * leap
        else:
            leap /= 4
    return ()


def _before(moment: datetime, leap: timedelta) -> datetime:
    try:
        return moment - leap
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _between(of: Selection, since: datetime | None, until: datetime | None) -> Selection:
    since, until = (
        max(filter(None, (of.since, since)), default=None),
        min(filter(None, (of.until, until)), default=None),
    )
    return replace(of, since=since, until=until)
