"""The tables of the text store, and how an older file is brought up to date.

An entry's `doc` is its scope's id in the upper and a running number in the lower 32 bits, so what one user said lies
together in the file. Times are microseconds since 1970.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping

from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import near_keys
from services.shared.dedup.repeats import with_bands
from services.shared.stores.sqlite import postings, statements
from services.shared.stores.sqlite.changelog import KEPT
from services.shared.stores.sqlite.connection import UnusableFile
from services.shared.stores.sqlite.keys import NUMBER_BITS, NUMBER_MASK
from services.shared.stores.sqlite.terms import terms_of
from services.shared.stores.words import words_of

log = logging.getLogger(__name__)

_NO_WAY_BACK = "versions of memorybus that are older refuse this file from now on"

APPLICATION_ID = 0x6D656D62
"""Marks a file as ours in its header ("memb")."""


_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # What only one user, space and persona share: numbering, counters, statistics of the words.
    """CREATE TABLE scopes (
        scope INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, persona_id TEXT NOT NULL,
        numbered INTEGER NOT NULL DEFAULT 0,
        entries INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0,
        turns INTEGER NOT NULL DEFAULT 0, merged INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0,
        UNIQUE (user_id, space, persona_id))""",
    """CREATE TABLE sessions (
        session INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, session_id TEXT NOT NULL,
        UNIQUE (user_id, space, session_id))""",
    """CREATE TABLE voices (
        voice INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL,
        UNIQUE (scope, role, speaker))""",
    """CREATE TABLE turns (
        turn INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, turn_id TEXT NOT NULL,
        conversation_id TEXT NOT NULL, session_id TEXT NOT NULL, created_at INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (user_id, space, turn_id))""",
    "CREATE INDEX turns_said ON turns (user_id, space, conversation_id, created_at)",
    # `text` is NULL where the turn itself is proposed, `entry_id` where the entry has the proposal's id.
    """CREATE TABLE proposals (
        id TEXT PRIMARY KEY,
        turn INTEGER NOT NULL, scope INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        logged_at INTEGER NOT NULL, decided_at INTEGER,
        outcome TEXT, entry_id TEXT, reason TEXT, text TEXT) WITHOUT ROWID""",
    "CREATE INDEX proposals_undecided ON proposals (logged_at, scope) WHERE outcome IS NULL",
    # `words` are the terms under which the postings hold the entry, so that it can always be taken out again.
    # `spot` repeats `doc`: SQLite would read through all entries of one moment to find the one before a doc.
    """CREATE TABLE entries (
        doc INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE, scope INTEGER NOT NULL, session INTEGER, spot INTEGER NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        status TEXT NOT NULL, enriched INTEGER NOT NULL, embedding_state TEXT NOT NULL, version INTEGER NOT NULL,
        words TEXT NOT NULL, body TEXT NOT NULL)""",
    "CREATE INDEX entries_said ON entries (scope, status, created_at)",
    """CREATE INDEX entries_around ON entries (session, created_at, spot)
        WHERE status = 'active' AND session IS NOT NULL""",
    "CREATE INDEX entries_embedding ON entries (embedding_state) WHERE status = 'active'",
    """CREATE INDEX entries_unfinished ON entries (updated_at, enriched, embedding_state, scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending')""",
    """CREATE TABLE postings (
        scope INTEGER NOT NULL, block INTEGER NOT NULL, term TEXT NOT NULL, codes BLOB NOT NULL,
        PRIMARY KEY (scope, block, term)) WITHOUT ROWID""",
    """CREATE TABLE fingerprints (
        voice INTEGER NOT NULL, key INTEGER NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (voice, key, number)) WITHOUT ROWID""",
)

_UPKEEP = (
    # Statements that may not come back yet. Only a hash of each is kept.
    """CREATE TABLE digests (
        user_id TEXT NOT NULL, space TEXT NOT NULL, digest TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (user_id, space, digest)) WITHOUT ROWID""",
    "CREATE INDEX proposals_merged ON proposals (entry_id) WHERE outcome = 'merged'",
    # `entries` counts the active ones, `inactive` the others.
    "ALTER TABLE scopes ADD COLUMN inactive INTEGER NOT NULL DEFAULT 0",
    """UPDATE scopes SET inactive = (
        SELECT count(*) FROM entries WHERE entries.scope = scopes.scope AND status <> 'active')""",
    # `held`: pinned or manually saved, so that time does not take it.
    "ALTER TABLE entries ADD COLUMN held INTEGER NOT NULL DEFAULT 0",
    "UPDATE entries SET held = 1 WHERE json_extract(body, '$.pinned') OR json_extract(body, '$.manually_saved')",
    "CREATE INDEX entries_ageing ON entries (created_at) WHERE status = 'active' AND held = 0",
)

_RENEWAL = (
    # When it was last said: what lists are ordered and age is counted by.
    "ALTER TABLE entries ADD COLUMN last_said_at INTEGER NOT NULL DEFAULT 0",
    "UPDATE entries SET last_said_at = created_at",
    "DROP INDEX entries_said",
    "CREATE INDEX entries_said ON entries (scope, status, last_said_at, created_at)",
    "DROP INDEX entries_ageing",
    "CREATE INDEX entries_ageing ON entries (last_said_at) WHERE status = 'active' AND held = 0",
    # In which conversations an entry was said.
    """CREATE TABLE entry_conversations (
        scope INTEGER NOT NULL, conversation_id TEXT NOT NULL, doc INTEGER NOT NULL,
        PRIMARY KEY (scope, conversation_id, doc)) WITHOUT ROWID""",
    """INSERT INTO entry_conversations SELECT scope, json_extract(body, '$.conversation_id'), doc FROM entries
        WHERE json_extract(body, '$.conversation_id') IS NOT NULL""",
)

_ACTIVE = f"""
SELECT voice, doc & {NUMBER_MASK} AS number, body FROM entries JOIN voices USING (scope)
WHERE status = 'active' AND role = json_extract(body, '$.role')
    AND speaker = coalesce(json_extract(body, '$.speaker'), '')"""

_STATEMENTS = (
    # Of each voice a statement is there once. `fingerprints` has what near-copies of long texts share, and no more.
    """CREATE TABLE statements (
        voice INTEGER NOT NULL, key INTEGER NOT NULL, variant INTEGER NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (voice, key, variant)) WITHOUT ROWID""",
    f"""INSERT INTO statements
        SELECT voice, statement_number(key), row_number() OVER (PARTITION BY voice, key ORDER BY number) - 1, number
        FROM (SELECT voice, number, json_extract(body, '$.statement_hash') AS key FROM ({_ACTIVE})) WHERE key <> ''""",
    "DELETE FROM fingerprints",
    f"""INSERT INTO fingerprints SELECT voice, value, number FROM ({_ACTIVE}), json_each(near_numbers(body))""",
)

_BANDS = (
    "UPDATE entries SET body = with_bands(body) WHERE with_bands(body) IS NOT NULL",
    "DELETE FROM fingerprints",
    f"INSERT INTO fingerprints SELECT voice, value, number FROM ({_ACTIVE}), json_each(near_numbers(body))",
)

_RECORDS = (
    """CREATE TABLE records (
        user_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
        at INTEGER NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (user_id, kind, name)) WITHOUT ROWID""",
    "CREATE INDEX records_of_user ON records (user_id, kind, at, name)",
    "CREATE INDEX records_of_all ON records (kind, at, user_id, name)",
)

_VOCABULARY = ("CREATE INDEX postings_by_term ON postings (scope, term)",)

_CHANGES = (
    # A random number that is another one after each change of an entry of the scope, but not after a new entry.
    "ALTER TABLE scopes ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",
    # The same for changes of an entry's place in its session, and for a scope that is given the number of another.
    "ALTER TABLE scopes ADD COLUMN moved INTEGER NOT NULL DEFAULT 0",
    """CREATE TRIGGER scope_made AFTER INSERT ON scopes BEGIN
        UPDATE scopes SET changed = random(), moved = random() WHERE scope = new.scope;
    END""",
    """CREATE TRIGGER entry_changed AFTER UPDATE ON entries BEGIN
        UPDATE scopes SET changed = random() WHERE scope = new.scope;
    END""",
    """CREATE TRIGGER entry_moved AFTER UPDATE OF session, created_at ON entries
    WHEN new.session IS NOT old.session OR new.created_at <> old.created_at BEGIN
        UPDATE scopes SET moved = random() WHERE scope = new.scope;
    END""",
    """CREATE TRIGGER entry_deleted AFTER DELETE ON entries BEGIN
        UPDATE scopes SET changed = random(), moved = random() WHERE scope = old.scope;
    END""",
)

_AGEING = (
    # What another statement superseded grows too old as well.
    "DROP INDEX entries_ageing",
    """CREATE INDEX entries_ageing ON entries (last_said_at)
        WHERE status IN ('active', 'superseded') AND held = 0""",
)

_CHANGE_LOG = (
    # The last changes of each scope, counted by `changed`; `reworded`: other words find the entry since.
    """CREATE TABLE changes (
        scope INTEGER NOT NULL, change INTEGER NOT NULL, doc INTEGER NOT NULL, reworded INTEGER NOT NULL,
        PRIMARY KEY (scope, change)) WITHOUT ROWID""",
    "DROP TRIGGER scope_made",
    "DROP TRIGGER entry_changed",
    "DROP TRIGGER entry_deleted",
    "UPDATE scopes SET changed = changed >> 2",  # so that it can be counted on
    """CREATE TRIGGER scope_made AFTER INSERT ON scopes BEGIN
        UPDATE scopes SET changed = random() >> 2, moved = random() WHERE scope = new.scope;
    END""",
    """CREATE TRIGGER entry_changed AFTER UPDATE ON entries BEGIN
        UPDATE scopes SET changed = changed + 1 WHERE scope = new.scope;
        INSERT INTO changes SELECT scope, changed, new.doc, new.words <> old.words OR new.status <> old.status
            FROM scopes WHERE scope = new.scope;
    END""",
    """CREATE TRIGGER entry_deleted AFTER DELETE ON entries BEGIN
        UPDATE scopes SET changed = changed + 1, moved = random() WHERE scope = old.scope;
        INSERT INTO changes SELECT scope, changed, old.doc, 1 FROM scopes WHERE scope = old.scope;
    END""",
    f"""CREATE TRIGGER change_noted AFTER INSERT ON changes BEGIN
        DELETE FROM changes WHERE scope = new.scope AND change <= new.change - {KEPT};
    END""",
)


_AGEING_OF_ALL = (
    # What was archived grows too old as well. `held` is also what stands behind a roll-up, and goes with that.
    "UPDATE entries SET held = 1 WHERE status = 'archived' AND json_extract(body, '$.rolled_up_into') IS NOT NULL",
    "DROP INDEX entries_ageing",
    """CREATE INDEX entries_ageing ON entries (last_said_at)
        WHERE status IN ('active', 'superseded', 'archived') AND held = 0""",
)


def _renew_words(connection: sqlite3.Connection) -> None:
    """Let the index hold every active entry under the words that this version finds it by."""
    query = "SELECT doc, words, body FROM entries WHERE doc > ? AND status = 'active' ORDER BY doc LIMIT 1000"
    last = -1
    while rows := connection.execute(query, (last,)).fetchall():
        last, changes = rows[-1][0], postings.Changes()
        for doc, words, body in rows:
            entry = Entry.model_validate_json(body)
            old, new = words.split(), words_of(entry)
            if Counter(old) != Counter(new):
                changes.remove(doc, terms_of(entry, old))
                changes.add(doc, terms_of(entry, new))
                connection.execute("UPDATE entries SET words = ? WHERE doc = ?", (" ".join(new), doc))
                longer = (len(new) - len(old), doc >> NUMBER_BITS)
                connection.execute("UPDATE scopes SET words = words + ? WHERE scope = ?", longer)
        changes.apply(connection)


Step = tuple[str | Callable[[sqlite3.Connection], None], ...]

MIGRATIONS: tuple[Step, ...] = (
    _TABLES,
    _UPKEEP,
    _RENEWAL,
    _STATEMENTS,
    _BANDS,
    _VOCABULARY,
    (_renew_words,),  # words by the language of their text
    _RECORDS,
    _CHANGES,
    _CHANGE_LOG,
    _AGEING,
    (_renew_words,),  # words without their accents, and what stands at an apostrophe
    (_renew_words,),  # Porter's later rules, units of Thai and its neighbours, words without Hebrew and Arabic prefixes
    _AGEING_OF_ALL,
)
"""Statements and functions that lead from version i to version i + 1 of the schema. Never edited, only appended to."""


def _with_bands(body: str) -> str | None:
    """An entry as this version looks it up; None where that is as it was."""
    entry = Entry.model_validate_json(body)
    changed = with_bands(entry)
    return None if changed == entry else changed.model_dump_json(exclude_none=True)


_FUNCTIONS: Mapping[str, Callable[[str], int | str | None]] = {
    "with_bands": _with_bands,
    "statement_number": statements.statement_number,
    "near_numbers": lambda body: json.dumps(sorted(statements.keys_of(near_keys(Entry.model_validate_json(body))))),
}
"""What the statements of migrations call."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest schema in one transaction.

    Raises:
        UnusableFile: the file is newer than this program, or not a memory at all.
    """
    if _checked_version(connection) == len(MIGRATIONS):
        return
    for name, function in _FUNCTIONS.items():
        connection.create_function(name, 1, function, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _checked_version(connection)
        for statement in (s for step in MIGRATIONS[version:] for s in step):
            if callable(statement):
                statement(connection)
            else:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
        if version:
            log.warning("schema_upgraded", extra={"from": version, "to": len(MIGRATIONS), "back": _NO_WAY_BACK})
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _checked_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (tables or version):
        raise UnusableFile("the file is the database of another program: choose another data folder")
    if version > len(MIGRATIONS):
        raise UnusableFile(
            f"the file has schema {version}, this version of memorybus knows {len(MIGRATIONS)}: "
            "start the version that wrote it, or restore a backup made before the upgrade"
        )
    return int(version)
