"""Which memories make room when a space holds more than it should."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from contracts.v1.entries import Entry, Scores
from services.shared.lifecycle.importance import living
from services.shared.ranking.scoring import recency

STALE = timedelta(hours=24)
"""How old a cached total may be before it is computed anew."""


@dataclass(frozen=True, slots=True)
class Ageing:
    """How a memory loses value while nobody asks for it.

    `tau_seconds` is the decay time of recency; importance, which fades to a half by itself, is also multiplied
    by `importance_kept` for every day since the entry was last said.
    """

    tau_seconds: float = 7 * 86400.0
    importance_kept: float = 1.0


@dataclass(frozen=True, slots=True)
class Valued:
    """What capacity looks at of an entry, without its text. `fresh` are scores that were computed for it just now."""

    user_id: str
    id: str
    total: float
    said_at: datetime
    protected: bool
    fresh: Scores | None


@dataclass(frozen=True, slots=True)
class Trim:
    """What capacity asks for: who goes (worst first), who is kept only because somebody asked for it though it scores
    lower than some that go, and who else stays."""

    victims: tuple[Valued, ...] = ()
    protected: tuple[Valued, ...] = ()
    kept: tuple[Valued, ...] = ()


def is_protected(entry: Entry) -> bool:
    """Whether somebody asked for it to be kept."""
    return entry.pinned or entry.manually_saved


def is_held(entry: Entry) -> bool:
    """Whether its age alone does not take it: it is protected, or stands behind a roll-up and goes with that."""
    return is_protected(entry) or entry.rolled_up_into is not None


def valued(entry: Entry, now: datetime, ageing: Ageing) -> Valued:
    """What an entry is worth to its user at this moment.

    That is the sum of relevance, recency and importance: those of its last retrieval, or with relevance 0 those of now
    where there is none or it is older than 24 hours. The total of a retrieval weighs them otherwise.
    """
    scores = scores_of(entry, now, ageing)
    fresh = None if scores is entry.last_scores else scores
    total = scores.relevance + scores.recency + scores.importance
    return Valued(entry.user_id, entry.id, total, entry.last_said_at, is_protected(entry), fresh)


def trim(entries: Sequence[Valued], *, cap: int) -> Trim:
    """Choose the entries with the lowest totals, as many as there are too many; the protected never.

    The same entries at the same moment always give the same answer; ties go to the entry that was last said earlier.
    """
    overage = len(entries) - cap
    if overage <= 0:
        return Trim()
    ranked = _ranked(entries)
    protected = tuple(one for one in ranked[:overage] if one.protected)
    victims = tuple([one for one in ranked if not one.protected][:overage])
    gone = {one.id for one in victims}
    return Trim(victims, protected, tuple(one for one in ranked if one.id not in gone))


def _ranked(entries: Sequence[Valued]) -> list[Valued]:
    """The entries, worst first. numpy sorts without the interpreter lock, which others need meanwhile."""
    ids = np.array([one.id for one in entries])
    said_at = np.fromiter((one.said_at.timestamp() for one in entries), np.float64, len(entries))
    totals = np.fromiter((one.total for one in entries), np.float64, len(entries))
    return [entries[place] for place in np.lexsort((ids, said_at, totals))]


def scores_of(entry: Entry, now: datetime, ageing: Ageing) -> Scores:
    """The cached scores while they are fresh, else those of a moment at which nobody asks."""
    known = entry.last_scores
    if known is not None and known.computed_at is not None and now - known.computed_at <= STALE:
        return known
    age = max(0.0, (now - entry.last_said_at).total_seconds())
    recent = recency(age, ageing.tau_seconds)
    important = living(entry, now).value * ageing.importance_kept ** (age / 86400.0)
    return Scores(relevance=0.0, recency=recent, importance=important, total=recent + important, computed_at=now)
