"""How well each candidate answers the query: its relevance from what both legs say, and the tri-score.

The tri-score is relevance, recency and importance, weighted and summed, after Park et al., Generative Agents
(UIST 2023); recency decays as exp(-age/tau).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contracts.v1.entries import Entry, Scores
from services.shared.lifecycle.importance import living

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DECAY = 0.5
"""What a turn's neighbour counts for, per turn of distance."""

_HALF_LIFE = 14 * 86400.0
_NEIGHBOURS_COSINE = 0.4  # measured on chat turns: 0.45 for the next turn, less for farther ones


class Candidate(NamedTuple):
    """One entry with everything the ranking may look at. None is what a leg did not say.

    Ranks start at 1. `bm25` is BM25 with the neighbours' decayed counts, `bm25_turn` of the turn alone, `coverage` the
    share of the query's inverse document frequency found there; `cosine` is the entry's, `cosine_context` that of the
    entry smoothed with its neighbours.
    """

    id: str
    lexical_rank: int | None = None
    semantic_rank: int | None = None
    rrf: float = 0.0
    bm25: float | None = None
    bm25_turn: float | None = None
    coverage: float | None = None
    cosine: float | None = None
    cosine_context: float | None = None


class Columns(NamedTuple):
    """The numbers of candidates, each of shape (n,), NaN where a leg did not say."""

    bm25: Floats
    bm25_turn: Floats
    coverage: Floats
    cosine: Floats
    cosine_context: Floats

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Columns:
        """Those of these candidates, in their order."""
        numbers = list(chain.from_iterable(candidate[4:] for candidate in candidates))
        return cls(*np.array(numbers, np.float64).reshape(-1, 5).T)

    @property
    def in_context(self) -> Floats:
        """The cosines with context, or without where there is none."""
        return np.where(np.isnan(self.cosine_context), self.cosine, self.cosine_context)


def blend(candidates: Sequence[Candidate]) -> list[float]:
    """The relevance of each candidate: the mean of a lexical and a semantic part, each 0 to 1.

    The lexical part is BM25 over the highest of the candidates, times the share of the query that the best-covered
    candidate contains; so the best of a query whose words hardly occur does not get 1. The semantic part is the
    cosine with context, cut off at 0. A part that nobody has (a leg failed or found nothing) is left out, and so is
    the semantic part of an entry without a vector; an entry that the lexical leg did not find has no shared words.

    As a threshold: with MiniLM the best candidate has 0.4 to 0.8 when the memory holds an answer, and 0.2 to 0.45 when
    the question is about something else; an ordinary candidate has about 0.25.
    """
    return blended(Columns.of(candidates)).tolist()  # type: ignore[no-any-return]


def blended(of: Columns) -> Floats:
    """`blend` of columns."""
    words = _lexical_parts(of)
    meanings = of.in_context.clip(0.0, 1.0)
    if not (words > 0).any():
        return known(meanings)
    mean: Floats = np.where(np.isnan(meanings), words, (words + meanings) / 2)
    return mean


def cosine_only(candidates: Sequence[Candidate]) -> list[float]:
    """The cosine of each candidate, cut off at 0; its lexical part where it has no vector."""
    words = _lexical_parts(Columns.of(candidates)).tolist()
    return [word if c.cosine is None else _unit_interval(c.cosine) for c, word in zip(candidates, words, strict=True)]


def fused_only(candidates: Sequence[Candidate]) -> list[float]:
    """The reciprocal rank fusion of each candidate over the highest: nothing but both legs' order."""
    highest = max((c.rrf for c in candidates), default=0.0)
    return [c.rrf / highest if highest > 0 else 0.0 for c in candidates]


def entity_blend(candidates: Sequence[Candidate], entries: Sequence[Entry], now: datetime) -> list[float]:
    """Four tenths likeness, three recency with a half-life of 14 days, three how often what it names occurs.

    The likeness is that of `cosine_only`. Of what an entry names the most frequent among the candidates counts, over
    the most frequent of all; what names nothing has 0. `entries` are those of the candidates, in the same order.
    """
    named = [{name.casefold() for name in (*entry.entity_refs, *(e.text for e in entry.entities))} for entry in entries]
    counts = Counter(name for own in named for name in own)
    most = max(counts.values(), default=1)
    often = [max((counts[name] for name in own), default=0) / most for own in named]
    recent = [recency((now - entry.last_said_at).total_seconds(), _HALF_LIFE / math.log(2)) for entry in entries]
    parts = zip(cosine_only(candidates), recent, often, strict=True)
    return [0.4 * alike + 0.3 * lately + 0.3 * frequent for alike, lately, frequent in parts]


def context_cosines(cosines: Floats) -> Floats:
    """The cosine of the query with each turn among its neighbours: with Σ 0.5^|d| · v_d over its length.

    `cosines` has shape (n, 2·reach + 1): those of the turn, in the middle, and of what was said around it by distance
    d, NaN where nothing was or nothing is known. The result has shape (n,), 0 where all is unknown.
    The length is estimated by taking any two neighbouring turns to have the cosine that they have on average, so no
    vector has to be moved.
    """
    unknown = np.isnan(cosines)
    weights = np.where(unknown, 0.0, _decays(cosines.shape[1] // 2))
    whole, squares = weights.sum(axis=1), np.einsum("nd,nd->n", weights, weights)
    lengths = np.sqrt(squares + _NEIGHBOURS_COSINE * (whole * whole - squares))
    weighted = np.einsum("nd,nd->n", weights, np.where(unknown, 0.0, cosines))
    mixed: Floats = np.divide(weighted, lengths, out=np.zeros(len(cosines)), where=lengths > 0)
    return mixed.clip(-1.0, 1.0)


@lru_cache
def _decays(reach: int) -> Floats:
    decays: Floats = DECAY ** np.abs(np.arange(-reach, reach + 1))
    return decays


def _lexical_parts(of: Columns) -> Floats:
    highest = np.fmax.reduce(of.bm25, initial=0.0)
    if not highest > 0:
        return np.zeros(len(of.bm25))
    covered = _unit_interval(float(np.fmax.reduce(of.coverage, initial=0.0)))
    parts: Floats = (known(of.bm25) / highest).clip(0.0, 1.0) * covered
    return parts


def known(values: Floats) -> Floats:
    """The values, 0 where nothing is known."""
    return np.where(np.isnan(values), 0.0, values)


def _unit_interval(value: float) -> float:
    return max(0.0, min(1.0, value))


def recency(age_seconds: float, tau_seconds: float) -> float:
    """exp(−age/τ): 1 for what was just said, 0.37 after τ. A moment in the future counts as just now.

    Raises:
        ValueError: τ is not positive.
    """
    if not tau_seconds > 0:
        raise ValueError(f"tau must be positive seconds, got {tau_seconds!r}")
    return math.exp(-max(age_seconds, 0.0) / tau_seconds)


@dataclass(frozen=True, slots=True)
class Weights:
    """alpha weighs relevance, beta recency, gamma importance; tau is the decay time of recency in seconds.

    `lives`: importance counts as it is at the moment, grown and faded, and not as it is stored.
    """

    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    tau_seconds: float = 7 * 86400.0
    lives: bool = False


class Ranked(NamedTuple):
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


def rank(
    found: Sequence[tuple[Candidate, float]], entries: Mapping[str, Entry], *, weights: Weights, now: datetime
) -> list[Ranked]:
    """The candidates, each given with its relevance, by their totals; ties go to the last said, then the smaller id."""
    asked_at, ranked = now.timestamp(), list[tuple[float, float, str, Ranked]]()
    for candidate, relevance in found:
        entry = entries[candidate.id]
        said_at = entry.last_said_at.timestamp()
        recent = recency(asked_at - said_at, weights.tau_seconds)
        important = living(entry, now).value if weights.lives else entry.importance
        total = weights.alpha * relevance + weights.beta * recent + weights.gamma * important
        ranked.append((-total, -said_at, entry.id, Ranked(candidate, relevance, recent, important, total, now)))
    ranked.sort(key=itemgetter(0, 1, 2))
    return [row[-1] for row in ranked]
