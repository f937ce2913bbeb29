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
from services.shared.core import bm25
from services.shared.core.analysis import Alternatives
from services.shared.stores import lexical
from services.shared.stores.decisions import owners
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite import postings, records
from services.shared.stores.sqlite.engine import Engine, reading
from services.shared.stores.sqlite.keys import NUMBER_BITS, in_one_row, marks, visible_scopes
from services.shared.stores.sqlite.postings import NOWHERE, Layout, Postings
from services.shared.stores.sqlite.terms import LENGTH, required

_WINDOW = 2 * bm25.REACH
"""Turns to look at on each side of a candidate: those within REACH of a turn within REACH of it."""

Places = NDArray[np.int64]

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

_NAMES = """
SELECT json_group_array(json_array(doc, entries.id, created_at)) FROM json_each(?) AS asked
    CROSS JOIN entries ON entries.doc = asked.value"""

_OWNED = """
SELECT json_group_array(json_array(doc, entries.id, user_id)) FROM json_each(?) AS asked
    CROSS JOIN entries ON entries.id = asked.value JOIN scopes USING (scope)"""


@dataclass(frozen=True, slots=True)
class _Matches:
    """What the postings say about a query: which terms are where, and which places may be returned."""

    layout: Layout
    terms: list[Postings]
    weights: bm25.Floats
    lengths: Postings
    turn_scores: bm25.Floats
    active: NDArray[np.bool_]
    allowed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Scored:
    """Places of turns with what the whole query gives them, in the same order."""

    places: Places
    scores: bm25.Floats
    coverage: bm25.Floats
    around: Places
    """Shape (places, 2 · reach + 1): the places around each in its session, −1 where nothing is."""


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
        matches = _match(db, Layout(scopes), words, filters)
        candidates = _candidates(matches, lexical.candidates(limit))
        if not candidates.size:
            return []
        scored = _score(matches, _windows(db, matches.layout, candidates), limit, min(reach, bm25.REACH))
        return _hits(db, matches, scored)[:limit]

    @reading
    def frequencies(self, db: sqlite3.Connection, scope: Scope, terms: Sequence[str]) -> dict[str, int]:
        return postings.frequencies(db, [number for number, _ in visible_scopes(db, scope)], terms)

    @reading
    def neighbours(self, db: sqlite3.Connection, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none."""
        ids_by_doc = _docs(db, owners(refs))
        around: dict[int, dict[int, int]] = {}
        for visible, docs in _by_visible_scopes(db, ids_by_doc).items():
            for doc, before, after in windows_of(db, docs, visible=visible, reach=max(0, reach)):
                around[doc] = _distances(before, -1) | _distances(after, 1)
        names = ids_by_doc | records.ids(db, {near for window in around.values() for near in window.values()})
        return {names[doc]: {far: names[near] for far, near in window.items()} for doc, window in around.items()}


def _match(connection: sqlite3.Connection, layout: Layout, words: list[Alternatives], filters: Filters) -> _Matches:
    groups = required(filters)
    wanted = [*chain.from_iterable(words), LENGTH, *chain.from_iterable(groups)]
    found = postings.read(connection, layout, wanted)
    terms = [postings.merged([found[term] for term in word if term in found]) for word in words]
    lengths = found.get(LENGTH, NOWHERE)
    active = np.zeros(layout.size, np.bool_)
    active[lengths.places] = True
    weights = [bm25.idf(lengths.places.size, where.places.size) for where in terms]
    turn_scores = np.zeros(layout.size)
    for where, weight in zip(terms, weights, strict=True):
        turn_scores[where.places] += bm25.turn_scores(weight)[where.counts]
    allowed = active
    if not filters.empty:
        allowed = active & postings.having(layout, found, groups) & _passing(connection, layout, filters)
    return _Matches(layout, terms, np.array(weights), lengths, turn_scores, active, allowed)


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
    looks = own + bm25.decayed(np.pad(own, bm25.REACH))
    looks[~matches.active] = 0
    if matches.allowed is matches.active:
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
    least = np.partition(scores, -count)[-count]
    if least <= 0:
        return np.flatnonzero(scores > 0)
    above = np.flatnonzero(scores > least)
    return np.concatenate([above, np.flatnonzero(scores == least)[above.size - count :]])


def _windows(connection: sqlite3.Connection, layout: Layout, candidates: Places) -> Places:
    """Windows that have every candidate at most REACH from their middle.

    One window serves candidates next to each other, which candidates often are. Neighbours in the store mostly are
    neighbours in their session; the others get windows of their own.
    """
    windows = _windows_at(connection, layout, _spaced(np.sort(candidates)))
    covered = np.zeros(layout.size + 1, np.bool_)  # place −1 is the last
    covered[windows[:, bm25.REACH : -bm25.REACH]] = True
    left = candidates[~covered[candidates]]
    return np.concatenate([windows, _windows_at(connection, layout, left)]) if left.size else windows


def _spaced(places: Places) -> Places:
    """Of ascending places some that are more than REACH apart, so that each place is at most REACH behind one."""
    kept = [int(places[0])]
    for place in places.tolist():
        if place - kept[-1] > bm25.REACH:
            kept.append(place)
    return np.array(kept)


def _windows_at(connection: sqlite3.Connection, layout: Layout, middles: Places) -> Places:
    """Shape (middles, 2·_WINDOW + 1): the places around each middle in its session, −1 where nothing is."""
    docs = layout.docs(middles).tolist()
    rows = list(windows_of(connection, docs, visible=list(layout.starts), reach=_WINDOW))
    windows = np.full((len(rows), 2 * _WINDOW + 1), -1, np.int64)
    windows[:, _WINDOW] = layout.places(np.array([doc for doc, _, _ in rows]))
    _fill(windows, layout, [before for _, before, _ in rows], -1)
    _fill(windows, layout, [after for _, _, after in rows], 1)
    return windows


def _fill(windows: Places, layout: Layout, lists: list[str], direction: int) -> None:
    """Write comma-separated documents, the nearest first, into the columns before (-1) or after (1) the middle."""
    sizes = np.array([docs.count(",") + 1 if docs else 0 for docs in lists])
    if not sizes.any():
        return
    docs = np.fromstring(",".join(filter(None, lists)), np.int64, sep=",")
    firsts = np.cumsum(sizes) - sizes
    distances = np.arange(docs.size) - np.repeat(firsts, sizes) + 1
    windows[np.repeat(np.arange(sizes.size), sizes), _WINDOW + direction * distances] = layout.places(docs)


def _score(matches: _Matches, windows: Places, limit: int, reach: int) -> _Scored:
    """The exact score of the best places that may be returned and are at most REACH from the middle of a window."""
    mean_length = float(matches.lengths.counts.mean())
    scores, coverage = bm25.context_scores(_counts(matches, windows), matches.weights, mean_length)
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
    found = np.zeros(matches.layout.size + 1, np.bool_)  # place −1 is the last
    found[windows] = True
    known = np.flatnonzero(found[:-1])
    slots = np.zeros(matches.layout.size + 1, np.int32)  # slot 0 is nobody; place −1 is the last of `slots`
    slots[known] = np.arange(1, known.size + 1, dtype=np.int32)
    counts = np.zeros((len(matches.terms) + 1, known.size + 1))
    for row, where in zip(counts, [*matches.terms, matches.lengths], strict=True):
        row[slots[where.places]] = where.counts
    counts[:, 0] = 0
    return counts[:, slots[windows]]


def _hits(connection: sqlite3.Connection, matches: _Matches, scored: _Scored) -> list[LexicalHit]:
    docs = matches.layout.docs(scored.places).tolist()
    around = matches.layout.docs(np.maximum(scored.around, 0))
    around[scored.around < 0] = -1
    asked = np.union1d(docs, around[around >= 0]).tolist()
    known = {doc: (id_, created_at) for doc, id_, created_at in in_one_row(connection, _NAMES, (json.dumps(asked),))}
    reach = around.shape[1] // 2
    near = (
        {distance - reach: known[doc][0] for distance, doc in enumerate(row) if doc >= 0 and distance != reach}
        for row in around.tolist()
    )
    turn_scores = matches.turn_scores[scored.places].tolist()
    found = zip(docs, scored.scores.tolist(), turn_scores, scored.coverage.tolist(), near, strict=True)
    return lexical.ranked((LexicalHit(known[doc][0], *of), known[doc][1]) for doc, *of in found)


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


def _by_visible_scopes(connection: sqlite3.Connection, docs: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for doc in docs:
        groups[doc >> NUMBER_BITS].append(doc)
    return {(scope, _common(connection, scope)): members for scope, members in groups.items()}


def _common(connection: sqlite3.Connection, scope: int) -> int:
    """The scope of the same user and space and no persona; the scope itself when there is none."""
    row = connection.execute(
        """SELECT common.scope FROM scopes AS own JOIN scopes AS common USING (user_id, space)
        WHERE own.scope = ? AND common.persona_id = ''""",
        (scope,),
    ).fetchone()
    return row[0] if row else scope


def _distances(docs: str, sign: int) -> dict[int, int]:
    near = [int(doc) for doc in docs.split(",")] if docs else []
    return {sign * distance: doc for distance, doc in enumerate(near, start=1)}
