"""Entries as they were read lately: what a question finds, the one before it has often found, too.

An entry is taken from here only while the file holds it as it was when it was read, which the same read looks up: in
the log of the changes of its scope, and one by one where that does not reach back. So nothing is seen that another
process has changed, forgotten or erased meanwhile.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter

from contracts.v1.entries import Entry
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite.changelog import changes_between
from services.shared.stores.sqlite.keys import NUMBER_BITS, chunks, in_one_row

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST = 4000

_CHANGED = """
SELECT json_group_array(json_array(scope, changed)) FROM json_each(?) AS asked
    CROSS JOIN scopes ON scope = asked.value"""

_ASKED = "FROM json_each(?) AS asked CROSS JOIN entries ON entries.id = asked.value"
_STATES = f"SELECT json_group_object(entries.id, json_array(doc, version, updated_at)) {_ASKED}"
_BODIES = f"SELECT '[' || group_concat(doc) || ']', '[' || group_concat(body) || ']' {_ASKED}"
_ENTRIES = TypeAdapter(list[Entry])

_Change = tuple[int, int | None]
"""A scope, and its `changed`: another one after each change of an entry in it. None of a scope that is not there."""


class _Held(NamedTuple):
    entry: Entry
    doc: int
    change: _Change
    """The last one of its scope when the entry was as it is here."""
    read_at: float

    @property
    def state(self) -> list[int]:
        """Document, version and time of the last change: whatever changes an entry changes one of them."""
        return [self.doc, self.entry.version, microseconds(self.entry.updated_at)]


class RecentEntries:
    """The entries that were read last, each for a minute. Several threads may read at the same time."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
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
            for id_ in list(self._held) if ids is None else ids:
                self._held.pop(id_, None)

    def _known(self, connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Entry]:
        """Of these entries those that are held as the connection sees them, in the order asked."""
        oldest = time.monotonic() - _KEPT
        with self._lock:
            held = {id_: one for id_ in ids if (one := self._held.get(id_)) and one.read_at > oldest}
        changes = {one.change for one in held.values()}
        if not changes <= (latest := _latest(connection, {scope for scope, _ in changes})):
            unsure = {id_: one for id_, one in held.items() if one.change not in latest}
            other = _changed(connection, unsure, dict(latest))
            self._confirm({id_: one for id_, one in unsure.items() if id_ not in other}, dict(latest))
            held = {id_: one for id_, one in held.items() if id_ not in other}
        return {id_: one.entry for id_, one in held.items()}

    def _confirm(self, held: Mapping[str, _Held], latest: Mapping[int, int | None]) -> None:
        """Note that these are still as they were, unless they are not held any more."""
        with self._lock:
            for id_, one in held.items():
                if self._held.get(id_) is one:
                    scope, _ = one.change
                    self._held[id_] = one._replace(change=(scope, latest.get(scope)))

    def _read(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Entry]:
        """Entries from the file, kept as the newest; those go that are too old, or too many."""
        docs, bodies = connection.execute(_BODIES, (json.dumps(ids),)).fetchone()
        if bodies is None:
            return {}
        entries, docs, now = _ENTRIES.validate_json(bodies), json.loads(docs), time.monotonic()
        scopes = [doc >> NUMBER_BITS for doc in docs]
        latest = dict(_latest(connection, set(scopes)))
        with self._lock:
            for entry, doc, scope in zip(entries, docs, scopes, strict=True):
                self._held.pop(entry.id, None)
                self._held[entry.id] = _Held(entry, doc, (scope, latest.get(scope)), now)
            while self._held:
                oldest = next(iter(self._held))
                if len(self._held) <= _MOST and self._held[oldest].read_at > now - _KEPT:
                    break
                del self._held[oldest]
        return {entry.id: entry for entry in entries}


def _changed(connection: sqlite3.Connection, held: Mapping[str, _Held], latest: Mapping[int, int | None]) -> set[str]:
    """Those of these entries that the file holds no more as they are here."""
    by_scope: dict[int, dict[str, _Held]] = defaultdict(dict)
    for id_, one in held.items():
        by_scope[one.change[0]][id_] = one
    changed, unsure = set[str](), dict[str, _Held]()
    for scope, its in by_scope.items():
        last = _last_changes(connection, scope, {one.change[1] for one in its.values()}, latest.get(scope))
        if last is None:
            unsure |= its
        else:
            changed |= {id_ for id_, one in its.items() if last.get(one.doc, -math.inf) > (one.change[1] or 0)}
    if unsure:
        states: dict[str, list[int]] = in_one_row(connection, _STATES, (json.dumps(list(unsure)),))
        changed |= {id_ for id_, one in unsure.items() if one.state != states.get(id_)}
    return changed


def _last_changes(
    connection: sqlite3.Connection, scope: int, since: Collection[int | None], until: int | None
) -> dict[int, int] | None:
    """By document its last change since the earliest of these; None where that is not known, or some are later."""
    numbers = [number for number in since if number is not None]
    if until is None or len(numbers) < len(since) or max(numbers) > until:
        return None
    changes = changes_between(connection, scope, min(numbers), until)
    return None if changes is None else {one.doc: one.change for one in changes}


def _latest(connection: sqlite3.Connection, scopes: Collection[int]) -> set[_Change]:
    """The last changes of these scopes; those that are not there are missing."""
    return set(map(tuple, in_one_row(connection, _CHANGED, (json.dumps(list(scopes)),)))) if scopes else set()
