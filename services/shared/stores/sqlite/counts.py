"""How much is stored, and what got stuck."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from contracts.ports import StageCounts, Stuck
from services.shared.stores.sqlite.keys import microseconds

_MINE = "scope IN (SELECT scope FROM scopes WHERE user_id = :user)"

_STUCK = {
    "proposed": """
        SELECT user_id, id FROM proposals JOIN scopes USING (scope)
        WHERE outcome IS NULL AND logged_at < ? ORDER BY logged_at, id LIMIT ?""",
    "accepted": """
        SELECT user_id, id FROM entries JOIN scopes USING (scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending')
            AND enriched = 0 AND updated_at < ? ORDER BY updated_at, id LIMIT ?""",
    "enriched": """
        SELECT user_id, id FROM entries JOIN scopes USING (scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending')
            AND enriched = 1 AND updated_at < ? ORDER BY updated_at, id LIMIT ?""",
}


def counts(connection: sqlite3.Connection, user_id: str | None) -> StageCounts:
    """Count what is stored, for one user or for all. Only what is unfinished is looked at one by one."""
    mine = "TRUE" if user_id is None else _MINE
    user = {"user": user_id}
    turns, entries, merged, refused = connection.execute(
        f"""SELECT coalesce(sum(turns), 0), coalesce(sum(entries), 0), coalesce(sum(merged), 0),
        coalesce(sum(refused), 0) FROM scopes WHERE {mine}""",
        user,
    ).fetchone()
    (undecided,) = connection.execute(
        f"SELECT count(*) FROM proposals WHERE outcome IS NULL AND {mine}", user
    ).fetchone()
    unenriched, unembedded = connection.execute(
        f"""SELECT coalesce(sum(enriched = 0), 0), coalesce(sum(embedding_state = 'pending'), 0) FROM entries
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending') AND {mine}""",
        user,
    ).fetchone()
    return StageCounts(turns, entries, merged, refused, undecided, unenriched, unembedded)


def unfinished(connection: sqlite3.Connection, stage: Stuck, before: datetime, limit: int) -> list[tuple[str, str]]:
    """(user_id, id) of what has been at this stage since before a moment, the oldest first."""
    return connection.execute(_STUCK[stage], (microseconds(before), limit)).fetchall()
