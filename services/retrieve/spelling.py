"""Typing errors in a question, told by the words of the memory that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from contracts.ports import LexicalIndex, Scope
from services.shared.core.analysis import stems
from services.shared.core.typing_errors import correctable, variants

_MOST = 3
"""Words of a question that are corrected: a question full of unknown words is about something else."""


async def find_corrections(query: str, scope: Scope, index: LexicalIndex) -> dict[str, str]:
    """By word of the query that the scope's entries do not have, the one closest to it that they have.

    Of several it is the one that most entries have. Words without any are missing.
    """
    words = correctable(query)
    known = await index.frequencies(scope, list(chain.from_iterable(words.values())))
    unknown = [word for word, terms in words.items() if known.keys().isdisjoint(terms)][:_MOST]
    return await _nearest(unknown, query, scope, index) if unknown else {}


async def _nearest(words: Sequence[str], query: str, scope: Scope, index: LexicalIndex) -> dict[str, str]:
    near = {word: list(variants(word)) for word in words}
    terms = {word: stems(its, query) for word, its in near.items()}
    having = await index.frequencies(scope, list(chain.from_iterable(terms.values())))
    best = {}
    for word, its in near.items():
        if there := [(-having[term], other) for other, term in zip(its, terms[word], strict=True) if term in having]:
            best[word] = min(there)[1]
    return best
