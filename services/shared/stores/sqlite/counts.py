"""How much is stored, and what got stuck."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from contracts.ports import Key, StageCounts, Stuck
from services.shared.stores.moments import microseconds

_SETTLED = """
SELECT coalesce(sum(turns), 0), coalesce(sum(entries), 0), coalesce(sum(inactive), 0), coalesce(sum(merged), 0),
    coalesce(sum(refused), 0)
FROM scopes WHERE """

_UNDECIDED = "SELECT count(*) FROM proposals INDEXED BY proposals_undecided WHERE outcome IS NULL AND "

_UNFINISHED = """
SELECT coalesce(sum(enriched = 0), 0), coalesce(sum(embedding_state = 'pending'), 0)
FROM entries INDEXED BY entries_unfinished
WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending') AND """

_STUCK = {
    "undecided": """
        SELECT user_id, id FROM proposals JOIN scopes USING (scope)
        WHERE outcome IS NULL AND logged_at < ? ORDER BY logged_at, id LIMIT ?""",
    "unenriched": """
        SELECT user_id, id FROM entries JOIN scopes USING (scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending')
            AND enriched = 0 AND updated_at < ? ORDER BY updated_at, id LIMIT ?""",
    "unembedded": """
        SELECT user_id, id FROM entries JOIN scopes USING (scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending')
            AND embedding_state = 'pending' AND updated_at < ? ORDER BY updated_at, id LIMIT ?""",
}


def counts(connection: sqlite3.Connection, user_id: str | None) -> StageCounts:
    """Count what is stored, for one user or for all. Only what is unfinished is looked at one by one."""
    mine = "TRUE" if user_id is None else "scope IN (SELECT scope FROM scopes WHERE user_id = :user)"
    (turns, entries, inactive, merged, refused), (undecided,), (unenriched, unembedded) = (
        connection.execute(query + mine, {"user": user_id}).fetchone() for query in (_SETTLED, _UNDECIDED, _UNFINISHED)
    )
    return StageCounts(turns, entries, inactive, merged, refused, undecided, unenriched, unembedded)


def unfinished(connection: sqlite3.Connection, stage: Stuck, before: datetime, limit: int) -> list[Key]:
    """What has lacked this since before a moment, the oldest first."""
    return [Key(*row) for row in connection.execute(_STUCK[stage], (microseconds(before), limit))]
