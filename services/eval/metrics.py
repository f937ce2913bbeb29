"""How good a ranking is, judged by the sources that answer its question. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found for a question, best first: each item names the sources that it stands for.

    `evidence` are the sources that answer, `stale` those with a value that changed later; `sessions` tells in which
    session each source is. The context had `tokens` of at most `budget`; `foreign` items were of another user.
    """

    found: Sequence[Collection[str]]
    evidence: frozenset[str]
    stale: frozenset[str] = frozenset()
    sessions: Mapping[str, str] = field(default_factory=dict)
    tokens: int = 0
    budget: int = 0
    foreign: int = 0

    def recall(self, k: int) -> float:
        """The share of the evidence among the first k."""
        return len(self.evidence & self._sources(k)) / len(self.evidence)

    def hit(self, k: int) -> float:
        """1 when any evidence is among the first k."""
        return float(not self.evidence.isdisjoint(self._sources(k)))

    def all(self, k: int) -> float:
        """1 when all evidence is among the first k."""
        return float(self.evidence <= self._sources(k))

    def precision(self, k: int) -> float:
        """The share of evidence in what was returned, at most k; 0 when nothing was."""
        first = self.found[:k]
        return sum(not self.evidence.isdisjoint(item) for item in first) / len(first) if first else 0.0

    def reciprocal_rank(self) -> float:
        """1 / the rank of the first evidence; 0 when none was found."""
        rank = self._first_of(self.evidence)
        return 1 / rank if rank else 0.0

    def ndcg(self, k: int) -> float:
        """The discounted gain over the highest possible: Järvelin and Kekäläinen, as LongMemEval computes it.

        Each evidence is worth 1 at the first two ranks and 1 / log2(rank) further down.
        """
        ranks = {self._first_of(frozenset({source})) for source in self.evidence}
        gained = sum(_worth(rank) for rank in ranks if rank is not None and rank <= k)
        return gained / sum(_worth(rank) for rank in range(1, min(k, len(self.evidence)) + 1))

    def session_hit(self, k: int) -> float:
        """1 when anything among the first k was said in a session that holds evidence."""
        answering = {self.sessions[source] for source in self.evidence}
        return float(not answering.isdisjoint(self.sessions[source] for source in self._sources(k)))

    def new_above_old(self) -> float:
        """1 when evidence was found, and above all that is stale."""
        new, old = self._first_of(self.evidence), self._first_of(self.stale)
        return float(new is not None and (old is None or new < old))

    def _sources(self, k: int) -> set[str]:
        return {source for item in self.found[:k] for source in item}

    def _first_of(self, wanted: frozenset[str]) -> int | None:
        ranks = (rank for rank, item in enumerate(self.found, start=1) if not wanted.isdisjoint(item))
        return next(ranks, None)


def _worth(rank: int) -> float:
    return 1 / math.log2(max(rank, 2))


_METRICS: dict[str, Callable[[Judged], float]] = {
    **{f"hit@{k}": partial(Judged.hit, k=k) for k in (1, 3, 5, 10, 20)},
    **{f"all@{k}": partial(Judged.all, k=k) for k in (5, 10)},
    **{f"recall@{k}": partial(Judged.recall, k=k) for k in (1, 5, 10, 20)},
    "precision@5": partial(Judged.precision, k=5),
    "mrr": Judged.reciprocal_rank,
    **{f"ndcg@{k}": partial(Judged.ndcg, k=k) for k in (5, 10)},
    "session_hit@10": partial(Judged.session_hit, k=10),
    "refused": lambda judged: float(not judged.found),
}
DEEPEST = 20
"""How many items the deepest metric looks at."""


def means(judged: Sequence[Judged]) -> dict[str, float]:
    """Each metric averaged over the questions that have evidence; none when none has.

    `refused` is the share of them that got no item, `silent` that of the questions without evidence, `new_above_old` is
    of those with stale sources. Of all questions are `tokens`, the mean size of the context, `within_budget`, the share
    of contexts that kept to their budget, and `cross_user`, how many items of other users were returned.
    """
    answerable = [one for one in judged if one.evidence]
    changed = [one for one in answerable if one.stale]
    unanswerable = [one for one in judged if not one.evidence]
    found = {name: fmean(map(metric, answerable)) for name, metric in _METRICS.items() if answerable}
    if changed:
        found["new_above_old"] = fmean(one.new_above_old() for one in changed)
    if unanswerable:
        found["silent"] = fmean(not one.found for one in unanswerable)
    if judged:
        found["tokens"] = fmean(one.tokens for one in judged)
        found["within_budget"] = fmean(one.tokens <= one.budget for one in judged)
        found["cross_user"] = sum(one.foreign for one in judged)
    return found
