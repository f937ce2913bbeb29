"""Search by words: the turns that have them, and the turns around those, ranked by BM25 with decayed context.

The postings give every matching turn a score of its own. The best become candidates; these and the turns around them
get their exact score, from the exact term counts of all that was said around each.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Filters, LexicalHit, Scope
from services.shared.core import bm25
from services.shared.stores import lexical
from services.shared.stores.moments import microseconds
from services.shared.stores.sqlite import postings, sessions
from services.shared.stores.sqlite.keys import chunks, marks, visible_scopes
from services.shared.stores.sqlite.postings import NOWHERE, Layout, Postings
from services.shared.stores.sqlite.terms import LENGTH, required

_WINDOW = 2 * bm25.REACH
"""Turns to look at on each side of a candidate: those within REACH of a turn within REACH of it."""

Places = NDArray[np.int64]


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


def search(
    connection: sqlite3.Connection, scope: Scope, query: str, *, limit: int, filters: Filters
) -> list[LexicalHit]:
    """The active entries of the scope that share words with the query, and neighbours of those; best first.

    Equal scores are ordered by time, the newest first, then by id.
    """
    terms = lexical.terms_of(query)
    scopes = visible_scopes(connection, scope)
    if not terms or not scopes or limit < 1:
        return []
    matches = _match(connection, Layout(scopes), terms, filters)
    candidates = _candidates(matches, lexical.candidates(limit))
    if not candidates.size:
        return []
    scored = _score(matches, _windows(connection, matches.layout, candidates), limit)
    return _hits(connection, matches, scored)[:limit]


def _match(connection: sqlite3.Connection, layout: Layout, terms: list[str], filters: Filters) -> _Matches:
    groups = required(filters)
    found = postings.read(connection, layout, [*terms, LENGTH, *(label for group in groups for label in group)])
    lengths = found.get(LENGTH, NOWHERE)
    active = np.zeros(layout.size, np.bool_)
    active[lengths.places] = True
    weights = [bm25.idf(lengths.places.size, found.get(term, NOWHERE).places.size) for term in terms]
    turn_scores = np.zeros(layout.size)
    for term, weight in zip(terms, weights, strict=True):
        where = found.get(term, NOWHERE)
        turn_scores[where.places] += bm25.turn_scores(weight)[where.counts]
    allowed = active
    if not filters.empty:
        allowed = active & postings.having(layout, found, groups) & _passing(connection, layout, filters)
    of_terms = [found.get(term, NOWHERE) for term in terms]
    return _Matches(layout, of_terms, np.array(weights), lengths, turn_scores, active, allowed)


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
    left = np.setdiff1d(candidates, windows[:, bm25.REACH : -bm25.REACH])
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
    rows = list(sessions.windows(connection, docs, visible=list(layout.starts), reach=_WINDOW))
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


def _score(matches: _Matches, windows: Places, limit: int) -> _Scored:
    """The exact score of the best places that may be returned and are at most REACH from the middle of a window."""
    mean_length = float(matches.lengths.counts.mean())
    scores, coverage = bm25.context_scores(_counts(matches, windows), matches.weights, mean_length)
    places = windows[:, bm25.REACH : -bm25.REACH]
    wanted = (places >= 0) & (scores > 0) & matches.allowed[places]
    places, first = np.unique(places[wanted], return_index=True)
    scores, coverage = scores[wanted][first], coverage[wanted][first]
    best = bm25.best(scores, limit)
    return _Scored(places[best], scores[best], coverage[best])


def _counts(matches: _Matches, windows: Places) -> bm25.Floats:
    """Shape (terms + 1, *windows.shape): how often each term, and at last any, occurs at each place."""
    known = np.unique(windows[windows >= 0])
    slots = np.zeros(matches.layout.size + 1, np.int32)  # slot 0 is nobody; place −1 is the last of `slots`
    slots[known] = np.arange(1, known.size + 1, dtype=np.int32)
    counts = np.zeros((len(matches.terms) + 1, known.size + 1))
    for row, where in zip(counts, [*matches.terms, matches.lengths], strict=True):
        row[slots[where.places]] = where.counts
    counts[:, 0] = 0
    return counts[:, slots[windows]]


def _hits(connection: sqlite3.Connection, matches: _Matches, scored: _Scored) -> list[LexicalHit]:
    docs = matches.layout.docs(scored.places).tolist()
    turn_scores = matches.turn_scores[scored.places].tolist()
    known: dict[int, tuple[str, int]] = {}
    for chunk in chunks(docs):
        rows = connection.execute(f"SELECT doc, id, created_at FROM entries WHERE doc IN ({marks(chunk)})", chunk)
        known |= {doc: (id_, created_at) for doc, id_, created_at in rows}
    found = zip(docs, scored.scores.tolist(), turn_scores, scored.coverage.tolist(), strict=True)
    return lexical.ranked((LexicalHit(known[doc][0], *of), known[doc][1]) for doc, *of in found)
