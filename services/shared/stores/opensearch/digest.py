"""The digest of an entry: all that a search has to know of it, packed into one word of the index.

A search reads the digests of some thousand turns, and one aggregation over one field gives them several times faster
than hits with a field for each thing. Sorted as words, digests are in the order of sessions, and of time within each:

    session created_at seq length| term term=2 term |id
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.shared.core.bm25 import MOST

_LONGEST = 30_000
"""Bytes; the engine takes no word longer than 32,766. More terms go into further digests of the same entry."""

_SESSION = 16
"""Digits of the session's hash: enough to tell the sessions of one user apart."""

_BEFORE_ALL_TIME = 10**17
"""Added to times, so that none is negative. Microseconds."""


def digests(id_: str, session: str, created_at: int, seq: int, words: Sequence[str]) -> list[str]:
    """The digests of an entry: its id, the hash of its session, microseconds, order stored, analysed words."""
    when = f"{created_at + _BEFORE_ALL_TIME:015x} {seq:014x}"
    head = f"{session[:_SESSION]} {when} {min(len(words), MOST):02d}"
    room = _LONGEST - len(f"{head}|  |{id_}".encode())
    return [f"{head}|{terms}|{id_}" for terms in _packed(words, room)]


def _packed(words: Sequence[str], room: int) -> Iterator[str]:
    """Terms with their counts, each with a space on both sides, in strings of at most `room` bytes."""
    terms, size = [""], 0
    for term, count in Counter(words).items():
        packed = term if count == 1 else f"{term}={min(count, MOST)}"  # "=" is in no term
        size += len(packed.encode()) + 1
        if size > room:
            yield " ".join([*terms, ""])
            terms, size = [""], len(packed.encode()) + 1
        terms.append(packed)
    yield " ".join([*terms, ""])


@dataclass(frozen=True, slots=True)
class Digests:
    """What digests say of n entries, in the order of their sessions and of time within each."""

    ids: list[str]
    heads: list[str]
    passing: NDArray[np.bool_]
    """Which of them pass the filters of the search."""

    _terms: str
    """The terms of all digests one after the other; where those of each begin, and which entry it is of."""

    _starts: NDArray[np.int64]
    _owners: NDArray[np.int64]

    @property
    def sessions(self) -> list[str]:
        """Which session each is of."""
        return [head[:_SESSION] for head in self.heads]

    @property
    def lengths(self) -> list[int]:
        """How many words each has, at most `MOST`."""
        return [int(head[-2:]) for head in self.heads]

    def created_at(self, index: int) -> int:
        """When it was said, in microseconds since 1970."""
        return int(self.heads[index].split(" ")[1], 16) - _BEFORE_ALL_TIME

    def having(self, term: str) -> tuple[NDArray[np.int64], list[int]]:
        """Which entries have a term, and how often each."""
        once, often = _places(self._terms, f" {term} "), _places(self._terms, f" {term}=")
        counts = [int(self._terms[place + len(term) + 2 : place + len(term) + 4]) for place in often]
        digests = np.searchsorted(self._starts, np.array(once + often, np.int64), "right") - 1
        return self._owners[digests], [1] * len(once) + counts


def unpacked(passing: Sequence[str], others: Sequence[str]) -> Digests:
    """Read the digests of entries that pass the filters of a search, and of others."""
    words = sorted([*passing, *others])
    entries: dict[tuple[str, str], int] = {}
    terms: list[str] = []
    owners = np.empty(len(words), np.int64)
    for index, (head, its, id_) in enumerate(word.split("|", 2) for word in words):
        owners[index] = entries.setdefault((head, id_), len(entries))
        terms.append(its)
    sizes = np.fromiter(map(len, terms), np.int64, len(terms))
    ids, heads = [id_ for _, id_ in entries], [head for head, _ in entries]
    passes = np.ones(len(ids), np.bool_)
    if others:
        passes[owners[np.fromiter(map(frozenset(others).__contains__, words), np.bool_, len(words))]] = False
    return Digests(ids, heads, passes, "".join(terms), np.cumsum(sizes) - sizes, owners)


def _places(text: str, wanted: str) -> list[int]:
    found, place = [], text.find(wanted)
    while place >= 0:
        found.append(place)
        place = text.find(wanted, place + 1)
    return found
