"""Entries as they were read lately: what a question finds, the one before it has often found, too.

An entry is taken from here only while the file holds it as it was when it was read, which the same read looks up. So
nothing is seen that another process has changed, forgotten or erased meanwhile.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from pydantic import TypeAdapter

from contracts.v1.entries import Entry
from services.shared.stores.sqlite.keys import chunks, in_one_row

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST = 4000

_ASKED = "FROM json_each(?) AS asked CROSS JOIN entries ON entries.id = asked.value"

_STATES = f"SELECT json_group_object(entries.id, json_array(doc, version, updated_at)) {_ASKED}"
_BODIES = f"SELECT '[' || group_concat(body) || ']' {_ASKED}"
_ENTRIES = TypeAdapter(list[Entry])

_State = list[int]
"""Document, version and time of the last change: whatever changes an entry changes one of them."""


class _Held(NamedTuple):
    state: _State
    read_at: float
    entry: Entry


class RecentEntries:
    """The entries that were read last, each for a minute. Several threads may read at the same time."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def read(self, connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Entry]:
        """The entries of these ids in the order asked, as the connection sees them; unknown ones are missing."""
        found: dict[str, Entry] = {}
        for chunk in chunks(ids):
            states: dict[str, _State] = in_one_row(connection, _STATES, (json.dumps(chunk),))
            known = self._known(states)
            if missing := [id_ for id_ in states if id_ not in known]:
                (bodies,) = connection.execute(_BODIES, (json.dumps(missing),)).fetchone()
                read = {entry.id: entry for entry in _ENTRIES.validate_json(bodies)}
                self._keep(read, states)
                known |= read
            found |= {id_: known[id_] for id_ in chunk if id_ in known}
        return found

    def drop(self, ids: Collection[str] | None = None) -> None:
        """Keep nothing of these entries, or of any."""
        with self._lock:
            for id_ in list(self._held) if ids is None else ids:
                self._held.pop(id_, None)

    def _known(self, states: Mapping[str, _State]) -> dict[str, Entry]:
        oldest = time.monotonic() - _KEPT
        with self._lock:
            held = {id_: self._held[id_] for id_ in states if id_ in self._held}
        return {i: one.entry for i, one in held.items() if one.state == states[i] and one.read_at > oldest}

    def _keep(self, entries: Mapping[str, Entry], states: Mapping[str, _State]) -> None:
        """Keep these entries as the newest; those go that are too old, or too many."""
        now = time.monotonic()
        with self._lock:
            for id_, entry in entries.items():
                self._held.pop(id_, None)
                self._held[id_] = _Held(states[id_], now, entry)
            while self._held:
                oldest = next(iter(self._held))
                if len(self._held) <= _MOST and self._held[oldest].read_at > now - _KEPT:
                    return
                del self._held[oldest]
