"""Typing errors in a question, told by the words of the memory that is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain

from contracts.ports import LexicalIndex, Scope, TokenCounter
from services.shared.core.analysis import stems
from services.shared.core.typing_errors import correctable, respelled, variants

_MOST = 3
"""Words of a question that are corrected: a question full of unknown words is about something else."""

_PATIENCE = 0.1


async def find_corrections(query: str, scope: Scope, index: LexicalIndex) -> dict[str, str]:
    """By word of the query that the scope's entries do not have, the one closest to it that they have.

    Of several it is the one that most entries have. Words without any are missing.
    """
    words = correctable(query)
    known = await index.frequencies(scope, list(chain.from_iterable(words.values())))
    unknown = [word for word, terms in words.items() if known.keys().isdisjoint(terms)][:_MOST]
    return await _nearest(unknown, query, scope, index) if unknown else {}


async def as_the_model_reads_it(query: str, corrections: asyncio.Task[dict[str, str]], counter: TokenCounter) -> str:
    """The query with the corrections of words that are none: a model knows what a word means that the memory lacks.

    Where every word is one, and where the corrections do not come or come late, it is the query as it is.
    """
    if all(_is_word(word, counter) for word in correctable(query)):
        return query
    await asyncio.wait({corrections}, timeout=_PATIENCE)
    if not corrections.done() or corrections.cancelled() or corrections.exception() is not None:
        return query
    found: Mapping[str, str] = corrections.result()
    return respelled(query, {word: meant for word, meant in found.items() if not _is_word(word, counter)})


def _is_word(word: str, counter: TokenCounter) -> bool:
    """Whether one token spells it, in lower case or as a name: so it is with words that are often written."""
    return counter.count(f" {word}") == 1 or counter.count(f" {word.capitalize()}") == 1


async def _nearest(words: Sequence[str], query: str, scope: Scope, index: LexicalIndex) -> dict[str, str]:
    near = {word: list(variants(word)) for word in words}
    terms = {word: stems(its, query) for word, its in near.items()}
    having = await index.frequencies(scope, list(chain.from_iterable(terms.values())))
    best = {}
    for word, its in near.items():
        if there := [(-having[term], other) for other, term in zip(its, terms[word], strict=True) if term in having]:
            best[word] = min(there)[1]
    return best
