"""Entries as rows: reading them, and changing a row together with everything that finds it.

An `EntryWriter` lives as long as one write call. It collects what new and changed entries mean for the postings, the
fingerprints and the counters, and `flush` writes all of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import near_keys
from services.shared.ranking.capacity import is_held
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite import compaction, postings, statements, terms
from services.shared.stores.sqlite.keys import NUMBER_BITS, NUMBER_MASK, Keys, chunks, in_one_row, marks
from services.shared.stores.words import Rewording, reworded

_INSERT = """
INSERT INTO entries (doc, spot, id, scope, session, created_at, status,
                     updated_at, last_said_at, enriched, embedding_state, version, held, words, body)
VALUES (?1, ?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_UPDATE = """
UPDATE entries SET updated_at = ?, last_said_at = ?, enriched = ?, embedding_state = ?, version = ?, held = ?,
    words = ?, body = ?
WHERE doc = ?"""

_TALLY = """
UPDATE scopes SET numbered = numbered + ?, entries = entries + ?, inactive = inactive + ?, words = words + ?
WHERE scope = ?"""

_LINK = "INSERT OR IGNORE INTO entry_conversations (scope, conversation_id, doc) VALUES (?, ?, ?)"

_IDS = """
SELECT json_group_array(json_array(doc, entries.id)) FROM json_each(?) AS asked
    CROSS JOIN entries ON entries.doc = asked.value"""

_UNLINK = "DELETE FROM entry_conversations WHERE (scope, conversation_id, doc) = (?, ?, ?)"

_MOVE = "UPDATE entries SET session = ?, created_at = ?, status = ? WHERE doc = ?"


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as it is in the file, with the words under which the index holds it."""

    doc: int
    entry: Entry
    words: tuple[str, ...]


def by_id(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[str, Stored]:
    """The entries asked for as user by id, in the order asked; unknown ones are missing."""
    found: dict[str, Stored] = {}
    for chunk in chunks(users):
        rows = connection.execute(f"SELECT id, doc, words, body FROM entries WHERE id IN ({marks(chunk)})", chunk)
        read = {row[0]: row[1:] for row in rows}
        found |= {id_: _stored(*read[id_]) for id_ in chunk if id_ in read}
    return {id_: stored for id_, stored in found.items() if stored.entry.user_id == users[id_]}


def by_doc(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, Entry]:
    """The entries of these documents; unknown ones are missing."""
    found: dict[int, Entry] = {}
    for chunk in chunks(docs):
        rows = connection.execute(f"SELECT doc, body FROM entries WHERE doc IN ({marks(chunk)})", chunk)
        found |= {doc: Entry.model_validate_json(body) for doc, body in rows}
    return found


def ids(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[int, str]:
    """The ids of the entries of these documents; unknown ones are missing."""
    return dict(in_one_row(connection, _IDS, (json.dumps(list(docs)),)))


def versions(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int | None]:
    """The version of each of these entries; None of one that is not stored."""
    found: dict[str, int | None] = dict.fromkeys(ids)
    for chunk in chunks(list(found)):
        found |= dict(connection.execute(f"SELECT id, version FROM entries WHERE id IN ({marks(chunk)})", chunk))
    return found


def _stored(doc: int, words: str, body: str) -> Stored:
    return Stored(doc, Entry.model_validate_json(body), split(words))


def split(words: str) -> tuple[str, ...]:
    """Words as the column holds them."""
    return tuple(words.split(" ")) if words else ()


def _body(entry: Entry) -> str:
    return entry.model_dump_json(exclude_none=True)  # None is what every such field is when it is missing


@dataclass(slots=True)
class _Tally:
    """What changed in a scope, to be added to its counters."""

    numbered: int = 0
    entries: int = 0
    inactive: int = 0
    words: int = 0


class EntryWriter:
    """New and changed entries of one write call, within its transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._keys = Keys(connection)
        self._postings = postings.Changes()
        self._statements = statements.Changes()
        self._tallies: dict[int, _Tally] = defaultdict(_Tally)
        self._last: dict[int, int] = {}
        self._inserts: list[tuple[object, ...]] = []
        self._updates: list[tuple[object, ...]] = []
        self._moves: list[tuple[object, ...]] = []
        self._removals: list[tuple[object, ...]] = []
        self._linked: list[tuple[object, ...]] = []
        self._unlinked: list[tuple[object, ...]] = []
        self._forgets = False

    def insert(self, entry: Entry, words: tuple[str, ...]) -> None:
        """Store an entry whose id is not known yet, and its words (`words_of`)."""
        scope = self._keys.scope(entry.user_id, entry.space, entry.persona_id)
        doc = scope << NUMBER_BITS | self._next_number(scope)
        place = (self._session(entry), microseconds(entry.created_at), entry.status)
        self._inserts.append((doc, entry.id, scope, *place, *_changing_columns(entry, words)))
        self._postings.add(doc, terms.terms_of(entry, words))
        self._find_as_repeat(doc, entry)
        self._linked += [(scope, conversation, doc) for conversation in entry.conversations]
        self._count(scope, entry, words, 1)

    def replace(self, stored: Stored, entry: Entry, rewording: Rewording | None = None) -> None:
        """Put `entry`, a `successor` of the stored one, in its place."""
        old, doc = stored.entry, stored.doc
        words = (rewording or reworded(old, entry)).after(stored.words)
        self._updates.append((*_changing_columns(entry, words), doc))
        if (old.session_id, old.created_at, old.status) != (entry.session_id, entry.created_at, entry.status):
            self._moves.append((self._session(entry), microseconds(entry.created_at), entry.status, doc))
        self._replace_terms(stored, entry, words)
        self._replace_statement(doc, old, entry)
        self._replace_conversations(doc, old, entry)
        self._forgets |= entry.status == "forgotten" != old.status
        self._forgets |= not set(old.neighbour_tags) <= set(entry.neighbour_tags)  # their words are those of others
        self._count(doc >> NUMBER_BITS, old, stored.words, -1)
        self._count(doc >> NUMBER_BITS, entry, words, 1)

    def remove(self, stored: Stored) -> None:
        """Take out a stored entry with everything that finds it."""
        entry, doc = stored.entry, stored.doc
        self._removals.append((doc,))
        self._postings.remove(doc, list(terms.terms_of(entry, stored.words)))
        if entry.status == "active":
            self._statements.remove(*self._voice(doc, entry), entry.statement_hash, near_keys(entry))
        self._unlinked += [(doc >> NUMBER_BITS, conversation, doc) for conversation in entry.conversations]
        self._count(doc >> NUMBER_BITS, entry, stored.words, -1)

    def _replace_terms(self, stored: Stored, entry: Entry, words: tuple[str, ...]) -> None:
        if words == stored.words and entry.status == stored.entry.status:
            old, new = dict.fromkeys(terms.labels_of(stored.entry), 1), dict.fromkeys(terms.labels_of(entry), 1)
        else:
            old, new = terms.terms_of(stored.entry, stored.words), terms.terms_of(entry, words)
        if old != new:
            self._postings.remove(stored.doc, [term for term, count in old.items() if new.get(term) != count])
            self._postings.add(stored.doc, {term: count for term, count in new.items() if old.get(term) != count})

    def _replace_statement(self, doc: int, old: Entry, new: Entry) -> None:
        if _who_says_what(old) == _who_says_what(new):
            return
        if old.status == "active":
            self._statements.remove(*self._voice(doc, old), old.statement_hash, near_keys(old))
        self._find_as_repeat(doc, new)

    def _replace_conversations(self, doc: int, old: Entry, new: Entry) -> None:
        scope, before, after = doc >> NUMBER_BITS, old.conversations, new.conversations
        self._unlinked += [(scope, conversation, doc) for conversation in before if conversation not in after]
        self._linked += [(scope, conversation, doc) for conversation in after if conversation not in before]

    def _find_as_repeat(self, doc: int, entry: Entry) -> None:
        if entry.status == "active":
            self._statements.add(*self._voice(doc, entry), entry.statement_hash, near_keys(entry))

    def flush(self) -> None:
        """Write everything that was collected."""
        self._connection.executemany(_INSERT, self._inserts)
        self._connection.executemany(_UPDATE, self._updates)
        self._connection.executemany(_MOVE, self._moves)
        self._connection.executemany("DELETE FROM entries WHERE doc = ?", self._removals)
        self._connection.executemany(_UNLINK, self._unlinked)
        self._connection.executemany(_LINK, self._linked)
        if self._forgets:
            compaction.note_old_words(self._connection)
        self._postings.apply(self._connection)
        self._statements.apply(self._connection)
        self._connection.executemany(_TALLY, [(*astuple(tally), scope) for scope, tally in self._tallies.items()])

    def _next_number(self, scope: int) -> int:
        if scope not in self._last:
            row = self._connection.execute("SELECT numbered FROM scopes WHERE scope = ?", (scope,)).fetchone()
            self._last[scope] = row[0]
        self._last[scope] += 1
        self._tallies[scope].numbered += 1
        return self._last[scope]

    def _session(self, entry: Entry) -> int | None:
        return self._keys.session(entry.user_id, entry.space, entry.session_id)

    def _voice(self, doc: int, entry: Entry) -> tuple[int, int]:
        return self._keys.voice(doc >> NUMBER_BITS, entry.role, entry.speaker), doc & NUMBER_MASK

    def _count(self, scope: int, entry: Entry, words: tuple[str, ...], sign: int) -> None:
        tally = self._tallies[scope]
        if entry.status == "active":
            tally.entries += sign
            tally.words += sign * len(words)
        else:
            tally.inactive += sign


def _who_says_what(entry: Entry) -> tuple[object, ...]:
    return entry.status, entry.role, entry.speaker, entry.statement_hash, entry.minhash_bands


def _changing_columns(entry: Entry, words: Iterable[str]) -> tuple[object, ...]:
    return (
        microseconds(entry.updated_at),
        microseconds(entry.last_said_at),
        entry.enriched,
        entry.embedding_state,
        entry.version,
        is_held(entry),
        " ".join(words),
        _body(entry),
    )
