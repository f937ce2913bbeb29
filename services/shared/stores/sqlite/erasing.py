"""Erasing a user, in steps, with the mark of what is being erased; and counting what is found of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from contracts.ports import Erasure
from contracts.v1.turns import LoggedTurn
from services.shared.stores.erasures import dumped, loaded, receipt_key, receipts, removed_by
from services.shared.stores.sqlite import log
from services.shared.stores.sqlite.sweeping import RECEIPT, note_old_log, note_old_words

_MARK = "erasure:"
_MARKS = "SELECT value FROM meta WHERE key > 'erasure:' AND key < 'erasure;' ORDER BY key"

_SCOPES = "(SELECT scope FROM scopes WHERE user_id = :user)"
_VOICES = f"(SELECT voice FROM voices WHERE scope IN {_SCOPES})"

_ERASED = {
    "proposals": ("id", f"scope IN {_SCOPES}"),
    "turns": ("turn", "user_id = :user"),
    "entries": ("doc", f"scope IN {_SCOPES}"),
    "entry_conversations": ("scope, conversation_id, doc", f"scope IN {_SCOPES}"),
    "fingerprints": ("voice, key, number", f"voice IN {_VOICES}"),
    "voices": ("voice", f"scope IN {_SCOPES}"),
    "postings": ("scope, block, term", f"scope IN {_SCOPES}"),
    "sessions": ("session", "user_id = :user"),
    "digests": ("user_id, space, digest", "user_id = :user"),
    "scopes": ("scope", "user_id = :user"),
}
"""The key of each table, and which rows are a user's.

What is not in the log is not judged any more, so the log goes first; an entry goes before what finds it; the tables
that others are found by come last.
"""

TABLES = tuple(_ERASED)
"""Where rows of a user may be, in the order in which they are deleted."""

_NO_SCOPE = "scope NOT IN (SELECT scope FROM scopes)"

_STRAY = {
    "fingerprints": "voice NOT IN (SELECT voice FROM voices)",
    "voices": _NO_SCOPE,
    "postings": _NO_SCOPE,
    "entry_conversations": _NO_SCOPE,
    "entries": _NO_SCOPE,
    "proposals": _NO_SCOPE,
}
"""Rows that are nobody's, and so may be anybody's."""


def erasures(connection: sqlite3.Connection, user_ids: Collection[str] | None) -> list[Erasure]:
    """The erasures of these users, or of anybody, that are not complete."""
    marks = [loaded(value) for (value,) in connection.execute(_MARKS)]
    return [mark for mark in marks if user_ids is None or mark.user_id in user_ids]


def record(connection: sqlite3.Connection, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
    """Replace the erasure of a user; False, and no change, when it is not the one held."""
    if _recorded(connection, user_id) != held:
        return False
    connection.execute("DELETE FROM meta WHERE key = ?", (_MARK + user_id,))
    if new is not None:
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_MARK + user_id, dumped(new)))
    elif held is not None:
        rows = [(RECEIPT + key, body) for key, body in receipts(held).items()]
        connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", rows)
        (note_old_words if any(held.removed.values()) else note_old_log)(connection)
    return True


def erased(connection: sqlite3.Connection, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
    """What the erasure asked for at this time removed, when it was completed in the last 24 hours."""
    key = RECEIPT + receipt_key(user_id, requested_at)
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return removed_by(row[0]) if row else None


def _recorded(connection: sqlite3.Connection, user_id: str) -> Erasure | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_MARK + user_id,)).fetchone()
    return loaded(row[0]) if row else None


def keys_of(connection: sqlite3.Connection, table: str, user_id: str, limit: int) -> list[Sequence[object]]:
    """The keys of some rows of a user in a table."""
    key, theirs = _ERASED[table]
    return connection.execute(f"SELECT {key} FROM {table} WHERE {theirs} LIMIT {limit}", {"user": user_id}).fetchall()


def erase_rows(
    connection: sqlite3.Connection, table: str, keys: Sequence[Sequence[object]], user_id: str, mark: Erasure | None
) -> bool:
    """Delete rows of a user; False, and nothing is deleted, when the mark is not the recorded one any more."""
    if mark is not None and _recorded(connection, user_id) != mark:
        return False
    where = " AND ".join(f"{column} = ?" for column in _ERASED[table][0].split(", "))
    connection.executemany(f"DELETE FROM {table} WHERE {where}", keys)
    note_old_words(connection)
    return True


def withdraw(connection: sqlite3.Connection, turns: Sequence[LoggedTurn]) -> None:
    """Delete turns, and what they propose."""
    before = connection.total_changes
    log.withdraw(connection, turns)
    if connection.total_changes > before:
        note_old_words(connection)


def traces(connection: sqlite3.Connection, user_id: str) -> Mapping[str, int]:
    """How many rows of each table are a user's, or nobody's."""
    found = {}
    for table, (_, theirs) in _ERASED.items():
        query = f"SELECT count(*) FROM {table} WHERE {theirs} OR {_STRAY.get(table, 'FALSE')}"
        (found[table],) = connection.execute(query, {"user": user_id}).fetchone()
    return found
