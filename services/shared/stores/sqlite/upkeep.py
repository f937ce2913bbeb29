"""The memory as a whole: counts, users, spaces, ages, unfinished work, and the model of its vectors."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime

from contracts.ports import EmbeddingIdentity, Key, Overview, SpaceSize, StageCounts, Stuck
from contracts.v1.turns import EVERY_PERSONA
from services.shared.stores.moments import microseconds, moment
from services.shared.stores.sqlite.engine import Engine, reading, writing

_IDENTITY = "embedding_identity"

_SETTLED = """
SELECT coalesce(sum(turns), 0), coalesce(sum(entries), 0), coalesce(sum(inactive), 0), coalesce(sum(merged), 0),
    coalesce(sum(refused), 0)
FROM scopes WHERE """

_UNDECIDED = "SELECT count(*) FROM proposals INDEXED BY proposals_undecided WHERE outcome IS NULL AND "

_UNFINISHED = """
SELECT coalesce(sum(enriched = 0), 0), coalesce(sum(embedding_state = 'pending'), 0)
FROM entries INDEXED BY entries_unfinished
WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending') AND """

_UNEMBEDDABLE = """
SELECT count(*) FROM entries INDEXED BY entries_embedding
WHERE status = 'active' AND embedding_state = 'error' AND """

_HERE = """scope IN (SELECT scope FROM scopes WHERE user_id = :user AND space = coalesce(:space, space)
    AND persona_id IN ('', coalesce(:persona, persona_id))) AND status = 'active'"""

_OVERVIEW = f"""
SELECT json_extract(body, '$.type') AS type, embedding_state, json_extract(body, '$.pinned') AS pinned,
    json_extract(body, '$.manually_saved') AS saved, count(*), max(last_said_at)
FROM entries WHERE {_HERE} GROUP BY type, embedding_state, pinned, saved"""

_THEMES = f"""
SELECT value, count(*) FROM entries, json_each(body, '$.themes')
WHERE {_HERE} AND instr(body, '"themes":[]') = 0 GROUP BY value"""

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


_EXPIRED = """
SELECT user_id, id FROM entries INDEXED BY entries_ageing JOIN scopes USING (scope)
WHERE user_id NOT IN (SELECT value FROM json_each(?))
    AND status IN ('active', 'superseded', 'archived') AND held = 0 AND last_said_at < ?
ORDER BY last_said_at, doc LIMIT ?"""

_EXPIRED_OF = """
SELECT user_id, id FROM scopes CROSS JOIN entries INDEXED BY entries_said USING (scope)
WHERE user_id = ? AND space = ?
    AND status IN ('active', 'superseded', 'archived') AND held = 0 AND last_said_at < ?
ORDER BY last_said_at, doc LIMIT ?"""

_SPACES = """
SELECT user_id, space, sum(entries) FROM scopes
WHERE user_id = ? AND (entries > 0 OR EXISTS (SELECT 1 FROM entries INDEXED BY entries_said
    WHERE entries.scope = scopes.scope AND status IN ('superseded', 'archived')))
GROUP BY user_id, space ORDER BY space"""


class SqliteUpkeep(Engine):
    """`contracts.ports.Upkeep`. Only what is unfinished is counted one by one."""

    @reading
    def counts(self, db: sqlite3.Connection, user_id: str | None = None) -> StageCounts:
        mine = "TRUE" if user_id is None else "scope IN (SELECT scope FROM scopes WHERE user_id = :user)"
        (turns, entries, inactive, merged, refused), (undecided,), (unenriched, unembedded), (unembeddable,) = (
            db.execute(query + mine, {"user": user_id}).fetchone()
            for query in (_SETTLED, _UNDECIDED, _UNFINISHED, _UNEMBEDDABLE)
        )
        return StageCounts(turns, entries, inactive, merged, refused, undecided, unenriched, unembedded, unembeddable)

    @reading
    def overview(
        self, db: sqlite3.Connection, user_id: str, space: str | None = None, persona_id: str | None = None
    ) -> Overview:
        here = {"user": user_id, "space": space, "persona": None if persona_id == EVERY_PERSONA else persona_id}
        types, states = Counter[str](), Counter[str]()
        pinned = saved = 0
        latest: int | None = None
        for kind, state, is_pinned, is_saved, count, last in db.execute(_OVERVIEW, here):
            types[kind] += count
            states[state] += count
            pinned, saved = pinned + is_pinned * count, saved + is_saved * count
            latest = max(last, latest or last)
        themes = dict(db.execute(_THEMES, here).fetchall())
        said_at = moment(latest) if latest is not None else None
        return Overview(types.total(), pinned, saved, types, themes, states, said_at)

    @reading
    def users(self, db: sqlite3.Connection, *, after: str, limit: int) -> list[str]:
        rows = db.execute(
            "SELECT DISTINCT user_id FROM scopes WHERE user_id > ? ORDER BY user_id LIMIT ?", (after, limit)
        )
        return [user_id for (user_id,) in rows]

    @reading
    def unfinished(self, db: sqlite3.Connection, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        return [Key(*row) for row in db.execute(_STUCK[lacking], (microseconds(before), limit))]

    @reading
    def over_capacity(
        self, db: sqlite3.Connection, *, cap: int, limit: int, but: Collection[str] = ()
    ) -> list[SpaceSize]:
        rows = db.execute(
            """SELECT user_id, space, sum(entries) AS active FROM scopes
            WHERE user_id NOT IN (SELECT value FROM json_each(?)) GROUP BY user_id, space
            HAVING active > ? ORDER BY active DESC, user_id, space LIMIT ?""",
            (json.dumps(list(but)), cap, limit),
        )
        return [SpaceSize(*row) for row in rows]

    @reading
    def spaces(self, db: sqlite3.Connection, user_id: str) -> list[SpaceSize]:
        return [SpaceSize(*row) for row in db.execute(_SPACES, (user_id,))]

    @reading
    def expired(
        self,
        db: sqlite3.Connection,
        *,
        before: datetime,
        limit: int,
        but: Collection[str] = (),
        of: tuple[str, str] | None = None,
    ) -> list[Key]:
        given = (json.dumps(list(but)),) if of is None else of
        rows = db.execute(_EXPIRED if of is None else _EXPIRED_OF, (*given, microseconds(before), limit))
        return [Key(*row) for row in rows]

    @reading
    def get_embedding_identity(self, db: sqlite3.Connection) -> EmbeddingIdentity | None:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_IDENTITY,)).fetchone()
        return EmbeddingIdentity(**json.loads(row[0])) if row else None

    @writing
    def set_embedding_identity(self, db: sqlite3.Connection, identity: EmbeddingIdentity | None) -> None:
        db.execute("DELETE FROM meta WHERE key = ?", (_IDENTITY,))
        if identity is not None:
            value = json.dumps(asdict(identity))
            db.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_IDENTITY, value))
