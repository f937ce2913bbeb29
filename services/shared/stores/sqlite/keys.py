"""Small numbers for what repeats: scopes, sessions, voices.

Nothing is kept between calls: another process may write to the same file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from contracts.ports import Scope
from contracts.v1.turns import EVERY_PERSONA

NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1

_MOST_PLACEHOLDERS = 400

T = TypeVar("T")


def marks(values: Sequence[object]) -> str:
    """As many placeholders as there are values, for an IN (…)."""
    return ",".join("?" * len(values))


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """The distinct values in order, in lists short enough for one statement."""
    distinct = iter(dict.fromkeys(values))
    while chunk := list(islice(distinct, _MOST_PLACEHOLDERS)):
        yield chunk


def in_one_row(connection: sqlite3.Connection, query: str, values: Mapping[str, object] | Sequence[object]) -> Any:
    """The answer of a query that gives one JSON text. Between rows a thread gives the interpreter away, and waits."""
    (answer,) = connection.execute(query, values).fetchone()
    return json.loads(answer)


def visible_scopes(connection: sqlite3.Connection, scope: Scope) -> list[tuple[int, int]]:
    """(id, last number given) of what a scope sees: its persona's part and that of no persona, or every part."""
    if scope.persona_id == EVERY_PERSONA:
        return scopes_of(connection, scope.user_id, scope.space)
    return connection.execute(
        "SELECT scope, numbered FROM scopes WHERE user_id = ? AND space = ? AND persona_id IN ('', ?) ORDER BY scope",
        (scope.user_id, scope.space, scope.persona_id or ""),
    ).fetchall()


def scopes_of(
    connection: sqlite3.Connection, user_id: str, space: str | None, persona_id: str | None = None
) -> list[tuple[int, int]]:
    """(id, last number given) of all scopes of a user, of those in one space, of what a persona sees."""
    return connection.execute(
        """SELECT scope, numbered FROM scopes WHERE user_id = ?1 AND space = coalesce(?2, space)
        AND persona_id IN ('', coalesce(?3, persona_id)) ORDER BY scope""",
        (user_id, space, None if persona_id == EVERY_PERSONA else persona_id),
    ).fetchall()


class Keys:
    """Looks keys up, and makes those that are missing, within one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[object, ...], int] = {}

    def scope(self, user_id: str, space: str, persona_id: str | None) -> int:
        """The id of exactly this user, space and persona."""
        return self._id("scopes", ("user_id", "space", "persona_id"), (user_id, space, persona_id or ""))

    def session(self, user_id: str, space: str, session_id: str | None) -> int | None:
        """The id of a session; no session has none."""
        if session_id is None:
            return None
        return self._id("sessions", ("user_id", "space", "session_id"), (user_id, space, session_id))

    def voice(self, scope: int, role: str, speaker: str | None) -> int:
        """The id of who speaks within a scope."""
        return self._id("voices", ("scope", "role", "speaker"), (scope, role, speaker or ""))

    def _id(self, table: str, columns: tuple[str, ...], key: tuple[object, ...]) -> int:
        known = self._known.get((table, key))
        if known is None:
            known = self._known[table, key] = self._found_or_made(table, columns, key)
        return known

    def _found_or_made(self, table: str, columns: tuple[str, ...], key: tuple[object, ...]) -> int:
        where = " AND ".join(f"{column} = ?" for column in columns)
        row = self._connection.execute(f"SELECT rowid FROM {table} WHERE {where}", key).fetchone()
        if row is not None:
            return int(row[0])
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(key)})"
        return int(self._connection.execute(insert, key).lastrowid or 0)
