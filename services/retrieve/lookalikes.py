"""Of statements that a user makes again and again, those that time and not likeness tells apart, brought by time.

Which of many alike a search finds is chance. Where several were found, a few more are read in the order of time: the
newest, the first where that is asked for, those of the times that are, and what was said since of the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from contracts.ports import EntryStore, Filters, Page, Scope, Selection, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.formerly import superseded_up_to
from services.retrieve.seen import Seen, pool_of
from services.retrieve.settings import RetrieveSettings
from services.retrieve.visibility import as_asked_for
from services.shared.lifecycle.sayings import is_said_within
from services.shared.ranking.features import that_tell
from services.shared.ranking.lookalikes import Alike, Wanted, alike_among, of_lineage
from services.shared.ranking.scoring import Candidate, Weights, rank

_MOST = 12
"""Entries that are read of each time."""

_SEEDS = 3
"""Memories from the best on that may have taken the place of what is asked for."""

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
    pool, wanted = seen.best[: pool_of(request)], Wanted.by(request.query, now)
    alike = alike_among(pool, request.query, now)
    if "lexical" in seen.degraded:
        return replace(seen, alike=alike)
    entries = dict[str, Entry]()
    if alike:
        brought = await _in_time(_brought_by_time(alike, wanted, scope, filters, store), settings)
        entries = as_asked_for({one.id: one for one in brought}, scope, filters)
        alike = alike.joined_by(that_tell(entries, request.query).values())
    newest = next((one for one in pool[:_SEEDS] if one.supersedes), None)
    if wanted.past and newest and (alike is None or newest in (pool[0], *alike.members)):
        former = await _in_time(superseded_up_to(newest, scope, store), settings)
        visible = as_asked_for({one.id: one for one in former}, scope, filters, status="superseded")
        out_of_use = wanted.ordered(visible.values())[: pool_of(request)]
        entries |= {one.id: one for one in out_of_use}
        alike = of_lineage(out_of_use, newest, request.query, alike)
    entries = that_tell(entries, request.query)
    return _with(alike, wanted, entries, seen, request, weights, now) if alike else seen


def _with(
    alike: Alike,
    wanted: Wanted,
    entries: Mapping[str, Entry],
    seen: Seen,
    request: RetrieveRequest,
    weights: Weights,
    now: datetime,
) -> Seen:
    """What was found, with those of the entries that are asked for among the best."""
    known = {one.candidate.id: one for one in seen.ranked}
    kept = [one for one in wanted.of(alike, entries.values()) if one.id in known or one.id in entries]
    near = min(known[one.id].relevance for one in alike.members if one.id in known)
    new = [(Candidate(one.id, len(seen.legs.lexical) + 1), near) for one in kept if one.id not in known]
    known |= {one.candidate.id: one for one in rank(new, entries, weights=weights, now=now)}
    moved = [known[one.id] for one in kept[: pool_of(request) - 1]]
    others = [one for one in seen.ranked if one not in moved]
    before = others[: pool_of(request) - len(moved)]
    ranked = [*sorted([*before, *moved], key=lambda one: -one.total), *others[len(before) :]]
    return replace(seen, ranked=ranked, entries={**seen.entries, **entries}, found=len(ranked), alike=alike)


async def _in_time(reading: Awaitable[Sequence[Entry]], settings: RetrieveSettings) -> Sequence[Entry]:
    """What is read; nothing while the text store is away or slow."""
    try:
        async with asyncio.timeout(settings.leg_timeout_seconds):
            return await reading
    except (Unavailable, TimeoutError):
        return ()


async def _brought_by_time(
    alike: Alike, wanted: Wanted, scope: Scope, filters: Filters, store: EntryStore
) -> Sequence[Entry]:
    """The entries that go with those alike."""
    given = {one.name: getattr(filters, one.name) for one in fields(filters)}
    return await _brought(alike, wanted, Selection(scope.user_id, scope.space, scope.persona_id or "", **given), store)


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
