"""Search by words: the turns that have them, and the turns around those, ranked by BM25 with decayed context.

The postings give every matching turn a score of its own. The best become candidates; these and the turns around them
get their exact score, from the exact term counts of all that was said around each.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Filters, LexicalHit, Ref, Scope
from services.shared.ranking import bm25
from services.shared.stores import lexical
from services.shared.stores.decisions import owners
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite import postings, records
from services.shared.stores.sqlite.engine import Engine, glancing, reading
from services.shared.stores.sqlite.keys import NUMBER_BITS, in_one_row, marks, visible_scopes
from services.shared.stores.sqlite.postings import Layout, Postings
from services.shared.stores.sqlite.sessions import Order, Places
from services.shared.stores.sqlite.terms import required

_WINDOW = 2 * bm25.REACH
"""Turns to look at on each side of a candidate: those within REACH of a turn within REACH of it."""

# The + keeps SQLite from comparing as NUMERIC, for which it would not use the last column of the index.
_WINDOWS = """
SELECT json_group_array(json_array(here.doc,
    (SELECT group_concat(spot) FROM (
        SELECT near.spot FROM entries AS near
        WHERE near.session = here.session AND near.status = 'active' AND near.spot >> 32 IN ({visible})
            AND (near.created_at, near.spot) < (here.created_at, +here.spot)
        ORDER BY near.created_at DESC, near.spot DESC LIMIT :reach)),
    (SELECT group_concat(spot) FROM (
        SELECT near.spot FROM entries AS near
        WHERE near.session = here.session AND near.status = 'active' AND near.spot >> 32 IN ({visible})
            AND (near.created_at, near.spot) > (here.created_at, +here.spot)
        ORDER BY near.created_at, near.spot LIMIT :reach))))
FROM json_each(:docs) AS asked CROSS JOIN entries AS here ON here.doc = asked.value"""
assert NUMBER_BITS == 32

_OWNED = """
SELECT json_group_array(json_array(doc, entries.id, user_id)) FROM json_each(?) AS asked
    CROSS JOIN entries ON entries.id = asked.value JOIN scopes USING (scope)"""


_SEEN_FROM = """
SELECT seen.scope, seen.numbered FROM scopes AS own JOIN scopes AS seen USING (user_id, space)
WHERE own.scope = ?1 AND (seen.scope = ?1 OR seen.persona_id = '') ORDER BY seen.scope"""

_GROUP = 16
"""So many scores are looked at together to find the highest."""

_MANY = 32
"""Of so many terms the postings are not worth reading to count them: most of them occur nowhere."""

_FEW = 8
"""The neighbours of so few entries are read without looking at all of their scope."""


@dataclass(frozen=True, slots=True)
class _Matches:
    """What the postings say about a query: which terms are where, and which places may be returned."""

    order: Order
    terms: list[Postings]
    weights: bm25.Floats
    turn_scores: bm25.Floats
    allowed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Scored:
    """Places of turns with what the whole query gives them, in the same order."""

    places: Places
    scores: bm25.Floats
    coverage: bm25.Floats
    around: Places
    """Shape (places, 2 · reach + 1): the places around each in its session, −1 where nothing is."""

    @property
    def shown(self) -> Places:
        """The places, and then all that are around them, one row after the other."""
        return np.concatenate([self.places, self.around[self.around >= 0]])


class SqliteIndex(Engine):
    """`contracts.ports.LexicalIndex`."""

    @reading
    def search(
        self, db: sqlite3.Connection, scope: Scope, query: str, *, limit: int, filters: Filters, reach: int = 0
    ) -> list[LexicalHit]:
        words = lexical.terms_of(query)
        scopes = visible_scopes(db, scope)
        if not words or not scopes or limit < 1:
            return []
        layout = Layout(scopes)
        sessions, order = self.sessions.of(db, layout)
        found = sessions.postings(db, layout, order, list(chain.from_iterable(words)))
        terms = [postings.merged([found[term] for term in word if term in found]) for word in words]
        matches = _match(db, layout, order, terms, filters)
        candidates = _candidates(matches, lexical.candidates(limit))
        if not candidates.size:
            return []
        scored = _score(matches, _windows(order, candidates), limit, min(reach, bm25.REACH))
        names, times = sessions.named(db, layout, scored.shown)
        return _hits(matches, scored, names, times)[:limit]

    @glancing
    def frequencies(self, db: sqlite3.Connection, scope: Scope, terms: Sequence[str]) -> dict[str, int]:
        scopes = visible_scopes(db, scope)
        if len(terms) > _MANY:
            return postings.frequencies(db, [number for number, _ in scopes], terms)
        layout = Layout(scopes)
        sessions, order = self.sessions.of(db, layout)
        found = sessions.postings(db, layout, order, terms)
        return {term: where.places.size for term, where in found.items()}

    @glancing
    def neighbours(self, db: sqlite3.Connection, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none."""
        ids, reach = _docs(db, owners(refs)), max(0, reach)
        around: dict[str, dict[int, str]] = {}
        for layout, docs in _by_visible_scopes(db, ids):
            if len(docs) >= _FEW:
                around |= self._kept_neighbours(db, layout, {doc: ids[doc] for doc in docs}, reach)
            if others := {doc: ids[doc] for doc in docs if ids[doc] not in around}:
                around |= _neighbours(db, layout, others, reach)
        return around

    def _kept_neighbours(
        self, db: sqlite3.Connection, layout: Layout, ids: Mapping[int, str], reach: int
    ) -> dict[str, dict[int, str]]:
        """The neighbours of entries, given as id by document, as far as they are active."""
        (sessions, order), places = self.sessions.of(db, layout), layout.places(np.array(list(ids)))
        active = order.active[places]
        windows = order.windows(places[active], reach)
        windows[:, reach] = -1
        rows, columns = np.nonzero(windows >= 0)
        names, _ = sessions.named(db, layout, windows[rows, columns])
        named = [id_ for id_, is_active in zip(ids.values(), active.tolist(), strict=True) if is_active]
        around: dict[str, dict[int, str]] = {id_: {} for id_ in named}
        for row, column, name in zip(rows.tolist(), columns.tolist(), names, strict=True):
            around[named[row]][column - reach] = name
        return around


def _match(
    connection: sqlite3.Connection, layout: Layout, order: Order, terms: list[Postings], filters: Filters
) -> _Matches:
    total = int(np.count_nonzero(order.active))
    weights = [bm25.idf(total, where.places.size) for where in terms]
    turn_scores = np.zeros(layout.size)
    for where, weight in zip(terms, weights, strict=True):
        turn_scores[where.places] += bm25.turn_scores(weight)[where.counts]
    allowed = order.active
    if not filters.empty:
        allowed = allowed & _labelled(connection, layout, filters) & _passing(connection, layout, filters)
    return _Matches(order, terms, np.array(weights), turn_scores, allowed)


def _labelled(connection: sqlite3.Connection, layout: Layout, filters: Filters) -> NDArray[np.bool_]:
    """By place: whether it has the labels that the filters ask for."""
    groups = required(filters)
    return postings.having(layout, postings.read(connection, layout, chain.from_iterable(groups)), groups)


def _passing(connection: sqlite3.Connection, layout: Layout, filters: Filters) -> NDArray[np.bool_]:
    """By place: whether it was said when and where the filters ask for."""
    scopes = tuple(layout.starts)
    active = f"SELECT doc FROM entries WHERE scope IN ({marks(scopes)}) AND status = 'active' AND "
    passing = np.ones(layout.size, np.bool_)
    if filters.since is not None:
        passing &= _at(connection, layout, f"{active} last_said_at >= ?", (*scopes, microseconds(filters.since)))
    if filters.until is not None:  # few are later, and none of these was last said before
        at = microseconds(filters.until)
        passing &= ~_at(connection, layout, f"{active} last_said_at > ? AND created_at > ?", (*scopes, at, at))
    if filters.conversation_id is not None:
        there = f"SELECT doc FROM entry_conversations WHERE scope IN ({marks(scopes)}) AND conversation_id = ?"
        passing &= _at(connection, layout, there, (*scopes, filters.conversation_id))
    return passing


def _at(connection: sqlite3.Connection, layout: Layout, query: str, values: tuple[object, ...]) -> NDArray[np.bool_]:
    """By place: whether the query finds its document."""
    docs = np.fromiter((doc for (doc,) in connection.execute(query, values)), np.int64)
    found = np.zeros(layout.size, np.bool_)
    found[layout.places(docs)] = True
    return found


def _candidates(matches: _Matches, count: int) -> Places:
    """The turns that look best when the entries stored next to each other are taken for neighbours.

    Where conversations were stored turn by turn that is wrong, so a turn's own score counts twice. With filters, the
    best of those that pass as well; when few pass, all of them.
    """
    own = matches.turn_scores.astype(np.float32)
    padded = np.zeros(own.size + 2 * bm25.REACH, np.float32)
    padded[bm25.REACH : -bm25.REACH] = own
    looks = own + bm25.decayed(padded)
    looks[~matches.order.active] = 0
    if matches.allowed is matches.order.active:
        return _top(looks, count)
    passing = np.flatnonzero(matches.allowed)
    if not passing.size:
        return passing
    if passing.size > 2 * count:
        passing = _top(np.where(matches.allowed, looks, np.float32(0)), count)
    return np.union1d(_top(looks, count), passing)


def _top(scores: NDArray[np.float32], count: int) -> Places:
    """The places of the highest scores above 0; among equal ones those stored last. Ascending but for the equal."""
    if count >= scores.size:
        return np.flatnonzero(scores > 0)
    least = _least_of_best(scores, count)
    if least <= 0:
        return np.flatnonzero(scores > 0)
    above = np.flatnonzero(scores > least)
    return np.concatenate([above, np.flatnonzero(scores == least)[above.size - count :]])


def _least_of_best(scores: NDArray[np.float32], count: int) -> np.float32:
    """The least of the `count` highest scores. The highest of groups of scores leave few that can be among them."""
    highest = scores[: scores.size // _GROUP * _GROUP].reshape(_GROUP, -1).max(axis=0)
    if highest.size >= count:
        scores = scores[scores >= np.partition(highest, -count)[-count]]
    least: np.float32 = np.partition(scores, -count)[-count]
    return least


def _windows(order: Order, candidates: Places) -> Places:
    """Windows that have every candidate at most REACH from their middle.

    One window serves candidates next to each other, which candidates often are. Neighbours in the store mostly are
    neighbours in their session; the others get windows of their own.
    """
    windows = order.windows(order.stored(_spaced(np.sort(candidates))), _WINDOW)
    covered = np.zeros(order.active.size + 1, np.bool_)  # place −1 is the last
    covered[windows[:, bm25.REACH : -bm25.REACH]] = True
    left = candidates[~covered[candidates]]
    return np.concatenate([windows, order.windows(order.stored(left), _WINDOW)]) if left.size else windows


def _spaced(places: Places) -> Places:
    """Of ascending places some that are more than REACH apart, so that each place is at most REACH behind one."""
    kept = [int(places[0])]
    for place in places.tolist():
        if place - kept[-1] > bm25.REACH:
            kept.append(place)
    return np.array(kept)


def _score(matches: _Matches, windows: Places, limit: int, reach: int) -> _Scored:
    """The exact score of the best places that may be returned and are at most REACH from the middle of a window."""
    counts, order = _counts(matches, windows), matches.order
    scores, coverage = bm25.context_scores(counts, matches.weights, order.mean_length)
    places = windows[:, bm25.REACH : -bm25.REACH]
    rows, columns = np.nonzero((places >= 0) & (scores > 0) & matches.allowed[places])
    places, first = np.unique(places[rows, columns], return_index=True)
    rows, columns = rows[first], columns[first]
    best = bm25.best(scores[rows, columns], limit)
    rows, columns = rows[best], columns[best]
    around = windows[rows[:, None], columns[:, None] + bm25.REACH + np.arange(-reach, reach + 1)]
    return _Scored(places[best], scores[rows, columns], coverage[rows, columns], around)


def _counts(matches: _Matches, windows: Places) -> bm25.Floats:
    """Shape (terms + 1, *windows.shape): how often each term, and at last any, occurs at each place."""
    size = matches.order.active.size
    found = np.zeros(size + 1, np.bool_)  # place −1 is the last
    found[windows] = True
    known = np.flatnonzero(found[:-1])
    slots = np.zeros(size + 1, np.int32)  # slot 0 is nobody; place −1 is the last of `slots`
    slots[known] = np.arange(1, known.size + 1, dtype=np.int32)
    counts = np.zeros((len(matches.terms) + 1, known.size + 1))
    for row, where in zip(counts, matches.terms, strict=False):
        row[slots[where.places]] = where.counts
    counts[-1, 1:] = matches.order.length[known]
    counts[:, 0] = 0
    return counts[:, slots[windows]]


def _hits(matches: _Matches, scored: _Scored, names: list[str], times: NDArray[np.int64]) -> list[LexicalHit]:
    count, reach = scored.places.size, scored.around.shape[1] // 2
    near: list[dict[int, str]] = [{} for _ in range(count)]
    rows, columns = (part.tolist() for part in np.nonzero(scored.around >= 0))
    for row, column, name in zip(rows, columns, names[count:], strict=True):
        if column != reach:
            near[row][column - reach] = name
    turn_scores = matches.turn_scores[scored.places].tolist()
    found = zip(names, scored.scores.tolist(), turn_scores, scored.coverage.tolist(), near, strict=False)
    return lexical.ranked((LexicalHit(*of), at) for of, at in zip(found, times.tolist(), strict=False))


def windows_of(
    connection: sqlite3.Connection, docs: Sequence[int], *, visible: Sequence[int], reach: int
) -> Iterable[tuple[int, str, str]]:
    """(document, those before it, those after it), both comma-separated, the nearest first, at most `reach` each.

    Only entries of the `visible` scopes are seen. Entries of one moment are in the order stored.
    """
    named = {f"scope{number}": scope for number, scope in enumerate(visible)}
    query = _WINDOWS.format(visible=", ".join(f":{name}" for name in named))
    rows = in_one_row(connection, query, {"docs": json.dumps(list(docs)), "reach": reach, **named})
    return ((doc, before or "", after or "") for doc, before, after in rows)


def _docs(connection: sqlite3.Connection, users: Mapping[str, str]) -> dict[int, str]:
    rows = in_one_row(connection, _OWNED, (json.dumps(list(users)),))
    return {doc: id_ for doc, id_, user_id in rows if users[id_] == user_id}


def _by_visible_scopes(connection: sqlite3.Connection, docs: Iterable[int]) -> Iterable[tuple[Layout, list[int]]]:
    """The documents of each scope, with the scopes that are seen from it: it, and the part of no persona."""
    groups: dict[int, list[int]] = defaultdict(list)
    for doc in docs:
        groups[doc >> NUMBER_BITS].append(doc)
    for scope, members in groups.items():
        yield Layout(connection.execute(_SEEN_FROM, (scope,)).fetchall()), members


def _neighbours(
    connection: sqlite3.Connection, layout: Layout, ids: Mapping[int, str], reach: int
) -> dict[str, dict[int, str]]:
    """The neighbours of a few entries, given as id by document, read one by one."""
    found = windows_of(connection, list(ids), visible=list(layout.starts), reach=reach)
    around = {doc: _distances(before, -1) | _distances(after, 1) for doc, before, after in found}
    names = records.ids(connection, {near for window in around.values() for near in window.values()})
    return {ids[doc]: {far: names[near] for far, near in window.items()} for doc, window in around.items()}


def _distances(docs: str, sign: int) -> dict[int, int]:
    near = [int(doc) for doc in docs.split(",")] if docs else []
    return {sign * distance: doc for distance, doc in enumerate(near, start=1)}
