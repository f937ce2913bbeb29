"""What a question found in a space of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.legs import Legs
from services.shared.ranking.lookalikes import Alike
from services.shared.ranking.scoring import Ranked

_POOL = 1.5  # how many times the limit is diversified over
_LEAST_POOL = 18
"""Memories that are diversified over at least: what tells of a change goes first, however few are asked for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a question found in a space, ranked, with all that choosing among it takes."""

    legs: Legs
    ranked: Sequence[Ranked]
    entries: Mapping[str, Entry]
    found: int
    degraded: tuple[str, ...]
    former: Mapping[str, Sequence[Entry]]
    alike: Alike | None = None
    """Statements alike among the best, with what was brought of them by their time."""

    @property
    def best(self) -> list[Entry]:
        """The entries in the order of the ranking."""
        return [self.entries[ranked.candidate.id] for ranked in self.ranked]


def pool_of(request: RetrieveRequest) -> int:
    """How many memories are diversified over."""
    return max(_LEAST_POOL, round(request.limit * _POOL))


def joined(parts: Sequence[Seen]) -> Seen:
    """What was found in several spaces, ranked as one."""
    if len(parts) == 1:
        return parts[0]
    return Seen(
        parts[0].legs,
        sorted(chain.from_iterable(part.ranked for part in parts), key=lambda item: -item.total),
        dict(chain.from_iterable(part.entries.items() for part in parts)),
        sum(part.found for part in parts),
        tuple(dict.fromkeys(chain.from_iterable(part.degraded for part in parts))),
        parts[0].former,
        parts[0].alike,
    )
