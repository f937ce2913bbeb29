"""Which memories make room when a space holds more than it should."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.v1.entries import Entry, Scores
from services.shared.core.decay import recency

STALE = timedelta(hours=24)
"""How old a cached total may be before it is computed anew."""


@dataclass(frozen=True, slots=True)
class Ageing:
    """How a memory loses value while nobody asks for it.

    `tau_seconds` is the decay time of recency; importance is multiplied by `importance_kept` for every day since the
    entry was last said: 1 keeps it for ever.
    """

    tau_seconds: float = 7 * 86400.0
    importance_kept: float = 1.0


@dataclass(frozen=True, slots=True)
class Trim:
    """What capacity asks for: the entries that go (worst first), the ids of those kept though they score lower than
    some that go, and scores to be kept by id."""

    victims: tuple[Entry, ...] = ()
    spared: tuple[Entry, ...] = ()
    rescored: dict[str, Scores] | None = None


def is_protected(entry: Entry) -> bool:
    """Whether somebody asked for it to be kept."""
    return entry.pinned or entry.manually_saved


def trim(entries: Sequence[Entry], *, cap: int, now: datetime, ageing: Ageing) -> Trim:
    """Choose the entries with the lowest totals, as many as there are too many; the protected never.

    Totals are the cached ones of the last retrieval, computed anew with relevance 0 where there are none or they are
    older than 24 hours. The same entries at the same moment always give the same answer; ties go to the entry that was
    last said earlier.
    """
    overage = len(entries) - cap
    if overage <= 0:
        return Trim()
    scores = {entry.id: scores_of(entry, now, ageing) for entry in entries}

    def value(entry: Entry) -> tuple[float, datetime, str]:
        return scores[entry.id].total, entry.last_said_at, entry.id

    would_go = heapq.nsmallest(overage, entries, key=value)
    victims = heapq.nsmallest(overage, [entry for entry in entries if not is_protected(entry)], key=value)
    rescored = {entry.id: scores[entry.id] for entry in entries if scores[entry.id] is not entry.last_scores}
    return Trim(tuple(victims), tuple(entry for entry in would_go if is_protected(entry)), rescored)


def scores_of(entry: Entry, now: datetime, ageing: Ageing) -> Scores:
    """The cached scores while they are fresh, else those of a moment at which nobody asks."""
    known = entry.last_scores
    if known is not None and known.computed_at is not None and now - known.computed_at <= STALE:
        return known
    age = max(0.0, (now - entry.last_said_at).total_seconds())
    recent = recency(age, ageing.tau_seconds)
    important = entry.importance * ageing.importance_kept ** (age / 86400.0)
    return Scores(relevance=0.0, recency=recent, importance=important, total=recent + important, computed_at=now)
