"""Search by words: the turns that have them, and the turns around those, ranked by BM25 with decayed context.

The engine gives the turns that score highest by themselves. All that was said in the sessions where these are gets its
exact score, by the same arithmetic as in every other store, from the statistics of the scope alone.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Filters, LexicalHit, Scope
from services.shared.core import bm25
from services.shared.stores import lexical
from services.shared.stores.opensearch import queries, sessions
from services.shared.stores.opensearch.client import Client, Json
from services.shared.stores.opensearch.digest import Digests
from services.shared.stores.opensearch.documents import ID, LENGTH, SESSION
from services.shared.stores.opensearch.recent import Recent
from services.shared.stores.opensearch.sessions import Session


@dataclass(frozen=True, slots=True)
class _Statistics:
    """What the scores of a scope depend on: the weight of each term, and how many words a turn has on average."""

    weights: bm25.Floats
    mean_length: float


async def search(
    client: Client, recent: Recent, scope: Scope, query: str, *, limit: int, filters: Filters
) -> list[LexicalHit]:
    """The active entries of the scope that share words with the query, and neighbours of those; best first.

    Equal scores are ordered by time, the newest first, then by id.
    """
    terms = lexical.terms_of(query)
    if not terms or limit < 1:
        return []
    await client.fresh("entries")
    count = lexical.candidates(limit)
    bodies = [_counting(scope, terms), *_choosing(scope, terms, filters, count)]
    counted, *chosen = await client.msearch("entries", bodies, routing=scope.user_id)
    found = await sessions.turns(client, scope, _sessions(chosen, count), filters)
    recent.keep(scope, found)
    return _hits(found, terms, _statistics(counted), limit) if found.ids else []


def _counting(scope: Scope, terms: list[str]) -> Json:
    """How many entries there are, how long they are, and how many have each term."""
    having = {"filters": {"filters": [_has(term) for term in terms]}}
    short = {"filter": {"range": {LENGTH: {"lt": bm25.MOST}}}, "aggs": {"length": {"sum": {"field": LENGTH}}}}
    return {
        "size": 0,
        "track_total_hits": True,
        "query": queries.all_of(queries.seen_by(scope)),
        "aggs": {"having": having, "short": short},
    }


def _choosing(scope: Scope, terms: list[str], filters: Filters, count: int) -> list[Json]:
    """Searches for turns: the best of all, and with filters the best of those that pass, be they ever so bad."""
    visible = queries.seen_by(scope)
    bodies = [_best(visible, terms, 3 * count, required=1)]
    if not filters.empty:
        bodies.append(_best([*visible, *queries.passing(filters)], terms, 2 * count, required=0))
    return bodies


def _best(conditions: list[Json], terms: list[str], count: int, *, required: int) -> Json:
    should = [_has(term) for term in terms]
    return {
        "size": min(count, queries.MOST_HITS),
        "query": {"bool": {"filter": conditions, "should": should, "minimum_should_match": required}},
        "sort": [{"_score": "desc"}, {"created_at": "desc"}],
        **queries.only(SESSION, ID),
    }


def _has(term: str) -> Json:
    return {"term": {"words": term}}


def _statistics(answer: Json) -> _Statistics:
    total, aggregations = answer["hits"]["total"]["value"], answer["aggregations"]
    weights = [bm25.idf(total, bucket["doc_count"]) for bucket in aggregations["having"]["buckets"]]
    short = aggregations["short"]
    length = short["length"]["value"] + bm25.MOST * (total - short["doc_count"])
    return _Statistics(np.array(weights), length / total if total else 0.0)


def _sessions(chosen: list[Json], count: int) -> set[Session]:
    """The sessions to look at. When few entries pass the filters, those of all that do; when none does, none."""
    best, *passing = (answer["hits"]["hits"] for answer in chosen)
    promising = _promising(best, count // 2)
    if not passing:
        return promising
    (those,) = passing
    return promising | _promising(those, count if len(those) == 2 * count else len(those)) if those else set()


def _promising(hits: list[Json], most: int) -> set[Session]:
    """The sessions in which the best turns are, or several good ones."""
    promises: dict[Session, float] = defaultdict(float)
    for hit in hits:
        fields = hit["fields"]
        name = SESSION if SESSION in fields else ID
        promises[Session(name, fields[name][0])] += hit["_score"] ** 2
    return set(heapq.nlargest(most, promises, key=promises.__getitem__))


def _hits(found: Digests, terms: list[str], of: _Statistics, limit: int) -> list[LexicalHit]:
    places = _places(found)
    counts = _counts(found, terms, places)
    scores, coverage = (
        of_all[places - bm25.REACH] for of_all in bm25.context_scores(counts, of.weights, of.mean_length)
    )
    wanted = np.flatnonzero(found.passing & (scores > 0))
    best = wanted[bm25.best(scores[wanted], limit)]
    turn_scores = sum(
        bm25.turn_scores(weight)[row[places[best]].astype(np.int64)]
        for weight, row in zip(of.weights, counts[:-1], strict=True)
    )
    chosen = zip(best.tolist(), scores[best].tolist(), turn_scores.tolist(), coverage[best].tolist(), strict=True)
    return lexical.ranked((LexicalHit(found.ids[i], *its), found.created_at(i)) for i, *its in chosen)[:limit]


def _places(found: Digests) -> NDArray[np.int64]:
    """Places in a row of all sessions, with REACH empty places before and after each."""
    names = found.sessions
    begins = np.array([name != before for name, before in zip(names, ["", *names], strict=False)], np.int64)
    return np.arange(len(names)) + bm25.REACH * np.cumsum(begins)


def _counts(found: Digests, terms: list[str], places: NDArray[np.int64]) -> bm25.Floats:
    """Shape (terms + 1, places): how often each term, and at last any, occurs at each place."""
    counts = np.zeros((len(terms) + 1, int(places[-1]) + bm25.REACH + 1))
    for row, term in zip(counts, terms, strict=False):
        entries, times = found.having(term)
        row[places[entries]] = times
    counts[-1, places] = found.lengths
    return counts
