"""Keys under which an active entry is looked up as the same statement as another: one row for each of its keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from zlib import crc32

from services.shared.core.fingerprint import MOST_SIMILAR

_KEY_BITS = 32
_KEY_MASK = (1 << _KEY_BITS) - 1

_STORED = f"""
SELECT value FROM json_each(?) AS asked WHERE EXISTS (
    SELECT 1 FROM fingerprints WHERE voice = asked.value >> {_KEY_BITS} AND key = asked.value & {_KEY_MASK})"""

_NEWEST = "SELECT number FROM fingerprints WHERE voice = ? AND key = ? ORDER BY number DESC LIMIT ?"


def keys_of(keys: Iterable[str]) -> set[int]:
    """Small numbers for keys. Different ones may share a number, so what is found must be checked."""
    return {crc32(key.encode()) for key in keys}


def pairs_of(voice: int, keys: Iterable[str]) -> set[int]:
    """A voice together with each of the keys, as one number."""
    return {voice << _KEY_BITS | key for key in keys_of(keys)}


def holders(connection: sqlite3.Connection, pairs: Iterable[int]) -> dict[int, list[int]]:
    """For each pair of voice and key that is stored, the numbers of the newest entries that have it."""
    stored = connection.execute(_STORED, (json.dumps(sorted(pairs)),)).fetchall()  # few of those asked for
    found = {}
    for (pair,) in stored:
        rows = connection.execute(_NEWEST, (pair >> _KEY_BITS, pair & _KEY_MASK, MOST_SIMILAR))
        found[pair] = [number for (number,) in rows]
    return found


class Changes:
    """Collects fingerprints to store and to take away."""

    def __init__(self) -> None:
        self._added: list[tuple[int, int, int]] = []
        self._removed: list[tuple[int, int, int]] = []

    def add(self, voice: int, number: int, keys: Iterable[int]) -> None:
        """An entry with this number is found by these keys from now on."""
        self._added += [(voice, key, number) for key in keys]

    def remove(self, voice: int, number: int, keys: Iterable[int]) -> None:
        """It is not found by these keys any more; done before all that is added."""
        self._removed += [(voice, key, number) for key in keys]

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write what was collected."""
        connection.executemany("DELETE FROM fingerprints WHERE (voice, key, number) = (?, ?, ?)", self._removed)
        connection.executemany("INSERT OR IGNORE INTO fingerprints (voice, key, number) VALUES (?, ?, ?)", self._added)
        self._removed.clear()
        self._added.clear()
