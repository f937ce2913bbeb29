"""Small records about users, one row each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

from contracts.errors import Unavailable
from contracts.ports import Record, RecordKey, RecordKind, RecordPage
from services.shared.stores.moments import microseconds
from services.shared.stores.records import ERASING, Row, cursor, position, position_of
from services.shared.stores.sqlite import compaction
from services.shared.stores.sqlite.engine import Engine, glancing, reading, writing
from services.shared.stores.sqlite.privacy import recorded_erasure

_COLUMNS = "user_id, kind, name, at, version, body"
_NAMED = "user_id = ?1 AND kind = ?2 AND (?3 IS NULL OR name IN (SELECT value FROM json_each(?3)))"

_GET = """
SELECT user_id, kind, name, at, version, body FROM json_each(?) AS asked CROSS JOIN records
ON user_id = asked.value ->> 0 AND kind = asked.value ->> 1 AND name = asked.value ->> 2"""

_ADD = f"INSERT INTO records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REPLACE = """
UPDATE records SET (at, version, body) = (?4, ?5, ?6)
WHERE (user_id, kind, name, version) = (?1, ?2, ?3, ?7)"""

_EXPIRE = """
DELETE FROM records WHERE (user_id, kind, name) IN (
    SELECT user_id, kind, name FROM records INDEXED BY records_of_all WHERE kind = ? AND at < ? LIMIT ?)"""

_EXPIRED_TOGETHER = 500


class SqliteRecords(Engine):
    """`contracts.ports.UserRecords`."""

    @reading
    def records(
        self, db: sqlite3.Connection, user_id: str, kind: RecordKind, names: Collection[str] | None = None
    ) -> list[Record]:
        rows = db.execute(f"SELECT {_COLUMNS} FROM records WHERE {_NAMED} ORDER BY name", (user_id, kind, _list(names)))
        return [Row(*row).record for row in rows]

    @glancing
    def get_records(self, db: sqlite3.Connection, keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
        records = (Row(*row).record for row in db.execute(_GET, (json.dumps(list(keys)),)))
        return {record.key: record for record in records}

    @writing
    def put_record(self, db: sqlite3.Connection, record: Record, *, held: int | None) -> bool:
        if _is_being_erased(db, record.user_id):
            raise Unavailable(ERASING)
        row = Row.of(record, (held or 0) + 1)
        done = db.execute(_ADD, row) if held is None else db.execute(_REPLACE, (*row, held))
        return done.rowcount == 1

    @writing
    def add_records(self, db: sqlite3.Connection, records: Sequence[Record]) -> None:
        erased = {user_id for user_id in {one.user_id for one in records} if _is_being_erased(db, user_id)}
        db.executemany(_ADD, [Row.of(one, 1) for one in records if one.user_id not in erased])

    @writing
    def remove_records(
        self, db: sqlite3.Connection, user_id: str, kind: RecordKind, names: Collection[str] | None = None
    ) -> int:
        removed = db.execute(f"DELETE FROM records WHERE {_NAMED}", (user_id, kind, _list(names))).rowcount
        if removed:  # only a theme says something in words of the user
            (compaction.note_old_words if kind == "theme" else compaction.note_old_log)(db)
        return removed

    @reading
    def page_records(
        self, db: sqlite3.Connection, kind: RecordKind, *, user_id: str | None, limit: int, cursor: str | None
    ) -> RecordPage:
        if limit < 1:
            raise ValueError(f"a page holds at least 1 record, not {limit}")
        mine, values = ("kind = ?", (kind,)) if user_id is None else ("user_id = ? AND kind = ?", (user_id, kind))
        return _page(db, mine, values, limit, cursor)

    async def expire_records(self, kind: RecordKind, *, before: datetime) -> int:
        """Remove old records, some rows at a time: between two steps others write."""
        expired = 0
        while step := await self.writer.run(partial(_expire, kind=kind, before=microseconds(before))):
            expired += step
        return expired


def _list(names: Collection[str] | None) -> str | None:
    return None if names is None else json.dumps(list(names))


def _is_being_erased(db: sqlite3.Connection, user_id: str) -> bool:
    mark = recorded_erasure(db, user_id)
    return mark is not None and not mark.cleared


def _page(db: sqlite3.Connection, mine: str, values: tuple[str, ...], limit: int, after: str | None) -> RecordPage:
    """The records that fulfil a condition, after a place."""
    place = position(after) if after is not None else ()
    later = " AND (at, user_id, name) < (?, ?, ?)" if place else ""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM records WHERE {mine}{later} ORDER BY at DESC, user_id DESC, name DESC LIMIT ?",
        (*values, *place, limit + 1),
    ).fetchall()
    found = tuple(Row(*row).record for row in rows[:limit])
    return RecordPage(found, cursor(position_of(found[-1])) if len(rows) > limit else None)


def _expire(db: sqlite3.Connection, kind: RecordKind, before: int) -> int:
    expired = db.execute(_EXPIRE, (kind, before, _EXPIRED_TOGETHER)).rowcount
    if expired:
        compaction.note_old_log(db)
    return expired
