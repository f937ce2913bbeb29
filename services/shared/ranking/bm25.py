"""BM25 of a turn, and of a turn with what was said around it. Pure arithmetic on arrays.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); a neighbour at distance d adds
its term counts times .5^|d|, which is BM25F with the neighbours as fields of falling weight.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

K1 = 1.0
B = 0.25
REACH = 4
"""How many turns before and after count as context."""

MOST = 63
"""The highest count a term of a turn, or a turn's length, is taken for. BM25 saturates long before."""

SPREAD = sum(0.5 ** abs(distance) for distance in range(-REACH, REACH + 1))
"""How much longer a turn is together with all of its context, when all turns are of one length."""

Floats = NDArray[np.float64]
Real = TypeVar("Real", np.float32, np.float64)


_OTHERS = 60
"""Entries without the term that are taken to be there as well: of five that have a word it would tell nothing else."""


def idf(total: int, having: int) -> float:
    """Inverse document frequency of a term that `having` of `total` entries contain, above 0."""
    # Not that of SQLite: findings/sqlite-fts5-common-word.sh
    return float(np.log1p((total + _OTHERS - having + 0.5) / (having + 0.5)))


def turn_scores(weight: float) -> Floats:
    """What a term of idf `weight` adds to the score of a turn that has it 0 … `MOST` times; b = 0: turns are short."""
    counts = np.arange(MOST + 1)
    scored: Floats = weight * (K1 + 1) * counts / (counts + K1)
    return scored


def context_scores(counts: Floats, weights: Floats, mean_length: float) -> tuple[Floats, Floats]:
    """The score and the coverage (0 to 1) of each turn with what was said around it.

    `counts` has the shape (terms + 1, …, n) in the order of a session: how often each term, and at last any, occurs
    in each turn. The result is of the inner turns, shape (…, n − 2·REACH). `mean_length` is of all turns.
    """
    around = decayed(counts)
    lengths, around = around[-1], around[:-1]
    scores = _score(around, lengths, weights, max(1.0, mean_length * SPREAD))
    return scores, np.minimum(1.0, weighed(np.sign(around), weights) / weights.sum())


def best(scores: Floats, limit: int) -> NDArray[np.int64]:
    """The indexes of the `limit` highest scores, and of all that equal the last of them."""
    if scores.size <= limit:
        return np.arange(scores.size)
    return np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])


def _score(counts: Floats, lengths: Floats, weights: Floats, average: float) -> Floats:
    """`counts` (terms, …) and `lengths` (…) are decayed, `average` is the mean of such lengths over all turns."""
    saturation = K1 * (1 - B + B * lengths / average)
    return weighed((K1 + 1) * counts / (counts + saturation), weights)


def weighed(values: Floats, weights: Floats) -> Floats:
    """The sum over terms, the first axis, each times its weight. Not a matrix product: BLAS would start threads."""
    total: Floats = np.einsum("t,t...->...", weights, values)
    return total


def decayed(counts: NDArray[Real]) -> NDArray[Real]:
    """What is said around each turn: shape (…, n) in the order of a session to (…, n − 2·REACH), the inner turns."""
    inner = counts.shape[-1] - 2 * REACH
    total = counts[..., REACH : REACH + inner].copy()
    for distance in range(1, REACH + 1):
        both = counts[..., REACH - distance :][..., :inner] + counts[..., REACH + distance :][..., :inner]
        both *= 0.5**distance
        total += both
    return total
