"""Of memories that give different values of one thing, the newer first: by what is stored of them. Pure; reads no text.

Similarity cannot tell "moved to quarter past ten" from "standup is at half past nine": both are about the question.
Nothing is hidden here; the order among those that are shown anyway is another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from contracts.v1.claims import Claim, Slot
from contracts.v1.entries import Entry
from services.shared.knowledge.profile import LIKELY, SURE, kind_of

LOOKED_AT = 10
"""Memories from the best on that may go before others."""

_ALIKE = 0.3
"""Least cosine of two memories that may be about one thing: in a chat, two turns seldom share more than their topic."""

_ALIKE_OR_RELEVANT = 0.95
"""Least sum of that cosine and of the relevance of the newer one as a share of the older one's: what answers half as
well has to be very much about the same."""


def newest_first(
    entries: Sequence[Entry],
    similarity: NDArray[np.float32],
    relevance: Sequence[float],
    named: Sequence[Collection[int]] = (),
) -> list[int]:
    """The places of entries, given best first, with each that changes an older one before it, and once only.

    It goes before a better one that it conflicts with or supersedes. So it does, if it is alike and not much less
    relevant, before one of which it ended a claim, to whose slot that holds one value it gives another, or that lacks
    what it says is new. Nothing goes before what has an identifier of the question that it lacks: truck 284 before 482.
    `similarity` has shape (n, n), `relevance` and `named` (n,): which of them each entry has.
    """
    order, moved = list(range(len(entries))), set[int]()

    def goes_before(i: int, here: int) -> bool:
        newer, older = entries[i], entries[here]
        if newer.last_said_at <= older.last_said_at or (named and not set(named[here]) <= set(named[i])):
            return False
        if older.id in newer.conflicts_with or older.id in newer.supersedes:
            return True
        alike = similarity[i, here]
        makes_up = alike >= _ALIKE and relevance[i] >= (_ALIKE_OR_RELEVANT - alike) * relevance[here]
        return bool(makes_up) and (_changes(newer, older) or _gives_another(newer, older))

    for place in range(min(len(order), LOOKED_AT)):
        here = order[place]
        newer = [i for i in order[place + 1 : LOOKED_AT] if i not in moved and goes_before(i, here)]
        if newer:
            latest = max(newer, key=lambda i: entries[i].last_said_at)
            order.remove(latest)
            order.insert(place, latest)
            moved.add(latest)
    return order


def _changes(newer: Entry, older: Entry) -> bool:
    """Whether a part of what the older one says is so no longer, as the newer one says."""
    return older.superseded_by == newer.id or any(one.entry_id == older.id for one in newer.changes)


def _gives_another(newer: Entry, older: Entry) -> bool:
    """Whether it gives another value to what has one value, or says itself that a value is new; in the same voice."""
    if not newer.claims or (older.role != "assistant" and older.speaker != newer.speaker):
        return False
    said, old = older.text.casefold(), _single_values(older)
    is_other = any(old.get(key, value) != value for key, value in _single_values(newer).items())
    news = (one for one in newer.claims if one.is_new and one.confidence >= LIKELY)
    return is_other or any(_value(one, newer) not in said and _whose(one, newer) in said for one in news)


def _single_values(entry: Entry) -> dict[tuple[str, Slot], str]:
    """What an entry surely says of what has one value, by whose it is and the slot."""
    sure = (one for one in entry.claims if one.kind == "fact" and one.confidence >= SURE)
    return {(_whose(one, entry), one.slot): _value(one, entry) for one in sure if not kind_of(one.slot).holds_many}


def _value(claim: Claim, entry: Entry) -> str:
    return entry.text[slice(*claim.value)].casefold()


def _whose(claim: Claim, entry: Entry) -> str:
    return "" if claim.of_user or claim.whose is None else entry.text[slice(*claim.whose)].casefold()
