"""Keys under which an active entry is looked up as the same statement as another.

Keys are spread evenly, so a tree of them would be written all over with every batch. Instead a row holds the keys of
`_BLOCK` consecutive entries of one voice: new keys go to the last rows, and looking up reads all rows of the voice.
"""

from __future__ import annotations

import sqlite3
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_PLACE_BITS = 8
_BLOCK = 1 << _PLACE_BITS
_KEY = np.dtype("<u4")
_SIEVE_BITS = 18

_MOST_PER_KEY = 32
"""The newest so many entries of a key are looked at: templated messages share keys by the thousand."""

_APPEND = """
INSERT INTO fingerprints (voice, block, places, keys) VALUES (?, ?, ?, ?)
ON CONFLICT (voice, block) DO UPDATE SET
    places = CAST(places || excluded.places AS BLOB), keys = CAST(keys || excluded.keys AS BLOB)"""

_Row = tuple[int, int]
"""A voice, and which block of its scope's entries."""


def keys_of(exact_hash: str, bands: Iterable[str]) -> set[int]:
    """Small numbers for a hash and bands. Different ones may share a number, so what is found must be checked."""
    keys = set(map(crc32, map(str.encode, bands)))
    if exact_hash:
        keys.add(crc32(exact_hash.encode(), 1))
    return keys


def holders(connection: sqlite3.Connection, voice: int, keys: Collection[int]) -> dict[int, list[int]]:
    """For each key that is stored for a voice, the numbers of the newest entries that have it."""
    rows = connection.execute(
        "SELECT block, places, keys FROM fingerprints WHERE voice = ? ORDER BY block", (voice,)
    ).fetchall()
    if not rows or not keys:
        return {}
    stored = np.frombuffer(b"".join(row[2] for row in rows), _KEY)
    places = np.frombuffer(b"".join(row[1] for row in rows), np.uint8)
    hits = _matching(stored, np.array(sorted(keys), _KEY))
    starts = np.repeat([row[0] << _PLACE_BITS for row in rows], [len(row[1]) for row in rows])
    found: dict[int, list[int]] = defaultdict(list)
    for key, number in zip(stored[hits].tolist(), (starts[hits] + places[hits]).tolist(), strict=True):
        found[key].append(number)
    return found


def _matching(stored: NDArray[np.uint32], keys: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Where each key stands the last `_MOST_PER_KEY` times. A sieve leaves little to compare."""
    mask = np.uint32((1 << _SIEVE_BITS) - 1)
    sieve = np.zeros(1 << _SIEVE_BITS, np.bool_)
    sieve[keys & mask] = True
    hits = np.flatnonzero(sieve[stored & mask])
    hits = hits[np.isin(stored[hits], keys)]
    hits = hits[np.argsort(stored[hits], kind="stable")]
    newest = np.ones(hits.size, np.bool_)
    newest[:-_MOST_PER_KEY] = stored[hits[:-_MOST_PER_KEY]] != stored[hits[_MOST_PER_KEY:]]
    return hits[newest]


class Changes:
    """Collects fingerprints to store and to take away."""

    def __init__(self) -> None:
        self._added: dict[_Row, list[tuple[int, Collection[int]]]] = defaultdict(list)
        self._removed: dict[_Row, list[int]] = defaultdict(list)

    def add(self, voice: int, number: int, keys: Collection[int]) -> None:
        """An entry with this number is found by these keys from now on."""
        self._added[voice, number >> _PLACE_BITS].append((number & (_BLOCK - 1), keys))

    def remove(self, voice: int, number: int) -> None:
        """It is not found by any key any more; done before all that is added."""
        self._removed[voice, number >> _PLACE_BITS].append(number & (_BLOCK - 1))

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write what was collected."""
        for row, places in self._removed.items():
            _remove(connection, row, places)
        connection.executemany(_APPEND, [(*row, *_packed(added)) for row, added in self._added.items()])
        self._removed.clear()
        self._added.clear()


def _packed(added: list[tuple[int, Collection[int]]]) -> tuple[bytes, bytes]:
    places = b"".join(bytes([place]) * len(keys) for place, keys in added)
    return places, struct.pack(f"<{len(places)}I", *(key for _, keys in added for key in keys))


def _remove(connection: sqlite3.Connection, row: _Row, removed: list[int]) -> None:
    found = connection.execute("SELECT places, keys FROM fingerprints WHERE voice = ? AND block = ?", row).fetchone()
    if found is None:
        return
    places, keys = np.frombuffer(found[0], np.uint8), np.frombuffer(found[1], _KEY)
    kept = ~np.isin(places, removed)
    if kept.any():
        connection.execute(
            "UPDATE fingerprints SET places = ?, keys = ? WHERE voice = ? AND block = ?",
            (places[kept].tobytes(), keys[kept].tobytes(), *row),
        )
    else:
        connection.execute("DELETE FROM fingerprints WHERE voice = ? AND block = ?", row)
