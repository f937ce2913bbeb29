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
    """A candidate with its scores."""

    candidate: Candidate
    scores: Scores


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
    """The candidates, each given with its relevance, by their totals; ties go to the newer, then to the smaller id."""
    ranked = [
        Ranked(candidate, tri_score(relevance, entries[candidate.id], weights, now)) for candidate, relevance in found
    ]
    return sorted(ranked, key=lambda r: (-r.scores.total, -_time(entries, r), r.candidate.id))


def tri_score(relevance: float, entry: Entry, weights: Weights, now: datetime) -> Scores:
    """The scores of one entry at a moment."""
    recent = recency((now - entry.created_at).total_seconds(), weights.tau_seconds)
    total = weights.alpha * relevance + weights.beta * recent + weights.gamma * entry.importance
    return Scores(relevance=relevance, recency=recent, importance=entry.importance, total=total, computed_at=now)


def _time(entries: Mapping[str, Entry], ranked: Ranked) -> float:
    return entries[ranked.candidate.id].created_at.timestamp()
