"""Typing errors in a question, told by the words of the memory that is asked."""

from __future__ import annotations

import asyncio
from itertools import chain

from contracts.ports import LexicalIndex, Scope, TextRefused, TokenCounter, Unavailable
from services.shared.language.analysis import stems
from services.shared.language.spelling import other_spellings
from services.shared.language.typing_errors import correctable, is_likely, meant_by, respelled, variants

_MOST = 3
"""Words of a question that are corrected: a question full of unknown words is about something else."""

_PATIENCE = 0.1


async def find_corrections(query: str, scope: Scope, index: LexicalIndex, counter: TokenCounter) -> dict[str, str]:
    """By unknown word the one closest to it that the scope's entries have.

    Of several it is one of the likely ones, and of these the one that most entries have. Words without any are missing.
    A word that is often written says what it says, and is only looked for in its other spelling.
    """
    told = correctable(query)
    often = {word: other_spellings(word) for word in told if _is_word(word, counter)}
    words = {word: terms for word, terms in told.items() if often.get(word, True)}
    if not words:
        return {}
    known = await index.frequencies(scope, list(chain.from_iterable(words.values())))
    unknown = [word for word, terms in words.items() if known.keys().isdisjoint(terms)][:_MOST]
    near = {word: meant_by(word, often.get(word) or variants(word), query) for word in unknown}
    if not near:
        return {}
    terms = {word: stems(its, query) for word, its in near.items()}
    having = await index.frequencies(scope, list(chain.from_iterable(terms.values())))
    best = {}
    for word, its in near.items():
        found = [(other, having[term]) for other, term in zip(its, terms[word], strict=True) if term in having]
        if found:
            best[word] = min(found, key=lambda one: (not is_likely(word, one[0]), -one[1], one[0]))[0]
    return best


async def as_the_model_reads_it(query: str, corrections: asyncio.Task[dict[str, str]]) -> str:
    """The query with its corrections; where these do not come or come late, it is the query as it is."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return respelled(query, await asyncio.shield(corrections))
    except (Unavailable, TextRefused, TimeoutError):
        return query


def _is_word(word: str, counter: TokenCounter) -> bool:
    """Whether one token spells it, in lower case or as a name: so it is with words that are often written."""
    return counter.count(f" {word}") == 1 or counter.count(f" {word.capitalize()}") == 1
