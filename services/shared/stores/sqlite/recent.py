"""Entries as they were read lately: what a question finds, the one before it has often found, too.

All that is kept of a scope is as the file had it after one change of the scope. Who reads looks up which changes
followed, and what they changed goes. So nothing is seen that another process has changed, forgotten or erased.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter

from contracts.v1.entries import Entry
from services.shared.stores.sqlite.changelog import KEPT, changes_between
from services.shared.stores.sqlite.keys import NUMBER_BITS, chunks, in_one_row

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST = 8000

_CHANGED = """
SELECT json_group_array(json_array(scope, changed)) FROM json_each(?) AS asked
    CROSS JOIN scopes ON scope = asked.value"""

_BODIES = """
SELECT '[' || group_concat(doc) || ']', '[' || group_concat(body) || ']'
FROM json_each(?) AS asked CROSS JOIN entries ON entries.id = asked.value"""
_ENTRIES = TypeAdapter(list[Entry])


class _Held(NamedTuple):
    entry: Entry
    doc: int
    read_at: float

    @property
    def scope(self) -> int:
        return self.doc >> NUMBER_BITS


class RecentEntries:
    """The entries that were read last, each for a minute. Several threads may read at the same time."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._ids: dict[int, str] = {}
        self._changed: dict[int, int] = {}
        """By scope its number after the change up to which its entries are kept."""
        self._lock = threading.Lock()

    def read(self, connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Entry]:
        """The entries of these ids in the order asked, as the connection sees them; unknown ones are missing."""
        found: dict[str, Entry] = {}
        for chunk in chunks(ids):
            known = self._known(connection, chunk)
            if len(known) < len(chunk):
                known |= self._read(connection, [id_ for id_ in chunk if id_ not in known])
                known = {id_: known[id_] for id_ in chunk if id_ in known}
            found |= known
        return found

    def drop(self, ids: Collection[str] | None = None) -> None:
        """Keep nothing of these entries, or of any."""
        with self._lock:
            self._drop(list(self._held) if ids is None else ids)

    def _drop(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            if (one := self._held.pop(id_, None)) is not None:
                self._ids.pop(one.doc, None)

    def _known(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Entry]:
        """Of these entries those that are held as the connection sees them, in the order asked."""
        scopes = {one.scope for id_ in ids if (one := self._held.get(id_))}
        latest = _latest(connection, scopes)
        oldest = time.monotonic() - _KEPT
        with self._lock:
            seen = {scope for scope in scopes if self._follow(connection, scope, latest.get(scope))}
            held = ((id_, self._held.get(id_)) for id_ in ids)
            return {id_: one.entry for id_, one in held if one and one.read_at > oldest and one.scope in seen}

    def _follow(self, connection: sqlite3.Connection, scope: int, until: int | None) -> bool:
        """Let go of what was changed up to this state of a scope; False where what is held is of a later one."""
        since = self._changed.get(scope)
        if since == until:
            return until is not None
        if since is not None and until is not None and 0 < since - until <= KEPT:
            return False
        changes = None if since is None or until is None else changes_between(connection, scope, since, until)
        if changes is None and since is not None:
            self._drop([id_ for id_, one in self._held.items() if one.scope == scope])
        self._drop([self._ids[one.doc] for one in changes or () if one.doc in self._ids])
        self._changed.pop(scope, None)
        if until is not None:
            self._changed[scope] = until
        return until is not None

    def _read(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Entry]:
        """Entries from the file, kept as the newest; those go that are too old, or too many."""
        docs, bodies = connection.execute(_BODIES, (json.dumps(ids),)).fetchone()
        if bodies is None:
            return {}
        entries, docs, now = _ENTRIES.validate_json(bodies), json.loads(docs), time.monotonic()
        scopes = {doc >> NUMBER_BITS for doc in docs}
        latest = _latest(connection, scopes)
        with self._lock:
            seen = {scope for scope in scopes if self._follow(connection, scope, latest.get(scope))}
            read = [_Held(entry, doc, now) for entry, doc in zip(entries, docs, strict=True)]
            self._drop(one.entry.id for one in read if one.scope in seen)
            self._held |= {one.entry.id: one for one in read if one.scope in seen}
            self._ids |= {one.doc: one.entry.id for one in read if one.scope in seen}
            self._drop_oldest(now)
        return {entry.id: entry for entry in entries}

    def _drop_oldest(self, now: float) -> None:
        while self._held:
            oldest = next(iter(self._held))
            if len(self._held) <= _MOST and self._held[oldest].read_at > now - _KEPT:
                break
            self._drop([oldest])
        if len(self._changed) > _MOST:
            of_held = {one.scope for one in self._held.values()}
            self._changed = {scope: change for scope, change in self._changed.items() if scope in of_held}


def _latest(connection: sqlite3.Connection, scopes: Collection[int]) -> Mapping[int, int]:
    """By scope the number of its last change; those that are not there are missing."""
    return dict(in_one_row(connection, _CHANGED, (json.dumps(list(scopes)),))) if scopes else {}
