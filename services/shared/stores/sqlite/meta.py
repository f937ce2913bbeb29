"""What is remembered about the file itself: which model made the vectors, and whether old words are left in it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import asdict

from contracts.ports import EmbeddingIdentity

_KEY = "embedding_identity"
_OLD_WORDS = "old_words"


def recall_identity(connection: sqlite3.Connection) -> EmbeddingIdentity | None:
    """The identity recorded last, if any."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return EmbeddingIdentity(**json.loads(row[0])) if row else None


def remember_identity(connection: sqlite3.Connection, identity: EmbeddingIdentity | None) -> None:
    """Record an identity, or that there is none."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_KEY,))
    if identity is not None:
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(asdict(identity))))


def note_old_words(connection: sqlite3.Connection) -> None:
    """Remember that something was forgotten since the last `sweep`."""
    connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, 'true')", (_OLD_WORDS,))


def sweep(connection: sqlite3.Connection) -> None:
    """Write the file anew when something was forgotten; what cannot be done now is left for the next time.

    SQLite overwrites what is deleted, but not the copies that stay behind in a page when rows move to another.
    """
    if connection.execute("SELECT 1 FROM meta WHERE key = ?", (_OLD_WORDS,)).fetchone() is None:
        return
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA temp_store = FILE")  # the copy may not fit into memory
        connection.execute("VACUUM")
        connection.execute("DELETE FROM meta WHERE key = ?", (_OLD_WORDS,))
