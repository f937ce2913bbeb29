"""Keys under which an active entry is looked up as the same statement as another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from zlib import crc32

Row = tuple[int, int, int]
"""voice, key, number."""


def keys_of(exact_hash: str, bands: Iterable[str]) -> set[int]:
    """Small numbers for a hash and bands. Different ones may share a number, so what is found must be checked."""
    keys = set(map(crc32, map(str.encode, bands)))
    if exact_hash:
        keys.add(crc32(exact_hash.encode(), 1))
    return keys


class Changes:
    """Collects fingerprints to store and to take away."""

    def __init__(self) -> None:
        self._added: list[Row] = []
        self._removed: list[Row] = []

    def add(self, voice: int, number: int, keys: Iterable[int]) -> None:
        """An entry with this number is found by these keys from now on."""
        self._added += [(voice, key, number) for key in keys]

    def remove(self, voice: int, number: int, keys: Iterable[int]) -> None:
        """It is not found by these keys any more; done before all that is added."""
        self._removed += [(voice, key, number) for key in keys]

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write what was collected, in the order of the table."""
        connection.executemany("DELETE FROM fingerprints WHERE voice = ? AND key = ? AND number = ?", self._removed)
        self._added.sort()
        connection.executemany("INSERT INTO fingerprints (voice, key, number) VALUES (?, ?, ?)", self._added)
        self._removed.clear()
        self._added.clear()
