"""What everybody's memories are gone through for: space, age, and whether other stores agree."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from contracts.ports import Crowd, Key
from contracts.v1.entries import Entry
from services.shared.stores.moments import microseconds


def crowded(connection: sqlite3.Connection, cap: int, limit: int) -> list[Crowd]:
    """Some spaces with more than `cap` active entries over all personas, the fullest first."""
    rows = connection.execute(
        """SELECT user_id, space, sum(entries) AS active FROM scopes GROUP BY user_id, space
        HAVING active > ? ORDER BY active DESC, user_id, space LIMIT ?""",
        (cap, limit),
    )
    return [Crowd(*row) for row in rows]


def aged(connection: sqlite3.Connection, before: datetime, limit: int) -> list[Key]:
    """Active entries last said before a moment that the user does not hold on to, the oldest first."""
    rows = connection.execute(
        """SELECT user_id, id FROM entries INDEXED BY entries_ageing JOIN scopes USING (scope)
        WHERE status = 'active' AND held = 0 AND last_said_at < ? ORDER BY last_said_at, doc LIMIT ?""",
        (microseconds(before), limit),
    )
    return [Key(*row) for row in rows]


def in_order(connection: sqlite3.Connection, after: str, limit: int) -> list[Entry]:
    """The active entries of all users after an id, in the order of ids."""
    rows = connection.execute(
        "SELECT body FROM entries WHERE id > ? AND +status = 'active' ORDER BY id LIMIT ?", (after, limit)
    )
    return [Entry.model_validate_json(body) for (body,) in rows]
