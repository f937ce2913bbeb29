"""Which entry was said before and after which in its session, kept in memory for the scopes that were asked lately.

What is kept of an entry is true in every state of the file in which the entry is active and its scope has the same
`moved`: triggers give a scope another one when it is made, and when an entry in it changes its place or is deleted. Who
reads looks that number up, and which entries are active, in the state of the file that they see; what is not here yet
is read from it. So nobody has to tell of new entries, or of other changes, whatever process made them.

Only numbers and ids are kept, nothing of what was said.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from services.shared.stores.sqlite import postings
from services.shared.stores.sqlite.changelog import changes_between
from services.shared.stores.sqlite.keys import NUMBER_BITS, in_one_row
from services.shared.stores.sqlite.known_terms import KnownTerms
from services.shared.stores.sqlite.postings import BLOCK, NOWHERE, Layout, Postings
from services.shared.stores.sqlite.terms import LENGTH

_MOST = 2_000_000
"""Places that are kept of all scopes together, 32 bytes each."""

_NAME = 7
"""So many places weigh as much as an id."""

_POSTINGS = 3
"""So many postings weigh as much as a place."""

_MOST_POSTINGS = 8
"""Postings of terms that are kept for each place."""

_MANY = 200
"""So many entries, and an eighth of their scopes, are found faster among all of these than one by one."""

_FEW = 64
"""So few entries are put into the order one by one."""

_UNKNOWN, _MISSING, _NONE = -3, -2, -1
"""Instead of the number of a session: not read yet, not in the file, of no session."""

Places = NDArray[np.int64]

_STATES = """
SELECT json_group_array(json_array(moved, changed, numbered)) FROM json_each(?) AS asked
    CROSS JOIN scopes ON scope = asked.value"""

_ROWS = """
SELECT json_group_array(json_array(doc, coalesce(session, -1), created_at, entries.id)) FROM json_each(?) AS asked
    CROSS JOIN entries ON entries.doc = asked.value"""

# Both are read from indexes alone: rows, which hold the text, take ten times as long.
_SAID_AT = """
SELECT group_concat(doc || ',' || created_at) FROM entries INDEXED BY entries_said
WHERE scope = ? AND status = 'active'"""
_IN_SESSIONS = """
SELECT group_concat(spot || ',' || entries.session) FROM scopes CROSS JOIN sessions USING (user_id, space)
    CROSS JOIN entries INDEXED BY entries_around ON entries.session = sessions.session
WHERE scopes.scope = ?1 AND status = 'active' AND entries.session IS NOT NULL AND spot >> 32 = ?1"""


_States = list[list[int]]
"""Of each scope `moved`, which holds for all that is known of places, and what else every change changes."""


@dataclass(frozen=True, slots=True)
class Order:
    """The sessions as they are in one state of the file. Places are those of a layout."""

    states: _States
    active: NDArray[np.bool_]
    length: NDArray[np.uint16]
    """By place: how many words an active entry has, at most `postings.MOST`."""
    mean_length: float
    row: NDArray[np.int32]
    """The active entries that have a session, one session after the other, each in the order said."""
    at: NDArray[np.int32]
    """By place: where it stands in `row`, if it does."""
    session: NDArray[np.int64]

    def stored(self, places: Places) -> Places:
        """Those of these places whose entries are in the file."""
        found: Places = places[self.session[places] != _MISSING]
        return found

    def windows(self, places: Places, reach: int) -> Places:
        """Shape (places, 2·reach + 1): the places around each of these active ones in its session, −1 where none is."""
        at = self.at[places][:, None] + np.arange(-reach, reach + 1)
        windows = np.full(at.shape, -1, np.int64)
        if self.row.size:
            near, mine = self.row.take(at, mode="clip"), self.session[places][:, None]
            inside = (at >= 0) & (at < self.row.size) & (mine >= 0)
            np.copyto(windows, near, where=inside & (self.session[near] == mine))
        windows[:, reach] = places
        return windows


class Sessions:
    """The sessions that a few scopes see together. Several threads may ask at the same time."""

    def __init__(self, layout: Layout, states: _States) -> None:
        self._starts = dict(layout.starts)
        self._moved = [moved for moved, *_ in states]
        self._lock = threading.Lock()
        self._session = np.empty(0, np.int64)
        self._said_at = np.empty(0, np.int64)
        self._row = np.empty(0, np.int32)
        self._order: Order | None = None
        self._names: dict[int, str] = {}
        self._terms = KnownTerms()

    def fits(self, layout: Layout, states: _States) -> bool:
        """Whether what is kept is true in this state."""
        return self._starts == layout.starts and self._moved == [moved for moved, *_ in states]

    @property
    def weight(self) -> int:
        """What it weighs, in places."""
        return self._session.size + _NAME * len(self._names) + self._terms.size // _POSTINGS

    def order(self, connection: sqlite3.Connection, layout: Layout, states: _States) -> Order:
        """The sessions as the connection sees them."""
        with self._lock:
            if self._order is None or self._order.states != states:
                self._order = self._read_order(connection, layout, states)
            return self._order

    def named(
        self, connection: sqlite3.Connection, layout: Layout, places: Places
    ) -> tuple[list[str], NDArray[np.int64]]:
        """The ids and the times of the entries at these places, all of which are in the file."""
        asked = places.tolist()
        with self._lock:
            if missing := [place for place in asked if place not in self._names]:
                self._read(connection, layout, np.unique(missing))
            return list(map(self._names.__getitem__, asked)), self._said_at[places]

    def postings(
        self, connection: sqlite3.Connection, layout: Layout, order: Order, terms: Collection[str]
    ) -> dict[str, Postings]:
        """The postings of each term as the connection sees them; terms that occur nowhere are missing."""
        with self._lock:
            if self._order is None or self._order.states != order.states:  # somebody else sees another state
                return postings.read(connection, layout, terms)
            return self._terms.read(connection, layout, terms, _MOST_POSTINGS * layout.size)

    def _read_order(self, connection: sqlite3.Connection, layout: Layout, states: _States) -> Order:
        changed = self._changed_blocks(connection, layout, states)
        if changed is None:
            self._terms.clear()
        else:
            self._terms.note(changed)
        known = self._terms.read(connection, layout, [LENGTH], _MOST_POSTINGS * layout.size)
        lengths = known.get(LENGTH, NOWHERE)
        active, length = self._activity(layout, lengths, changed)
        mean = float(lengths.counts.mean()) if lengths.counts.size else 0.0
        held = self._order
        if held is not None and np.array_equal(held.active, active):
            return replace(held, states=states, length=length, mean_length=mean)
        self._grow(layout.size)
        self._learn(connection, layout, np.flatnonzero(active & (self._session[: active.size] == _UNKNOWN)))
        return self._ordered(states, active, length, mean)

    def _activity(
        self, layout: Layout, lengths: Postings, changed: set[int] | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint16]]:
        """By place: whether its entry is active, and how many words it has. Only some blocks changed, or any may."""
        held = self._order
        if held is None or changed is None or held.active.size != layout.size:
            active, length = np.zeros(layout.size, np.bool_), np.zeros(layout.size, np.uint16)
            active[lengths.places], length[lengths.places] = True, lengths.counts
            return active, length
        active, length = held.active.copy(), held.length.copy()
        for block in changed:
            start, end = block * BLOCK, (block + 1) * BLOCK
            here = slice(*np.searchsorted(lengths.places, [start, end]))
            active[start:end], length[start:end] = False, 0
            active[lengths.places[here]], length[lengths.places[here]] = True, lengths.counts[here]
        return active, length

    def _changed_blocks(self, connection: sqlite3.Connection, layout: Layout, states: _States) -> set[int] | None:
        """The blocks of entries that are found by other words than in the order that is held; None: any may be."""
        held, blocks = self._order, set[int]()
        if held is None:
            return None
        for scope, (_, since, before), (_, until, numbered) in zip(layout.starts, held.states, states, strict=True):
            changes = changes_between(connection, scope, since, until)
            if changes is None or numbered < before:
                return None
            docs = [one.doc for one in changes if one.reworded]
            docs += [(scope << NUMBER_BITS) + number for number in range(before + 1, numbered + 1)]
            blocks.update((layout.places(np.array(docs, np.int64)) // BLOCK).tolist())
        return blocks

    def _grow(self, size: int) -> None:
        if (more := size - self._session.size) > 0:
            self._session = np.concatenate([self._session, np.full(more, _UNKNOWN)])
            self._said_at = np.concatenate([self._said_at, np.zeros(more, np.int64)])

    def _learn(self, connection: sqlite3.Connection, layout: Layout, places: Places) -> None:
        """Read where the entries at these places stand."""
        if places.size > max(_MANY, self._session.size >> 3):
            self._read_all(connection, layout)
            places = places[self._session[places] == _UNKNOWN]
        if places.size:
            found, its = self._read(connection, layout, places)
            self._session[places] = _MISSING
            self._session[found] = its
            self._put_in_order(found)

    def _read(self, connection: sqlite3.Connection, layout: Layout, places: Places) -> tuple[Places, Places]:
        """Read the rows of entries; the places of those that are in the file, and their sessions."""
        rows = in_one_row(connection, _ROWS, (json.dumps(layout.docs(places).tolist()),))
        docs, its, times = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
        found = layout.places(docs)
        self._said_at[found] = times
        self._names.update(zip(found.tolist(), (row[3] for row in rows), strict=True))
        return found, its

    def _read_all(self, connection: sqlite3.Connection, layout: Layout) -> None:
        """Read where all active entries of the scopes stand."""
        read = [_pairs(connection, query, scope) for scope in layout.starts for query in (_SAID_AT, _IN_SESSIONS)]
        for (said, times), (in_sessions, sessions) in zip(read[::2], read[1::2], strict=True):
            places = layout.places(said)
            self._session[places], self._said_at[places] = _NONE, times
            self._session[layout.places(in_sessions)] = sessions
        self._row = np.empty(0, np.int32)
        self._put_in_order(np.flatnonzero(self._session >= 0))

    def _put_in_order(self, places: Places) -> None:
        """Put entries that are new to it into the row of all entries."""
        places = places[self._session[places] >= 0]
        if places.size > _FEW:
            rows = np.concatenate([self._row, places])
            order = np.lexsort((rows, self._said_at[rows], self._session[rows]))
            self._row = rows[order].astype(np.int32)
        else:
            new = sorted(places.tolist(), key=self._position)
            at = [bisect_left(self._row, self._position(place), key=self._position) for place in new]
            self._row = np.insert(self._row, at, new)

    def _position(self, place: int) -> tuple[int, int, int]:
        return self._session[place], self._said_at[place], place

    def _ordered(self, states: _States, active: NDArray[np.bool_], length: NDArray[np.uint16], mean: float) -> Order:
        row = self._row if active.size == self._session.size else self._row[self._row < active.size]
        if not (kept := active[row]).all():
            row = row[kept]
        at, first = np.zeros(active.size, np.int32), 0
        if self._order is not None and self._order.at.size <= at.size:
            at[: self._order.at.size] = self._order.at
            first = _same(self._order.row, row)
        at[row[first:]] = np.arange(first, row.size, dtype=np.int32)
        return Order(states, active, length, mean, row, at, self._session[: active.size])


def _same(row: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    """How many of the first numbers of two rows are the same."""
    shorter = min(row.size, other.size)
    different = row[:shorter] != other[:shorter]
    return int(different.argmax()) if different.any() else shorter


def _pairs(connection: sqlite3.Connection, query: str, scope: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Documents of a scope with a number each, read as one text: a row for each would be made an object of its own."""
    (text,) = connection.execute(query, (scope,)).fetchone()
    pairs = np.fromstring(text, np.int64, sep=",").reshape(-1, 2) if text else np.empty((0, 2), np.int64)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


class SessionCache:
    """The sessions of the scopes asked last. Several threads may ask at the same time."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, ...], tuple[Sessions, int]] = {}
        self._weight = 0
        self._lock = threading.Lock()

    def of(self, connection: sqlite3.Connection, layout: Layout) -> tuple[Sessions, Order]:
        """The sessions of the scopes that are laid out, and their order as the connection sees it."""
        states = in_one_row(connection, _STATES, (json.dumps(list(layout.starts)),))
        sessions = self._sessions(layout, states)
        return sessions, sessions.order(connection, layout, states)

    def _sessions(self, layout: Layout, states: _States) -> Sessions:
        scopes = tuple(layout.starts)
        with self._lock:
            sessions = self._taken(scopes)
            if sessions is None or not sessions.fits(layout, states):
                sessions = Sessions(layout, states)
            weight = max(sessions.weight, layout.size)
            self._held[scopes] = sessions, weight
            self._weight += weight
            while self._weight > _MOST and len(self._held) > 1:
                self._taken(next(iter(self._held)))
            return sessions

    def drop(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._held.clear()
            self._weight = 0

    def _taken(self, scopes: tuple[int, ...]) -> Sessions | None:
        sessions, weight = self._held.pop(scopes, (None, 0))
        self._weight -= weight
        return sessions
