"""Leaving no old words in the files: SQLite keeps copies of what was deleted until they are written anew.

What is deleted is overwritten, but not the copies that stay behind in a page when rows move to another, nor those in
the log of changes. So the file is written anew, and then the log is emptied.
"""

from __future__ import annotations

import sqlite3

from services.shared.stores import moments
from services.shared.stores.sqlite import suppression

_KEY = "old_words"

_IN_LOG = "log"
"""The value while old words are left in the log of changes only; any other value names what happened last."""

RECEIPT = "erased:"
"""What the keys of receipts of erasures begin with."""

_OLD_RECEIPTS = "DELETE FROM meta WHERE key > 'erased:' AND key < 'erased;' AND json_extract(value, '$.until') <= ?"

_PATIENCE_MILLISECONDS = 1_000
"""How long readers of an old state are waited for: writes wait as long."""


def note_old_words(connection: sqlite3.Connection) -> None:
    """Remember that something was forgotten since the last `compact`."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, hex(randomblob(8)))", (_KEY,))


def note_old_log(connection: sqlite3.Connection) -> None:
    """Remember that the log of changes holds something that is to be gone; the file itself was overwritten."""
    connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)", (_KEY, _IN_LOG))


def compact(connection: sqlite3.Connection) -> bool:
    """Write the files anew when something was forgotten; whether nothing of it is left. Outside of any transaction.

    It is not done when somebody still reads an old state, or forgets something meanwhile: the next time does it.
    """
    suppression.drop_expired(connection)
    connection.execute(_OLD_RECEIPTS, (moments.now(),))
    noted = _noted(connection)
    if noted is None:
        return True
    if noted != _IN_LOG:
        _write_anew(connection)
        connection.execute("UPDATE meta SET value = ? WHERE key = ? AND value = ?", (_IN_LOG, _KEY, noted))
    if not _empty_log(connection):
        return False
    connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (_KEY, _IN_LOG))
    return _noted(connection) is None


def _noted(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return row[0] if row else None


def _write_anew(connection: sqlite3.Connection) -> None:
    """The copy on the way may not fit into memory; it lies in a file without a name and holds what stays."""
    connection.execute("PRAGMA temp_store = FILE")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")


def _empty_log(connection: sqlite3.Connection) -> bool:
    (usual,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy
