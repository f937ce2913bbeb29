"""What was said around an entry: the active entries before and after it in its session."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from services.shared.stores.sqlite import records
from services.shared.stores.sqlite.keys import NUMBER_BITS, chunks, marks

# The + keeps SQLite from comparing as NUMERIC, for which it would not use the last column of the index.
_WINDOWS = """
SELECT here.doc,
    (SELECT group_concat(spot) FROM (
        SELECT near.spot FROM entries AS near
        WHERE near.session = here.session AND near.status = 'active' AND near.spot >> 32 IN ({visible})
            AND (near.created_at, near.spot) < (here.created_at, +here.spot)
        ORDER BY near.created_at DESC, near.spot DESC LIMIT :reach)),
    (SELECT group_concat(spot) FROM (
        SELECT near.spot FROM entries AS near
        WHERE near.session = here.session AND near.status = 'active' AND near.spot >> 32 IN ({visible})
            AND (near.created_at, near.spot) > (here.created_at, +here.spot)
        ORDER BY near.created_at, near.spot LIMIT :reach))
FROM json_each(:docs) AS asked CROSS JOIN entries AS here ON here.doc = asked.value"""
assert NUMBER_BITS == 32


def windows(
    connection: sqlite3.Connection, docs: Sequence[int], *, visible: Sequence[int], reach: int
) -> Iterable[tuple[int, str, str]]:
    """(document, those before it, those after it), both comma-separated, the nearest first, at most `reach` each.

    Only entries of the `visible` scopes are seen. Entries of one moment are in the order stored.
    """
    named = {f"scope{number}": scope for number, scope in enumerate(visible)}
    query = _WINDOWS.format(visible=", ".join(f":{name}" for name in named))
    rows = connection.execute(query, {"docs": json.dumps(list(docs)), "reach": reach, **named})
    return ((doc, before or "", after or "") for doc, before, after in rows)


def neighbours(connection: sqlite3.Connection, users: Mapping[str, str], *, reach: int) -> dict[str, dict[int, str]]:
    """For each entry, given as user by id: distance in the session, −reach to reach and never 0, to the id there.

    An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none.
    """
    ids_by_doc = _docs(connection, users)
    around: dict[int, dict[int, int]] = {}
    for visible, docs in _by_visible_scopes(connection, ids_by_doc).items():
        for doc, before, after in windows(connection, docs, visible=visible, reach=max(0, reach)):
            around[doc] = _distances(before, -1) | _distances(after, 1)
    names = ids_by_doc | records.ids(connection, {near for window in around.values() for near in window.values()})
    return {names[doc]: {far: names[near] for far, near in window.items()} for doc, window in around.items()}


def _docs(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in chunks(users):
        rows = connection.execute(
            f"SELECT doc, id, user_id FROM entries JOIN scopes USING (scope) WHERE id IN ({marks(chunk)})", chunk
        )
        found |= {doc: id_ for doc, id_, user_id in rows if users[id_] == user_id}
    return found


def _by_visible_scopes(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for doc in docs:
        groups[doc >> NUMBER_BITS].append(doc)
    return {(scope, _common(connection, scope)): members for scope, members in groups.items()}


def _common(connection: sqlite3.Connection, scope: int) -> int:
    """The scope of the same user and space and no persona; the scope itself when there is none."""
    row = connection.execute(
        """SELECT common.scope FROM scopes AS own JOIN scopes AS common USING (user_id, space)
        WHERE own.scope = ? AND common.persona_id = ''""",
        (scope,),
    ).fetchone()
    return row[0] if row else scope


def _distances(docs: str, sign: int) -> dict[int, int]:
    near = [int(doc) for doc in docs.split(",")] if docs else []
    return {sign * distance: doc for distance, doc in enumerate(near, start=1)}
