"""Forgetting and erasing, with the mark of what is being erased; and counting what is found of a user."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from contracts.ports import Change, Erasure, Forgotten, Ref
from services.shared.stores.decisions import owners
from services.shared.stores.erasures import dumped, loaded, receipt_key, receipts, removed_by
from services.shared.stores.sqlite import compaction, records, redaction, suppression
from services.shared.stores.sqlite.engine import Engine, glancing, reading, writing
from services.shared.stores.sqlite.entries import replace_entries
from services.shared.stores.tombstones import suppressed_by, tombstone
from services.shared.stores.words import Rewording, reworded

_MARK = "erasure:"
_MARKS = "SELECT value FROM meta WHERE key > 'erasure:' AND key < 'erasure;' ORDER BY key"

_SCOPES = "(SELECT scope FROM scopes WHERE user_id = :user)"
_IN_SCOPE = f"(scope IN {_SCOPES} OR scope NOT IN (SELECT scope FROM scopes))"
_VOICES = f"(SELECT voice FROM voices WHERE {_IN_SCOPE})"
_OF_VOICE = f"(voice IN {_VOICES} OR voice NOT IN (SELECT voice FROM voices))"

_ERASED = {
    "proposals": ("id", _IN_SCOPE),
    "turns": ("turn", "user_id = :user"),
    "entries": ("doc", _IN_SCOPE),
    "entry_conversations": ("scope, conversation_id, doc", _IN_SCOPE),
    "statements": ("voice, key, variant", _OF_VOICE),
    "fingerprints": ("voice, key, number", _OF_VOICE),
    "voices": ("voice", _IN_SCOPE),
    "postings": ("scope, block, term", _IN_SCOPE),
    "changes": ("scope, change", _IN_SCOPE),
    "sessions": ("session", "user_id = :user"),
    "digests": ("user_id, space, digest", "user_id = :user"),
    "records": ("user_id, kind, name", "user_id = :user"),
    "scopes": ("scope", "user_id = :user"),
}
"""The key of each table, and which rows are a user's, or nobody's: these go with whoever is erased next.

What is not in the log is not judged any more, so the log goes first; an entry goes before what finds it; the tables
that others are found by come last.
"""

_REFERRED_TO = {
    "turns": f"SELECT turn FROM proposals WHERE outcome IS NULL AND scope IN {_SCOPES}",
    "voices": f"SELECT voice FROM statements WHERE {_OF_VOICE} UNION SELECT voice FROM fingerprints WHERE {_OF_VOICE}",
    "scopes": " UNION ".join(
        f"SELECT scope FROM {table} WHERE scope IN {_SCOPES}"
        for table in ("proposals", "entries", "entry_conversations", "voices", "postings", "changes")
    ),
}
"""Keys that others still point to, which were added since those were looked for: they stay for the next round.

A number without its row would be given to somebody else's.
"""

TABLES = tuple(_ERASED)
"""Where rows of a user may be, in the order in which they are deleted."""

_ERASED_TOGETHER = 500
"""Rows that are deleted in one step, which takes some 10 ms."""

_ERASED_AT_MOST = 50_000
"""Rows whose keys are looked up at once."""

_UNHEARD = """
DELETE FROM voices WHERE scope IN (SELECT scope FROM scopes WHERE user_id = ? AND space = ?)
AND NOT EXISTS (SELECT 1 FROM statements WHERE statements.voice = voices.voice)
AND NOT EXISTS (SELECT 1 FROM fingerprints WHERE fingerprints.voice = voices.voice)"""


class SqlitePrivacy(Engine):
    """`contracts.ports.Privacy`."""

    @writing
    def forget(self, db: sqlite3.Connection, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        stored = records.by_id(db, owners(refs))
        remembered = [known for known in stored.values() if known.entry.status != "forgotten"]
        if until is not None:
            entries = [known.entry for known in remembered]
            suppression.suppress(db, [gone for entry in entries for gone in suppressed_by(entry)], until)
        at, writer = datetime.now(UTC), records.EntryWriter(db)
        tombstones = {known.entry.id: tombstone(known.entry, at) for known in remembered}
        for known in remembered:
            writer.replace(known, tombstones[known.entry.id])
        writer.flush()
        # A speaker by whom no entry is looked up any more is not known by name any more.
        db.executemany(_UNHEARD, {(entry.user_id, entry.space) for entry in tombstones.values()})
        turn_ids = redaction.redact_tellings(db, {id_: known.entry.user_id for id_, known in stored.items()})
        self.recent.drop(tombstones)
        return [Forgotten(tombstones.get(id_, known.entry), turn_ids[id_]) for id_, known in stored.items()]

    async def redact(self, changes: Sequence[Change], *, until: datetime) -> dict[str, tuple[str, ...]]:
        rewordings = [reworded(change.old, change.new) for change in changes]
        told_by = await self.writer.run(lambda db: _redact(db, changes, rewordings, until))
        self.recent.drop([change.new.id for change in changes])
        return told_by

    @glancing
    def erasures(self, db: sqlite3.Connection, user_ids: Collection[str] | None = None) -> list[Erasure]:
        marks = [loaded(value) for (value,) in db.execute(_MARKS)]
        return [mark for mark in marks if user_ids is None or mark.user_id in user_ids]

    @writing
    def record_erasure(self, db: sqlite3.Connection, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        if recorded_erasure(db, user_id) != held:
            return False
        db.execute("DELETE FROM meta WHERE key = ?", (_MARK + user_id,))
        if new is not None:
            db.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_MARK + user_id, dumped(new)))
        elif held is not None:
            rows = [(compaction.RECEIPT + key, body) for key, body in receipts(held).items()]
            db.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", rows)
            (compaction.note_old_words if any(held.removed.values()) else compaction.note_old_log)(db)
        return True

    @reading
    def erased(self, db: sqlite3.Connection, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        key = compaction.RECEIPT + receipt_key(user_id, requested_at)
        row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return removed_by(row[0]) if row else None

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user, some rows at a time: between two steps others write."""
        self.recent.drop()
        self.sessions.drop()
        for table in TABLES:
            look = partial(_keys_of, table=table, user_id=user_id)
            while keys := await self.readers.run(look):
                for start in range(0, len(keys), _ERASED_TOGETHER):
                    some = keys[start : start + _ERASED_TOGETHER]
                    delete = partial(_erase_rows, table=table, keys=some, user_id=user_id, mark=mark)
                    if not await self.writer.run(delete):
                        return

    @reading
    def count_remaining(self, db: sqlite3.Connection, user_id: str) -> Mapping[str, int]:
        """How many rows of each table are a user's, or nobody's."""
        found = {}
        for table, (_, theirs) in _ERASED.items():
            (found[table],) = db.execute(f"SELECT count(*) FROM {table} WHERE {theirs}", {"user": user_id}).fetchone()
        return found

    async def compact(self) -> bool:
        """Leave nothing in the files of what was forgotten or erased; False when a reader was in the way.

        When there is something, the file is written anew, which takes as much free space again; writes wait.
        """
        return await self.writer.run_alone(compaction.compact)


def _redact(
    db: sqlite3.Connection, changes: Sequence[Change], rewordings: Sequence[Rewording], until: datetime
) -> dict[str, tuple[str, ...]]:
    conflicts = replace_entries(db, changes, rewordings)
    done = [change for change in changes if change.new.id not in conflicts]
    suppression.suppress(db, [gone for change in done for gone in suppressed_by(change.old, change.new)], until)
    if done:
        compaction.note_old_words(db)
    return redaction.redact_tellings(db, {change.new.id: change.new.user_id for change in done})


def recorded_erasure(db: sqlite3.Connection, user_id: str) -> Erasure | None:
    """The mark of the erasure of a user that is not complete."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_MARK + user_id,)).fetchone()
    return loaded(row[0]) if row else None


def _keys_of(db: sqlite3.Connection, table: str, user_id: str) -> list[Sequence[object]]:
    """The keys of some rows of a user in a table."""
    key, theirs = _ERASED[table]
    kept = f" AND {key} NOT IN ({_REFERRED_TO[table]})" if table in _REFERRED_TO else ""
    query = f"SELECT {key} FROM {table} WHERE {theirs}{kept} LIMIT {_ERASED_AT_MOST}"
    return db.execute(query, {"user": user_id}).fetchall()


def _erase_rows(
    db: sqlite3.Connection, table: str, keys: Sequence[Sequence[object]], user_id: str, mark: Erasure | None
) -> bool:
    """Delete rows of a user; False, and nothing is deleted, when the mark is not the recorded one any more."""
    if mark is not None and recorded_erasure(db, user_id) != mark:
        return False
    if table in _REFERRED_TO:
        kept = set(db.execute(_REFERRED_TO[table], {"user": user_id}))
        keys = [key for key in keys if key not in kept]
    where = " AND ".join(f"{column} = ?" for column in _ERASED[table][0].split(", "))
    db.executemany(f"DELETE FROM {table} WHERE {where}", keys)
    if table == "postings":  # nothing else tells of it who keeps them in memory
        db.execute("UPDATE scopes SET moved = random() WHERE user_id = ?", (user_id,))
    compaction.note_old_words(db)
    return True
