"""Where terms occur, kept in memory for those that were asked for lately: frequent words are asked for often."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from services.shared.stores.sqlite import postings
from services.shared.stores.sqlite.postings import BLOCK, NOWHERE, Layout, Postings

_MOST_STEPS = 64
"""So many changes are looked through to find what became of a term; it is read anew after more."""


_MOST_TERMS = 4096


class _Held(NamedTuple):
    where: Postings
    step: int
    """How many changes there had been when it was read."""


class KnownTerms:
    """The postings of terms in a few scopes that are laid out. Terms are kept as hashes: nothing of what was said."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._steps: dict[int, frozenset[int]] = {}
        self._step = 0
        self.size = 0

    def note(self, blocks: Iterable[int]) -> None:
        """Have these blocks of the layout read again, as something in them was changed."""
        self._step += 1
        self._steps[self._step] = frozenset(blocks)
        self._steps.pop(self._step - _MOST_STEPS, None)

    def clear(self) -> None:
        """Keep nothing."""
        self._held.clear()
        self.size = 0

    def read(
        self, connection: sqlite3.Connection, layout: Layout, terms: Collection[str], most: int
    ) -> dict[str, Postings]:
        """The postings of each term; terms that occur nowhere are missing. At most so many postings are kept."""
        known = {term: held for term in terms if (held := self._held.get(hash(term))) is not None}
        oldest = min((held.step for held in known.values()), default=self._step)
        blocks = self._blocks_since(oldest)
        if blocks is None:
            known, blocks = {}, frozenset()
        found = {term: held.where for term, held in known.items()}
        if outdated := [term for term, held in known.items() if held.step < self._step] if blocks else []:
            new = postings.read_blocks(connection, layout, outdated, sorted(blocks))
            found |= {term: _with_blocks(found[term], sorted(blocks), new.get(term, NOWHERE)) for term in outdated}
        if missing := [term for term in terms if term not in known]:
            read = postings.read(connection, layout, missing)
            found |= {term: _own(read.get(term, NOWHERE)) for term in missing}
        self._keep(found, most)
        return {term: where for term, where in found.items() if where.places.size}

    def _blocks_since(self, step: int) -> frozenset[int] | None:
        """The blocks that changed since; None where that is not known any more."""
        if self._step - step >= _MOST_STEPS:
            return None
        return frozenset().union(*(self._steps[later] for later in range(step + 1, self._step + 1)))

    def _keep(self, found: dict[str, Postings], most: int) -> None:
        for term, where in found.items():
            key = hash(term)
            if (before := self._held.pop(key, None)) is not None:
                self.size -= before.where.places.size
            self._held[key] = _Held(where, self._step)
            self.size += where.places.size
        while self.size > most or len(self._held) > _MOST_TERMS:
            self.size -= self._held.pop(next(iter(self._held))).where.places.size


def _own(where: Postings) -> Postings:
    """Postings that keep no more in memory than themselves."""
    return Postings(where.places.copy(), where.counts.copy())


def _with_blocks(where: Postings, blocks: list[int], new: Postings) -> Postings:
    """Postings with others in these blocks, all in the order of blocks."""
    starts = np.array(blocks) * BLOCK
    old_cuts = np.searchsorted(where.places, [starts, starts + BLOCK]).T.tolist()
    new_cuts = np.searchsorted(new.places, [starts, starts + BLOCK]).T.tolist()
    places, counts, kept = [], [], 0
    for (old_start, old_end), (start, end) in zip(old_cuts, new_cuts, strict=True):
        places += [where.places[kept:old_start], new.places[start:end]]
        counts += [where.counts[kept:old_start], new.counts[start:end]]
        kept = old_end
    return Postings(np.concatenate([*places, where.places[kept:]]), np.concatenate([*counts, where.counts[kept:]]))
