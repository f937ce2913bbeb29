"""What a request may see: its filters, and the last look at each entry before it goes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contracts.ports import Filters, Scope
from contracts.v1.entries import Entry, Status
from contracts.v1.retrieval import RetrieveRequest
from services.shared.lifecycle.lineage import as_of
from services.shared.lifecycle.sayings import as_there, is_said_within, told_in
from services.shared.temporal.time_spans import Span

_FARTHEST = timedelta(hours=14)
"""How far from UTC a day may begin."""


def as_asked_for(
    entries: Mapping[str, Entry], scope: Scope, filters: Filters, *, status: Status = "active"
) -> dict[str, Entry]:
    """Those of the entries of a status that may go out, as they were at the moment and in the conversation asked
    for."""
    if filters.until is not None:
        entries = {i: as_of(entry, filters.until) for i, entry in entries.items()}
    visible = {i: entry for i, entry in entries.items() if is_visible(entry, scope, filters, status=status)}
    if filters.conversation_id is None:
        return visible
    return {i: told_in(entry, filters.conversation_id) for i, entry in visible.items()}


def is_visible(entry: Entry, scope: Scope, filters: Filters, *, status: Status = "active") -> bool:
    """The last look at scope and filters, on the entry itself: whatever a leg returned, only this goes out."""
    return entry.status == status and scope.sees(entry) and (filters.empty or _passes(entry, filters))


def _passes(entry: Entry, filters: Filters) -> bool:
    return (
        (not filters.types or entry.type in filters.types)
        and (not filters.tags or not set(filters.tags).isdisjoint(entry.tags))
        and (filters.theme is None or filters.theme in entry.themes)
        and (filters.conversation_id is None or filters.conversation_id in entry.conversations)
        and (filters.since is None or entry.last_said_at >= filters.since)
        and (filters.until is None or entry.created_at <= filters.until)
    )


def filters_of(request: RetrieveRequest, now: datetime) -> Filters:
    """What the request filters by."""
    since = _days_before(now, request.recency_days) if request.recency_days is not None else None
    return Filters(
        types=request.types,
        tags=request.tags,
        theme=request.theme,
        conversation_id=request.conversation_id,
        since=since,
        until=request.now,
    )


def _days_before(now: datetime, days: float) -> datetime | None:
    """The moment so many days ago; None when that is before all time, and nothing is older."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return None


def narrowed(filters: Filters, times: Sequence[Span]) -> Filters:
    """The filters of a search for what was said within times, where there are any; in no zone, wherever it was said."""
    since = [span.since - _around(span.since) for span in times if span.since]
    until = [span.until + _around(span.until) for span in times if span.until]
    if times and len(since) == len(times):
        filters = replace(filters, since=max(filter(None, (filters.since, min(since)))))
    if times and len(until) == len(times):
        filters = replace(filters, until=min(filter(None, (filters.until, max(until)))))
    return filters


def _around(moment: datetime) -> timedelta:
    return _FARTHEST if moment.tzinfo is UTC else timedelta()


def said_within(entries: Mapping[str, Entry], times: Sequence[Span]) -> dict[str, Entry]:
    """The entries that were said within one of these times; all of them where there is none."""
    return {i: entry for i, entry in entries.items() if not times or any(_is_within(entry, one) for one in times)}


def _is_within(entry: Entry, span: Span) -> bool:
    """Of an entry that was said more often than it names, any moment between the first and the last may be one."""
    since, until = span.since, span.until
    if entry.repeat_count <= len(entry.repeated_in):
        return is_said_within(entry, since, until)
    zone = (since or until or entry.created_at).tzinfo
    first, last = (as_there(at, entry, zone) for at in (entry.created_at, entry.last_said_at))
    return (since is None or last >= since) and (until is None or first < until)
