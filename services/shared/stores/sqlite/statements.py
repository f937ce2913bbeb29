"""By what an active entry is looked up as the same statement as another: its statement key, and what near-copies share.

A statement key is there once for each voice (scope, role, speaker): the primary key sees to it. Texts may share a key
and state different things all the same, by a capital or a citation; who has compared them gives the next one another
`variant`.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from hashlib import blake2b
from zlib import crc32

from services.shared.dedup.fingerprint import MOST_SIMILAR, nearness
from services.shared.stores.sqlite.keys import chunks

_ADD = """
INSERT INTO statements (voice, key, variant, number)
SELECT ?1, ?2, coalesce(max(variant) + 1, 0), ?3 FROM statements WHERE voice = ?1 AND key = ?2"""

_MOST_SHARING = 64
"""Entries that share one key, the newest, of which those are sought that share most keys."""

_NEWEST = "SELECT number FROM fingerprints WHERE voice = ? AND key = ? ORDER BY number DESC LIMIT ?"

Statement = tuple[int, int]
"""A voice, and the number of a statement key."""


def statement_number(key: str) -> int:
    """The number under which a statement key is stored."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big", signed=True)


def holders(connection: sqlite3.Connection, statements: Collection[Statement]) -> dict[Statement, list[int]]:
    """For each statement that is stored the numbers of the entries that make it."""
    found: dict[Statement, list[int]] = defaultdict(list)
    for chunk in chunks(statements):
        pairs = ",".join(["(?, ?)"] * len(chunk))
        rows = connection.execute(
            f"SELECT voice, key, number FROM statements WHERE (voice, key) IN (VALUES {pairs}) ORDER BY number",
            [part for statement in chunk for part in statement],
        )
        for voice, key, number in rows:
            found[voice, key].append(number)
    return found


def nearest(connection: sqlite3.Connection, voice: int, keys: Iterable[str]) -> list[int]:
    """The numbers of the few entries of a voice that share most of these keys, of equals the newest."""
    shared: Counter[int] = Counter()
    for key in keys:
        for (number,) in connection.execute(_NEWEST, (voice, crc32(key.encode()), _MOST_SHARING)):
            shared[number] += nearness(key)
    return sorted(shared, key=lambda number: (shared[number], number), reverse=True)[:MOST_SIMILAR]


def keys_of(keys: Iterable[str]) -> set[int]:
    """Small numbers for keys of near-copies. Different ones may share a number: what is found is compared."""
    return {crc32(key.encode()) for key in keys}


class Changes:
    """Collects what to store and to take away; all that is taken away goes first."""

    def __init__(self) -> None:
        self._added: list[tuple[int, int, int]] = []
        self._removed: list[tuple[int, int, int]] = []
        self._near_added: list[tuple[int, int, int]] = []
        self._near_removed: list[tuple[int, int, int]] = []

    def add(self, voice: int, number: int, statement: str, near: Iterable[str]) -> None:
        """An entry with this number is found by these keys from now on."""
        self._added += [(voice, statement_number(statement), number)] if statement else []
        self._near_added += [(voice, key, number) for key in keys_of(near)]

    def remove(self, voice: int, number: int, statement: str, near: Iterable[str]) -> None:
        """It is not found by these keys any more."""
        self._removed += [(voice, statement_number(statement), number)] if statement else []
        self._near_removed += [(voice, key, number) for key in keys_of(near)]

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write what was collected."""
        connection.executemany("DELETE FROM statements WHERE voice = ? AND key = ? AND number = ?", self._removed)
        connection.executemany("DELETE FROM fingerprints WHERE (voice, key, number) = (?, ?, ?)", self._near_removed)
        connection.executemany(_ADD, self._added)
        connection.executemany(
            "INSERT OR IGNORE INTO fingerprints (voice, key, number) VALUES (?, ?, ?)", self._near_added
        )
