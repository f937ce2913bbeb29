"""Keys under which an active entry is looked up as the same statement as another: one row for each of its keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from zlib import crc32

from contracts.v1.entries import Entry
from services.shared.stores.sqlite.keys import NUMBER_BITS, chunks, marks

_MOST_PER_KEY = 32
"""The newest so many entries of a key are looked at: templated messages share keys by the thousand."""

_NEWEST = "SELECT number FROM fingerprints WHERE voice = ? AND key = ? ORDER BY number DESC LIMIT ?"


def keys_of(keys: Iterable[str]) -> set[int]:
    """Small numbers for keys. Different ones may share a number, so what is found must be checked."""
    return {crc32(key.encode()) for key in keys}


def holders(connection: sqlite3.Connection, voice: int, keys: Iterable[int]) -> dict[int, list[int]]:
    """For each key that is stored for a voice, the numbers of the newest entries that have it."""
    found: dict[int, list[int]] = {}
    for key in keys:
        rows = connection.execute(_NEWEST, (voice, key, _MOST_PER_KEY)).fetchall()
        if rows:
            found[key] = [number for (number,) in rows]
    return found


def alike(connection: sqlite3.Connection, scope: int, voice: int, keys: Iterable[str]) -> set[str]:
    """The ids of the entries of this voice that have one of the keys. The table holds hashes of keys, which collide."""
    wanted = frozenset(keys)
    numbers = {number for found in holders(connection, voice, keys_of(wanted)).values() for number in found}
    found: set[str] = set()
    for chunk in chunks(scope << NUMBER_BITS | number for number in numbers):
        rows = connection.execute(f"SELECT body FROM entries WHERE doc IN ({marks(chunk)})", chunk)
        entries = (Entry.model_validate_json(body) for (body,) in rows)
        found |= {entry.id for entry in entries if not wanted.isdisjoint(entry.fingerprint_keys)}
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
