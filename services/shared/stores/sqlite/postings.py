"""The inverted index: for each term of a scope, in which entries it occurs and how often.

A row holds a term's postings among `BLOCK` consecutive entries of a scope, two bytes each: the entry's place in the
block in the upper ten bits, how often the term occurs (at most 63) in the lower six. Rows of one block lie together,
so a batch of new entries writes few pages, and a query reads one row per term and block.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.shared.ranking import bm25
from services.shared.stores.sqlite.keys import NUMBER_BITS, NUMBER_MASK, chunks, in_one_row

_PLACE_BITS = 10
_COUNT_BITS = 6
BLOCK = 1 << _PLACE_BITS
MOST = bm25.MOST
assert MOST < 1 << _COUNT_BITS

_CODE = np.dtype("<u2")

_Block = tuple[int, int]
"""A scope, and which of its blocks."""

_APPEND = """
INSERT INTO postings (scope, block, term, codes) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, block, term) DO UPDATE SET codes = CAST(codes || excluded.codes AS BLOB)"""

# Terms are bound one by one: in a JSON text SQLite ends them at a NUL.
_READ = """
WITH asked (key, term) AS (VALUES {terms})
SELECT group_concat(asked.key || ',' || scope || ',' || block || ',' || length(codes)),
    CAST(group_concat(codes, '') AS BLOB)
FROM asked CROSS JOIN json_each(?) AS here CROSS JOIN postings """
_IN_SCOPES = f"{_READ} INDEXED BY postings_by_term ON scope = here.value AND postings.term = asked.term"
_IN_BLOCKS = f"""{_READ} ON scope = here.value >> {NUMBER_BITS}
    AND block = (here.value & {NUMBER_MASK}) >> {_PLACE_BITS} AND postings.term = asked.term"""

_FREQUENCIES = f"""
SELECT json_group_object(term, docs) FROM (
    SELECT term, sum(length(codes)) / {_CODE.itemsize} AS docs FROM json_each(?) AS asked
        CROSS JOIN postings INDEXED BY postings_by_term ON scope = ? AND term = asked.value
    GROUP BY asked.key)"""


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term occurs: `places` in the layout that was read (ascending within a block), and how often."""

    places: NDArray[np.int64]
    counts: NDArray[np.uint16]


NOWHERE = Postings(np.empty(0, np.int64), np.empty(0, np.uint16))


class Layout:
    """Lays the entries of a few scopes out in one row: place 0 to `size` - 1 stand for documents."""

    def __init__(self, scopes: Sequence[tuple[int, int]]) -> None:
        """Take (scope, last number given) pairs."""
        self.size = 0
        self.starts: dict[int, int] = {}
        self.blocks: dict[int, int] = {}
        for scope, numbered in scopes:
            self.starts[scope] = self.size
            self.blocks[scope] = (numbered >> _PLACE_BITS) + 1
            self.size += self.blocks[scope] << _PLACE_BITS

    def places(self, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of documents, all of these scopes."""
        found = docs & NUMBER_MASK
        for scope, start in self.starts.items():
            found[docs >> NUMBER_BITS == scope] += start
        return found

    def docs(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The documents at places."""
        found = np.empty_like(places)
        for scope, start in self.starts.items():
            here = places >= start
            found[here] = (places[here] - start) + (scope << NUMBER_BITS)
        return found


def read(connection: sqlite3.Connection, layout: Layout, terms: Iterable[str]) -> dict[str, Postings]:
    """The postings of each term; terms that occur nowhere are missing."""
    return _read(connection, layout, terms, _IN_SCOPES, list(layout.starts))


def read_blocks(
    connection: sqlite3.Connection, layout: Layout, terms: Iterable[str], blocks: Sequence[int]
) -> dict[str, Postings]:
    """The postings of each term in these blocks of the layout, counted from its start."""
    return _read(connection, layout, terms, _IN_BLOCKS, layout.docs(np.array(blocks, np.int64) * BLOCK).tolist())


def _read(
    connection: sqlite3.Connection, layout: Layout, terms: Iterable[str], query: str, where: Sequence[int]
) -> dict[str, Postings]:
    found: dict[str, Postings] = {}
    for chunk in chunks(terms):
        asked = query.format(terms=",".join(f"({key},?)" for key in range(len(chunk))))
        heads, codes = connection.execute(asked, (*chunk, json.dumps(where))).fetchone()
        found |= _decoded(layout, chunk, heads, codes) if heads is not None else {}
    return found


def _decoded(layout: Layout, terms: Sequence[str], heads: str, codes: bytes) -> dict[str, Postings]:
    keys, scopes, blocks, sizes = np.fromstring(heads, np.int64, sep=",").reshape(-1, 4).T
    sizes = sizes // _CODE.itemsize
    packed = np.frombuffer(codes, _CODE)
    starts = layout.places((scopes << NUMBER_BITS) + (blocks << _PLACE_BITS))
    places, counts = (packed >> _COUNT_BITS) + np.repeat(starts, sizes), packed & np.uint16(MOST)
    ends = np.cumsum(np.bincount(keys, sizes, len(terms)).astype(np.int64)).tolist()
    parts = zip(terms, [0, *ends], ends, strict=False)
    return {term: Postings(places[start:end], counts[start:end]) for term, start, end in parts if end > start}


def merged(terms: Sequence[Postings]) -> Postings:
    """Where any of the terms occurs, and how often all of them together."""
    if len(terms) < 2:
        return terms[0] if terms else NOWHERE
    places, index = np.unique(np.concatenate([term.places for term in terms]), return_inverse=True)
    counts = np.bincount(index, np.concatenate([term.counts for term in terms])).astype(np.uint16)
    return Postings(places, np.minimum(counts, np.uint16(MOST)))


def frequencies(connection: sqlite3.Connection, scopes: Sequence[int], terms: Sequence[str]) -> dict[str, int]:
    """In how many documents of the scopes each term occurs; terms that occur nowhere are missing."""
    asked, found = json.dumps(list(dict.fromkeys(terms))), Counter[str]()
    for scope in scopes:
        found.update(in_one_row(connection, _FREQUENCIES, (asked, scope)))
    return dict(found)


def having(layout: Layout, found: Mapping[str, Postings], groups: Iterable[Iterable[str]]) -> NDArray[np.bool_]:
    """By place: whether it has at least one term of every group. `found` is what `read` gave."""
    passing = np.ones(layout.size, np.bool_)
    for group in groups:
        one_of = np.zeros(layout.size, np.bool_)
        for term in group:
            one_of[found.get(term, NOWHERE).places] = True
        passing &= one_of
    return passing


class Changes:
    """Collects changes to the postings of many entries, and carries them out row by row."""

    def __init__(self) -> None:
        self._added: dict[_Block, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._removed: dict[_Block, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))

    def add(self, doc: int, terms: Mapping[str, int]) -> None:
        """A document has these terms from now on, each so many times."""
        block, place = _position(doc)
        added = self._added[block]
        for term, count in terms.items():
            added[term].append(place << _COUNT_BITS | (count if count < MOST else MOST))

    def remove(self, doc: int, terms: Iterable[str]) -> None:
        """A document does not have these terms any more, or not as often; done before all that is added."""
        block, place = _position(doc)
        removed = self._removed[block]
        for term in terms:
            removed[term].append(place)

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write what was collected, in the order of the table."""
        for block in sorted(self._removed):
            for term, places in sorted(self._removed[block].items()):
                _remove(connection, (*block, term), places)
        for block in sorted(self._added):
            rows = [(*block, term, _packed(codes)) for term, codes in sorted(self._added[block].items())]
            connection.executemany(_APPEND, rows)
        self._removed.clear()
        self._added.clear()


def _packed(codes: list[int]) -> bytes:
    return struct.pack(f"<{len(codes)}H", *codes)


def _position(doc: int) -> tuple[_Block, int]:
    number = doc & NUMBER_MASK
    return (doc >> NUMBER_BITS, number >> _PLACE_BITS), number & (BLOCK - 1)


def _remove(connection: sqlite3.Connection, key: tuple[int, int, str], places: list[int]) -> None:
    row = connection.execute("SELECT codes FROM postings WHERE scope = ? AND block = ? AND term = ?", key).fetchone()
    if row is None:
        return
    codes = np.frombuffer(row[0], _CODE)
    kept = codes[~np.isin(codes >> _COUNT_BITS, places)].tobytes()
    if kept:
        connection.execute("UPDATE postings SET codes = ? WHERE scope = ? AND block = ? AND term = ?", (kept, *key))
    else:
        connection.execute("DELETE FROM postings WHERE scope = ? AND block = ? AND term = ?", key)
