"""Erasing a user, and counting what is found of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from contracts.v1.turns import LoggedTurn
from services.shared.stores.sqlite import log
from services.shared.stores.sqlite.sweeping import note_old_words

_SCOPES = "(SELECT scope FROM scopes WHERE user_id = :user)"
_VOICES = f"(SELECT voice FROM voices WHERE scope IN {_SCOPES})"

_ERASED = {
    "fingerprints": f"voice IN {_VOICES}",
    "voices": f"scope IN {_SCOPES}",
    "postings": f"scope IN {_SCOPES}",
    "entries": f"scope IN {_SCOPES}",
    "proposals": f"scope IN {_SCOPES}",
    "turns": "user_id = :user",
    "sessions": "user_id = :user",
    "digests": "user_id = :user",
    "scopes": "user_id = :user",
}
"""Which rows of each table are a user's; the tables that others are found by come last."""

_NO_SCOPE = "scope NOT IN (SELECT scope FROM scopes)"

_STRAY = {
    "fingerprints": "voice NOT IN (SELECT voice FROM voices)",
    "voices": _NO_SCOPE,
    "postings": _NO_SCOPE,
    "entries": _NO_SCOPE,
    "proposals": _NO_SCOPE,
}
"""Rows that are nobody's, and so may be anybody's."""


def erase(connection: sqlite3.Connection, user_id: str) -> None:
    """Delete every row of a user."""
    before = connection.total_changes
    for table, theirs in _ERASED.items():
        connection.execute(f"DELETE FROM {table} WHERE {theirs}", {"user": user_id})
    if connection.total_changes > before:
        note_old_words(connection)


def withdraw(connection: sqlite3.Connection, turns: Sequence[LoggedTurn]) -> None:
    """Delete turns, and what they propose."""
    before = connection.total_changes
    log.withdraw(connection, turns)
    if connection.total_changes > before:
        note_old_words(connection)


def traces(connection: sqlite3.Connection, user_id: str) -> Mapping[str, int]:
    """How many rows of each table are a user's, or nobody's."""
    found = {}
    for table, theirs in _ERASED.items():
        query = f"SELECT count(*) FROM {table} WHERE {theirs} OR {_STRAY.get(table, 'FALSE')}"
        (found[table],) = connection.execute(query, {"user": user_id}).fetchone()
    return found
