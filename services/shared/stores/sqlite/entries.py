"""Entries: read by id or in order, and replaced one version at a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Accepted, Change, Page, Place, Ref, Scope, Selection
from contracts.v1.entries import Entry
from services.shared.stores import cursors
from services.shared.stores.decisions import owners
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite import postings
from services.shared.stores.sqlite.engine import Engine, glancing, reading, writing
from services.shared.stores.sqlite.keys import chunks, marks, scopes_of
from services.shared.stores.sqlite.postings import NOWHERE, Layout
from services.shared.stores.sqlite.records import EntryWriter, Stored, by_id, split
from services.shared.stores.sqlite.terms import forbidden, required
from services.shared.stores.sqlite.uniqueness import find_overtaken
from services.shared.stores.words import Rewording, reworded

_HELD = """
SELECT id, doc, entries.words, user_id, version, updated_at FROM entries JOIN scopes USING (scope) WHERE id IN ({})"""

_Clause = tuple[str, tuple[object, ...]]

_FEW = 1000
"""So many entries are found faster one by one than among all of their scope."""

_START = (-(2**63), "", "")


class SqliteEntries(Engine):
    """`contracts.ports.EntryStore`."""

    @glancing
    def get(
        self, db: sqlite3.Connection, refs: Sequence[Ref], *, may_lag: Callable[[Entry], bool] | None = None
    ) -> dict[str, Entry]:
        users = owners(refs)
        found = self.recent.read(db, users)
        return {id_: entry for id_, entry in found.items() if entry.user_id == users[id_]}

    async def replace(self, changes: Sequence[Change]) -> set[str]:
        rewordings = [reworded(change.old, change.new) for change in changes]  # takes long, and needs no transaction
        return await self.writer.run(lambda db: replace_entries(db, changes, rewordings))

    @writing
    def remove(self, db: sqlite3.Connection, entries: Sequence[Entry]) -> set[str]:
        stored, writer = by_id(db, owners(entries)), EntryWriter(db)
        removed = [
            stored[one.id] for one in entries if one.id in stored and stored[one.id].entry.version == one.version
        ]
        for one in removed:
            writer.remove(one)
        writer.flush()
        return {entry.id for entry in entries} - {one.entry.id for one in removed}

    @reading
    def ids_beginning(self, db: sqlite3.Connection, user_id: str, beginning: str, *, limit: int) -> list[str]:
        rows = db.execute(
            """SELECT id FROM entries JOIN scopes USING (scope)
            WHERE user_id = ? AND id >= ? AND substr(id, 1, ?) = ? ORDER BY id LIMIT ?""",
            (user_id, beginning, len(beginning), beginning, limit),
        )
        return [id_ for (id_,) in rows]

    @reading
    def page(self, db: sqlite3.Connection, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        if limit < 1:
            raise ValueError(f"a page holds at least 1 entry, not {limit}")
        after = cursors.position(cursor) if cursor is not None else None
        scopes = scopes_of(db, selection.user_id, selection.space, selection.persona_id)
        if not scopes:
            return Page((), None, 0)
        layout = Layout(scopes)
        where, values = _selected(layout, selection, _labelled(db, layout, selection))
        (total,) = db.execute(f"SELECT count(*) FROM entries WHERE {where}", values).fetchone()
        if after is not None:
            where, values = f"{where} AND (last_said_at, id) < (?, ?)", (*values, *after)
        rows = db.execute(
            f"SELECT last_said_at, id, body FROM entries WHERE {where} ORDER BY last_said_at DESC, id DESC LIMIT ?",
            (*values, limit + 1),
        ).fetchall()
        entries = tuple(Entry.model_validate_json(body) for _, _, body in rows[:limit])
        return Page(entries, cursors.cursor(rows[limit - 1][:2]) if len(rows) > limit else None, total)

    @glancing
    def pinned(self, db: sqlite3.Connection, scope: Scope, *, limit: int) -> list[Entry]:
        selection = Selection(scope.user_id, scope.space, scope.persona_id or "", pinned=True)
        scopes = scopes_of(db, selection.user_id, selection.space, selection.persona_id)
        if not scopes:
            return []
        layout = Layout(scopes)
        docs = _labelled(db, layout, selection)
        if docs is not None and not docs.size:
            return []
        where, values = _selected(layout, selection, docs)
        rows = db.execute(
            f"SELECT body FROM entries WHERE {where} ORDER BY last_said_at DESC, id DESC LIMIT ?", (*values, limit)
        )
        return [Entry.model_validate_json(body) for (body,) in rows]

    @reading
    def scan(self, db: sqlite3.Connection, *, after: str, limit: int) -> list[Entry]:
        rows = db.execute(
            "SELECT body FROM entries WHERE id > ? AND +status = 'active' ORDER BY id LIMIT ?", (after, limit)
        )
        return [Entry.model_validate_json(body) for (body,) in rows]

    @reading
    def export_entries(self, db: sqlite3.Connection, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        rows = db.execute(
            """SELECT body FROM entries JOIN scopes USING (scope)
            WHERE user_id = ? AND (created_at, space, id) > (?, ?, ?) ORDER BY created_at, space, id LIMIT ?""",
            (user_id, *position(after), limit),
        )
        return [Entry.model_validate_json(body) for (body,) in rows]


def position(after: Place | None) -> tuple[int, str, str]:
    """A place as columns that rows are ordered by."""
    return _START if after is None else (microseconds(after.at), after.space, after.id)


def replace_entries(db: sqlite3.Connection, changes: Sequence[Change], rewordings: Sequence[Rewording]) -> set[str]:
    """Replace entries; the ids of conflicts."""
    overtaken = find_overtaken(db, [Accepted(change.new, change.known_similar) for change in changes])
    seen = {change.old.id: _seen(change.old) for change in changes}
    held: dict[str, tuple[int, tuple[str, ...]]] = {}
    for chunk in chunks(seen):
        rows = db.execute(_HELD.format(marks(chunk)), chunk)
        held |= {id_: (doc, split(words)) for id_, doc, words, *as_seen in rows if tuple(as_seen) == seen[id_]}
    held = {id_: its for id_, its in held.items() if id_ not in overtaken}
    writer = EntryWriter(db)
    for change, rewording in zip(changes, rewordings, strict=True):
        if change.old.id in held:
            doc, words = held[change.old.id]
            writer.replace(Stored(doc, change.old, words), change.new, rewording)
    writer.flush()
    return seen.keys() - held.keys()


def _seen(entry: Entry) -> tuple[object, ...]:
    return entry.user_id, entry.version, microseconds(entry.updated_at)


def _selected(layout: Layout, selection: Selection, docs: NDArray[np.int64] | None) -> _Clause:
    """Which entries are selected; `docs` are those that have its labels and words, None when it asks for none."""
    scopes = list(layout.starts)
    where, values = _within(scopes, selection.status, indexed=docs is None or docs.size > _FEW)
    if selection.conversation_id is not None:
        of_scopes = "scope IN (SELECT value FROM json_each(?))"
        linked = f"SELECT doc FROM entry_conversations WHERE {of_scopes} AND conversation_id = ?"
        where, values = f"{where} AND doc IN ({linked})", (*values, json.dumps(scopes), selection.conversation_id)
    if selection.since is not None:
        where, values = f"{where} AND last_said_at >= ?", (*values, microseconds(selection.since))
    if selection.until is not None:
        where, values = f"{where} AND created_at <= ?", (*values, microseconds(selection.until))
    if docs is None:
        return where, values
    return f"{where} AND doc IN (SELECT value FROM json_each(?))", (*values, json.dumps(docs.tolist()))


def _within(scopes: list[int], status: str, *, indexed: bool) -> _Clause:
    """The entries of one scope are read in the order of an index, those of several are sorted; a + keeps SQLite from
    the index, where reading few by their numbers is faster."""
    plus = "" if indexed else "+"
    if len(scopes) == 1:
        return f"{plus}scope = ? AND {plus}status = ?", (scopes[0], status)
    return f"{plus}scope IN (SELECT value FROM json_each(?)) AND {plus}status = ?", (json.dumps(scopes), status)


def _labelled(connection: sqlite3.Connection, layout: Layout, selection: Selection) -> NDArray[np.int64] | None:
    """The documents that have the labels and words asked for; None when none are asked for."""
    groups, without = required(selection), forbidden(selection)
    if not groups and not without:
        return None
    found = postings.read(connection, layout, [*without, *(label for group in groups for label in group)])
    passing = postings.having(layout, found, groups)
    for label in without:
        passing[found.get(label, NOWHERE).places] = False
    return layout.docs(np.flatnonzero(passing))
