"""Paging through entries, those said last first, with cursors that stay true while entries are added."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Page, Selection
from contracts.v1.entries import Entry
from services.shared.stores import cursors
from services.shared.stores.sqlite import postings
from services.shared.stores.sqlite.keys import scopes_of
from services.shared.stores.sqlite.postings import NOWHERE, Layout
from services.shared.stores.sqlite.terms import forbidden, required

_Clause = tuple[str, tuple[object, ...]]


def page(connection: sqlite3.Connection, selection: Selection, *, limit: int, cursor: str | None) -> Page:
    """One page of at most `limit` entries.

    Raises:
        ValueError: the cursor is not one that a page gave, or the limit is below 1.
    """
    if limit < 1:
        raise ValueError(f"a page holds at least 1 entry, not {limit}")
    after = cursors.position(cursor) if cursor is not None else None
    scopes = scopes_of(connection, selection.user_id, selection.space, selection.persona_id)
    if not scopes:
        return Page((), None, 0)
    where, values = _selected(connection, Layout(scopes), selection)
    (total,) = connection.execute(f"SELECT count(*) FROM entries WHERE {where}", values).fetchone()
    if after is not None:
        where, values = f"{where} AND (last_said_at, id) < (?, ?)", (*values, *after)
    rows = connection.execute(
        f"SELECT last_said_at, id, body FROM entries WHERE {where} ORDER BY last_said_at DESC, id DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    entries = tuple(Entry.model_validate_json(body) for _, _, body in rows[:limit])
    more = len(rows) > limit
    return Page(entries, cursors.cursor(rows[limit - 1][:2]) if more else None, total)


def _selected(connection: sqlite3.Connection, layout: Layout, selection: Selection) -> _Clause:
    scopes = list(layout.starts)
    where, values = _within(scopes)
    where, values = f"{where} AND status = ?", (*values, selection.status)
    if selection.conversation_id is not None:
        of_scopes = "scope IN (SELECT value FROM json_each(?))"
        linked = f"SELECT doc FROM entry_conversations WHERE {of_scopes} AND conversation_id = ?"
        where, values = f"{where} AND doc IN ({linked})", (*values, json.dumps(scopes), selection.conversation_id)
    docs = _labelled(connection, layout, selection)
    if docs is None:
        return where, values
    return f"{where} AND doc IN (SELECT value FROM json_each(?))", (*values, json.dumps(docs.tolist()))


def _within(scopes: list[int]) -> _Clause:
    """One scope is read in the order of an index; the entries of several are sorted."""
    if len(scopes) == 1:
        return "scope = ?", (scopes[0],)
    return "scope IN (SELECT value FROM json_each(?))", (json.dumps(scopes),)


def _labelled(connection: sqlite3.Connection, layout: Layout, selection: Selection) -> NDArray[np.int64] | None:
    """The documents that have the labels asked for, in any status; None when none are asked for."""
    groups, without = required(selection), forbidden(selection)
    if not groups and not without:
        return None
    found = postings.read(connection, layout, [*without, *(label for group in groups for label in group)])
    passing = postings.having(layout, found, groups)
    for label in without:
        passing[found.get(label, NOWHERE).places] = False
    return layout.docs(np.flatnonzero(passing))
