"""What a search by words is, in whatever engine: which terms, how many candidates, and the order of the hits."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.ports import LexicalHit
from services.shared.language.analysis import Alternatives, analyze_query

_FEWEST_CANDIDATES = 100
_MOST_TERMS = 100
"""A longer query is cut: its further words cost time and change little."""

_MOST_CLAUSES = 900
"""OpenSearch takes 1,024 in a search, those of the scope and the filters among them."""


def terms_of(query: str) -> list[Alternatives]:
    """The words to look for, each by the terms that it may be stored as; of very many the likeliest of each."""
    words = analyze_query(query)[:_MOST_TERMS]
    most = max(map(len, words), default=0)
    while sum(min(len(word), most) for word in words) > _MOST_CLAUSES:
        most -= 1
    return [word[:most] for word in words]


def every_word(text: str) -> list[Alternatives]:
    """What an entry has that has every word of a text, as far as that is read: one term of each; no entry has those of
    a text without words.
    """
    return analyze_query(text)[:_MOST_CLAUSES] or [()]


def candidates(limit: int) -> int:
    """How many turns to score exactly, with those around them, when `limit` are asked for."""
    return max(_FEWEST_CANDIDATES, 2 * limit)


def ranked(hits: Iterable[tuple[LexicalHit, int]]) -> list[LexicalHit]:
    """Hits, each given with its time, best first; equal scores by time, the newest first, then by id."""
    order = sorted(hits, key=lambda found: (-found[0].score, -found[1], found[0].id))
    return [hit for hit, _ in order]
