"""Statements that may not come back yet: hashes of what was forgotten, each with the time when its suppression ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import digests_of
from services.shared.stores import moments
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite.keys import chunks
from services.shared.stores.tombstones import Digest

_KEEP = """
INSERT INTO digests (user_id, space, digest, until) VALUES (?, ?, ?, ?)
ON CONFLICT (user_id, space, digest) DO UPDATE SET until = max(until, excluded.until)"""


def suppress(connection: sqlite3.Connection, digests: Iterable[Digest], until: datetime) -> None:
    """Until then, these statements may not come back."""
    connection.executemany(_KEEP, [(*digest, microseconds(until)) for digest in digests])


def suppressed(connection: sqlite3.Connection, entries: Sequence[Entry]) -> set[str]:
    """Of these candidates, the ids of those that say what may not come back now."""
    if connection.execute("SELECT 1 FROM digests LIMIT 1").fetchone() is None:
        return set()
    wanted = {entry.id: _digests(entry) for entry in entries}
    known = _known(connection, (digest for found in wanted.values() for digest in found))
    return {id_ for id_, found in wanted.items() if not known.isdisjoint(found)}


def drop_expired(connection: sqlite3.Connection) -> None:
    """Forget the hashes, too, whose time is over."""
    connection.execute("DELETE FROM digests WHERE until <= ?", (moments.now(),))


def _digests(entry: Entry) -> list[Digest]:
    return [(entry.user_id, entry.space, digest) for digest in digests_of(entry)]


def _known(connection: sqlite3.Connection, digests: Iterable[Digest]) -> set[Digest]:
    found: set[Digest] = set()
    for chunk in chunks(digests):
        rows = connection.execute(
            f"""SELECT user_id, space, digest FROM digests
            WHERE until > ? AND (user_id, space, digest) IN (VALUES {",".join(["(?, ?, ?)"] * len(chunk))})""",
            (moments.now(), *(part for digest in chunk for part in digest)),
        )
        found.update(rows)
    return found
