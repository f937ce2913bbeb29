"""Of memories that give different values of one thing, the newer first: by what is stored of them. Pure; reads no text.

Similarity cannot tell "moved to quarter past ten" from "standup is at half past nine": both are about the question.
Nothing is hidden here; the order among those that are shown anyway is another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from contracts.v1.claims import Claim, Slot
from contracts.v1.entries import Entry
from services.shared.knowledge.profile import LIKELY, SURE, folded, kind_of

LOOKED_AT = 10
"""Memories from the best on that may go before others."""

_ALIKE, _ALIKE_AT_ODDS = 0.2, 0.35
"""Least cosine of a memory and one that it changes, and of two at odds, which a doubt has made as well as a change."""

_ONE_THING = 0.7
"""Least cosine of two that speak of one thing, whatever is asked."""

_AS_RELEVANT, _AS_RELEVANT_NEWS = 0.3, 0.15
"""Least relevance of the newer one, as a share of the older one's; and where it says itself that this is new."""


def newest_first(
    entries: Sequence[Entry],
    similarity: NDArray[np.float32],
    relevance: Sequence[float],
    asked: Collection[str],
    named: Sequence[Collection[int]] = (),
) -> list[int]:
    """The places of entries, given best first, with each that changes an older one before it, and once only.

    If it is alike and not much less relevant, it goes before one that it conflicts with, and before one of which it
    ended a claim, or to whose slot that holds one value it gives another: if a term that is `asked` for stands in the
    sentence of that claim. Of several things that are said at once, mostly another one changed than is asked for.
    Nothing goes before what has an identifier of the question that it lacks: truck 284 before 482. `similarity` has
    shape (n, n), `relevance` and `named` (n,): which of them each entry has.
    """
    order, moved = list(range(len(entries))), set[int]()

    def goes_before(i: int, here: int) -> bool:
        newer, older = entries[i], entries[here]
        if newer.last_said_at <= older.last_said_at or (named and not set(named[here]) <= set(named[i])):
            return False
        alike = similarity[i, here]
        if alike < _ALIKE or relevance[i] < _AS_RELEVANT_NEWS * relevance[here]:
            return False
        if relevance[i] < _AS_RELEVANT * relevance[here] and not _renews(newer, older):
            return False
        if alike >= _ALIKE_AT_ODDS and older.id in newer.conflicts_with:
            return True
        outdated = [sentence.casefold() for sentence in _outdated(older, newer)]
        if alike >= _ONE_THING and (outdated or _tells_news(newer, older)):
            return True
        return any(term in sentence for sentence in outdated for term in asked)

    for place in range(min(len(order), LOOKED_AT)):
        here = order[place]
        newer = [i for i in order[place + 1 : LOOKED_AT] if i not in moved and goes_before(i, here)]
        if newer:
            latest = max(newer, key=lambda i: entries[i].last_said_at)
            order.remove(latest)
            order.insert(place, latest)
            moved.add(latest)
    return order


def _tells_news(newer: Entry, older: Entry) -> bool:
    """Whether the newer one says that a value is new, which the older one lacks."""
    said = " ".join(older.text.casefold().split())
    news = (one for one in newer.claims if one.is_new and one.confidence >= LIKELY)
    return any(_value(one, newer) not in said for one in news)


def _renews(newer: Entry, older: Entry) -> bool:
    """Whether the newer one says that something is new of which both have the one value, such as a home."""
    keys = {key for key, claim in _single_claims(newer).items() if claim.is_new}
    return not keys.isdisjoint(_single_claims(older))


def _outdated(older: Entry, newer: Entry) -> Iterator[str]:
    """The sentences of what the newer one ended in the older one, or gives another value, in the same voice."""
    sentences = {one.value: older.text[slice(*one.sentence)] for one in older.claims}
    ended = [one.value for one in newer.changes if one.entry_id == older.id]
    yield from (sentences.get(value, older.text) for value in ended)
    if older.speaker == newer.speaker:
        values = _single_values(newer)
        for key, claim in _single_claims(older).items():
            if values.get(key, (said := _value(claim, older))) != said:
                yield sentences[claim.value]


def _single_values(entry: Entry) -> dict[tuple[str, Slot], str]:
    return {key: _value(claim, entry) for key, claim in _single_claims(entry).items()}


def _single_claims(entry: Entry) -> dict[tuple[str, Slot], Claim]:
    """What an entry surely says of what has one value, by whose it is and the slot; of nobody that it does not name."""
    sure = (one for one in entry.claims if one.kind == "fact" and one.confidence >= SURE and (one.of_user or one.whose))
    return {(_whose(one, entry), one.slot): one for one in sure if not kind_of(one.slot).holds_many}


def _value(claim: Claim, entry: Entry) -> str:
    return folded(entry.text[slice(*claim.value)])


def _whose(claim: Claim, entry: Entry) -> str:
    return "" if claim.of_user or claim.whose is None else entry.text[slice(*claim.whose)].casefold()
