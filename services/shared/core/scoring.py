"""The tri-score: relevance, recency and importance of each candidate, weighted and summed.

After Park et al., Generative Agents (UIST 2023); recency decays as exp(-age/tau).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from contracts.v1.entries import Entry, Scores
from services.shared.core.decay import recency
from services.shared.core.relevance import Candidate


@dataclass(frozen=True, slots=True)
class Weights:
    """alpha weighs relevance, beta recency, gamma importance; tau is the decay time of recency in seconds."""

    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    tau_seconds: float = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its parts of the tri-score at a moment, and their weighted sum."""

    candidate: Candidate
    relevance: float
    recency: float
    importance: float
    total: float
    at: datetime

    @property
    def scores(self) -> Scores:
        """The scores as they are told and kept."""
        return Scores(
            relevance=self.relevance,
            recency=self.recency,
            importance=self.importance,
            total=self.total,
            computed_at=self.at,
        )


def contenders(relevances: Sequence[float], weights: Weights, size: int) -> list[int]:
    """The indices of all that can be among the `size` highest totals, whatever their recency and importance are.

    Both lie between 0 and 1, so a total lies between α·relevance and α·relevance + β + γ.
    """
    if len(relevances) <= size:
        return list(range(len(relevances)))
    least = sorted(relevances, reverse=True)[size - 1] * weights.alpha
    return [i for i, value in enumerate(relevances) if value * weights.alpha + weights.beta + weights.gamma >= least]


def rank(
    found: Sequence[tuple[Candidate, float]], entries: Mapping[str, Entry], *, weights: Weights, now: datetime
) -> list[Ranked]:
    """The candidates, each given with its relevance, by their totals; ties go to the last said, then the smaller id."""
    ranked = [_ranked(candidate, relevance, entries[candidate.id], weights, now) for candidate, relevance in found]
    return sorted(ranked, key=lambda r: (-r.total, -_time(entries, r), r.candidate.id))


def _ranked(candidate: Candidate, relevance: float, entry: Entry, weights: Weights, now: datetime) -> Ranked:
    recent = recency((now - entry.last_said_at).total_seconds(), weights.tau_seconds)
    total = weights.alpha * relevance + weights.beta * recent + weights.gamma * entry.importance
    return Ranked(candidate, relevance, recent, entry.importance, total, now)


def _time(entries: Mapping[str, Entry], ranked: Ranked) -> float:
    return entries[ranked.candidate.id].last_said_at.timestamp()
