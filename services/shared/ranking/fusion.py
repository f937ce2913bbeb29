"""From several rankings to one, and from the best to the best that do not repeat each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Vector

Matrix: TypeAlias = NDArray[np.float32]
"""Pairwise values, shape (n, n)."""

_TIE = 1e-9


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float] | None = None, k: float = 60.0
) -> dict[str, float]:
    """The sum of weight / (k + rank) over the rankings an id is in, best first, equal scores by id.

    Cormack, Clarke and Büttcher, SIGIR 2009, with a weight per ranking (1 where none is given). Ranks start at 1; of
    an id that a ranking repeats the first place counts.
    """
    fused: dict[str, float] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            fused[item] = fused.get(item, 0.0) + weight / (k + rank)
    best_first = sorted(sorted(fused), key=fused.__getitem__, reverse=True)
    return {item: fused[item] for item in best_first}


def maximal_marginal_relevance(
    values: Sequence[float],
    similarity: Matrix,
    *,
    lambda_: float,
    limit: int,
    shared_tags: NDArray[np.int64] | None = None,
) -> list[int]:
    """The indices of up to `limit` candidates, each the best compromise between value and novelty when it was taken.

    Carbonell and Goldstein, SIGIR 1998: the next is the one with the highest λ·value − (1−λ)·(highest similarity to
    one already taken). Values are divided by the highest, so that λ = 0.7 means the same whatever α, β, γ are: the
    best candidate is worth 0.7, a perfect copy of a taken one costs 0.3. λ = 1 is plain order by value. Of equal
    candidates the one with the fewest `shared_tags` with those taken is next, then the first.
    Takes O(n · limit) time; `similarity` and `shared_tags` have shape (n, n).
    """
    if lambda_ >= 1.0:
        return [int(i) for i in np.argsort(-np.asarray(values), kind="stable")[: max(limit, 0)]]
    worth = lambda_ * _scaled(values)
    repeats = (1.0 - lambda_) * similarity.astype(np.float64)
    nearest = np.zeros(len(worth))
    taken: list[int] = []
    for _ in range(min(limit, len(worth))):
        score = worth - nearest
        best = _first_of_the_best(score, taken, shared_tags)
        taken.append(best)
        worth[best] = -np.inf
        np.maximum(nearest, repeats[best], out=nearest)
    return taken


def pairwise_similarity(vectors: Sequence[Vector | None], tags: Sequence[Sequence[str]]) -> Matrix:
    """How alike each two of n entries are, 0 to 1: the cosine where both have a vector, else the overlap of their tags.

    `vectors` are unit vectors of one dimension or None, `tags` of the same length. Overlap is the Jaccard index, 0
    when neither has tags. The diagonal is 1.
    """
    embedded = [i for i, vector in enumerate(vectors) if vector is not None]
    similarity: Matrix = np.zeros((len(tags), len(tags)), np.float32)
    if len(embedded) < len(tags):
        shared = tag_counts(tags)
        sizes = shared.diagonal()
        union = sizes[:, None] + sizes[None, :] - shared
        np.divide(shared, union, out=similarity, where=union > 0, casting="same_kind")
    if embedded:
        stacked = np.array([vector for vector in vectors if vector is not None])
        similarity[np.ix_(embedded, embedded)] = (stacked @ stacked.T).clip(0.0, 1.0)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def tag_counts(tags: Sequence[Iterable[str]]) -> NDArray[np.int64]:
    """How many tags each two of n entries share, shape (n, n); the diagonal counts an entry's own."""
    columns: dict[str, int] = {}
    has = [{columns.setdefault(tag, len(columns)) for tag in own} for own in tags]
    incidence = np.zeros((len(has), len(columns)), dtype=np.float32)
    for row, own in enumerate(has):
        incidence[row, list(own)] = 1.0
    return (incidence @ incidence.T).astype(np.int64)


def _scaled(values: Sequence[float]) -> NDArray[np.float64]:
    worth = np.asarray(values, dtype=np.float64)
    highest = worth.max(initial=0.0)
    return worth / highest if highest > 0 else worth


def _first_of_the_best(score: NDArray[np.float64], taken: Sequence[int], shared_tags: NDArray[np.int64] | None) -> int:
    best = np.flatnonzero(score >= score.max() - _TIE)
    if len(best) == 1 or shared_tags is None:
        return int(best[0])
    return int(best[np.argmin(shared_tags[taken][:, best].sum(axis=0))])
