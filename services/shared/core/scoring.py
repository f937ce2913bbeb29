"""The tri-score: relevance, recency and importance of each candidate, weighted and summed.

After Park et al., Generative Agents (UIST 2023); recency decays as exp(-age/tau).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contracts.v1.entries import Entry, Scores
from services.shared.core.decay import recency
from services.shared.core.relevance import Candidate, blend, cosine_only


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


def rank(
    candidates: Sequence[Candidate],
    entries: Mapping[str, Entry],
    *,
    weights: Weights,
    relevance: Literal["blend", "cosine"],
    now: datetime,
) -> list[Ranked]:
    """All candidates, the highest total first; ties go to the newer, then to the smaller id."""
    relevances = (blend if relevance == "blend" else cosine_only)(candidates)
    ranked = [
        Ranked(candidate, tri_score(value, entries[candidate.id], weights, now))
        for candidate, value in zip(candidates, relevances, strict=True)
    ]
    return sorted(ranked, key=lambda r: (-r.scores.total, -_time(entries, r), r.candidate.id))


def tri_score(relevance: float, entry: Entry, weights: Weights, now: datetime) -> Scores:
    """The scores of one entry at a moment."""
    recent = recency((now - entry.created_at).total_seconds(), weights.tau_seconds)
    total = weights.alpha * relevance + weights.beta * recent + weights.gamma * entry.importance
    return Scores(relevance=relevance, recency=recent, importance=entry.importance, total=total, computed_at=now)


def _time(entries: Mapping[str, Entry], ranked: Ranked) -> float:
    return entries[ranked.candidate.id].created_at.timestamp()
