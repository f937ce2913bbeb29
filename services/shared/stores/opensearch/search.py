"""Search by words: the turns that have them, and the turns around those, ranked by BM25 with decayed context.

The engine gives the turns that score highest by themselves. All that was said in the sessions where these are gets its
exact score, by the same arithmetic as in every other store, from the statistics of the scope alone.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contracts.ports import Filters, LexicalHit, Ref, Scope
from services.shared.language.analysis import Alternatives
from services.shared.ranking import bm25
from services.shared.stores import lexical
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.documents import Digests, sort_key, unpacked
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.entries import is_entry
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import Client, Document, routed

_MOST_BUCKETS = 30_000
"""Of those that pass the filters, and of others; the engine makes no more than 65,535 in one answer."""

_FEW_TERMS = 100
"""Terms that are counted at once: every entry of the scope is held against each."""

_FIELDS = ("user_id", "space", "persona_id", "session", "created_at", "seq")


class Session(NamedTuple):
    """The field that finds the entries of a session, and its value: an entry without a session is found by its id."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class _Statistics:
    """What the scores of a scope depend on: the weight of each term, and how many words a turn has on average."""

    weights: bm25.Floats
    mean_length: float


class OpenSearchIndex(Engine):
    """`contracts.ports.LexicalIndex`. It finds what the index showed at its last refresh."""

    async def search(
        self, scope: Scope, query: str, *, limit: int, filters: Filters, reach: int = 0
    ) -> list[LexicalHit]:
        terms = lexical.terms_of(query)
        if not terms or limit < 1:
            return []
        await self.client.fresh("entries")
        count = lexical.candidates(limit)
        bodies = [_counting(scope, terms), *_choosing(scope, terms, filters, count)]
        counted, *chosen = await self.client.msearch("entries", bodies, routing=scope.user_id)
        found = await _turns(self.client, scope, _sessions(chosen, count), filters)
        return _hits(found, terms, _statistics(counted), limit, reach) if found.ids else []

    async def frequencies(self, scope: Scope, terms: Sequence[str]) -> dict[str, int]:
        await self.client.fresh("entries")
        asked = list(dict.fromkeys(terms))
        if len(asked) > _FEW_TERMS:
            asked = await _known_to_anybody(self.client, scope.user_id, asked)
        if not asked:
            return {}
        (counted,) = await self.client.msearch(
            "entries", [_counting(scope, [(term,) for term in asked])], routing=scope.user_id
        )
        buckets = counted["aggregations"]["having"]["buckets"]
        return {term: n for term, bucket in zip(asked, buckets, strict=True) if (n := bucket["doc_count"])}

    async def neighbours(self, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none."""
        await self.client.fresh("entries")
        documents = await self.client.mget("entries", [(ref.id, ref.user_id) for ref in refs], fields=_FIELDS)
        by_scope: dict[Scope, list[Document]] = defaultdict(list)
        for ref, document in zip(refs, documents, strict=True):
            if document is not None and is_entry(document, ref.user_id):
                by_scope[_scope(document)].append(document)
        parts = await asyncio.gather(
            *(_around(self.client, scope, its, max(0, reach)) for scope, its in by_scope.items())
        )
        around = {id_: near for part in parts for id_, near in part.items()}
        return {ref.id: around[ref.id] for ref in refs if ref.id in around}


async def _known_to_anybody(client: Client, user_id: str, terms: Sequence[str]) -> list[str]:
    """Those of the terms that entries in the user's shard have: looked up in its dictionary, no entry is read."""
    wanted = {"doc": {"words": " ".join(terms)}, "fields": ["words"], "term_statistics": True}
    wanted |= dict.fromkeys(("field_statistics", "positions", "offsets", "payloads"), False)
    path, params = f"/{client.alias('entries')}/_termvectors", {"routing": routed(user_id)}
    found = client.part(await client.request("POST", path, body=wanted, params=params), "term_vectors", dict)
    return [term for term, its in found.get("words", {}).get("terms", {}).items() if "doc_freq" in its]


def _counting(scope: Scope, terms: list[Alternatives]) -> Json:
    """How many entries there are, how long they are, and how many have each term."""
    having = {"filters": {"filters": [_has(term) for term in terms]}}
    short = {"filter": {"range": {"length": {"lt": bm25.MOST}}}, "aggs": {"length": {"sum": {"field": "length"}}}}
    return {
        "size": 0,
        "track_total_hits": True,
        "query": queries.all_of(queries.seen_by(scope)),
        "aggs": {"having": having, "short": short},
    }


def _choosing(scope: Scope, terms: list[Alternatives], filters: Filters, count: int) -> list[Json]:
    """Searches for turns: the best of all, and with filters the best of those that pass, be they ever so bad."""
    visible = queries.seen_by(scope)
    bodies = [_best(visible, terms, 3 * count, required=1)]
    if not filters.empty:
        bodies.append(_best([*visible, *queries.passing(filters)], terms, 2 * count, required=0))
    return bodies


def _best(conditions: list[Json], terms: list[Alternatives], count: int, *, required: int) -> Json:
    should = [_scored(word) for word in terms]
    return {
        "size": min(count, queries.MOST_HITS),
        "query": {"bool": {"filter": conditions, "should": should, "minimum_should_match": required}},
        "sort": [{"_score": "desc"}, {"created_at": "desc"}],
        **queries.only("session", "id"),
    }


def _has(word: Alternatives) -> Json:
    return {"terms": {"words": list(word)}}


def _scored(word: Alternatives) -> Json:
    any_of = [{"term": {"words": term}} for term in word]
    return any_of[0] if len(any_of) == 1 else {"bool": {"should": any_of}}


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
        name = "session" if "session" in fields else "id"
        promises[Session(name, fields[name][0])] += hit["_score"] ** 2
    return set(heapq.nlargest(most, promises, key=promises.__getitem__))


def _hits(found: Digests, terms: list[Alternatives], of: _Statistics, limit: int, reach: int) -> list[LexicalHit]:
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
    scored = zip(scores[best].tolist(), turn_scores.tolist(), coverage[best].tolist(), strict=True)
    hits = (
        (LexicalHit(found.ids[i], *of, found.around(found.sort_key(i), reach)), found.created_at(i))
        for i, of in zip(best.tolist(), scored, strict=True)
    )
    return lexical.ranked(hits)[:limit]


def _places(found: Digests) -> NDArray[np.int64]:
    """Places in a row of all sessions, with REACH empty places before and after each."""
    names = found.sessions
    begins = np.array([name != before for name, before in zip(names, ["", *names], strict=False)], np.int64)
    return np.arange(len(names)) + bm25.REACH * np.cumsum(begins)


def _counts(found: Digests, terms: list[Alternatives], places: NDArray[np.int64]) -> bm25.Floats:
    """Shape (terms + 1, places): how often each term, and at last any, occurs at each place."""
    counts = np.zeros((len(terms) + 1, int(places[-1]) + bm25.REACH + 1))
    for row, word in zip(counts, terms, strict=False):
        for entries, times in map(found.having, word):
            row[places[entries]] += times
    np.minimum(counts, bm25.MOST, out=counts)
    counts[-1, places] = found.lengths
    return counts


async def _turns(client: Client, scope: Scope, sessions: Iterable[Session], filters: Filters) -> Digests:
    """The visible turns of these sessions, and which of them pass the filters."""
    values: dict[str, list[str]] = defaultdict(list)
    for session in sorted(sessions):
        values[session.field].append(session.value)
    if not values:
        return unpacked([], [])
    said_there = {"bool": {"should": [{"terms": {field: its}} for field, its in values.items()]}}
    query = queries.all_of([*queries.seen_by(scope), said_there])
    parts = 1
    while True:
        bodies = [_aggregated(query, filters, part, parts) for part in range(parts)]
        answers = await client.msearch("entries", bodies, routing=scope.user_id)
        groups = [answer["aggregations"]["turns"]["buckets"] for answer in answers]
        if not any(group["digests"]["sum_other_doc_count"] for group in _flat(groups)):
            return unpacked(_digests(groups, "passing"), _digests(groups, "others"))
        parts *= 4


def _aggregated(query: Json, filters: Filters, part: int, parts: int) -> Json:
    digests: Json = {"field": "digest", "size": _MOST_BUCKETS, "execution_hint": "map", "order": {"_key": "asc"}}
    if parts > 1:
        digests["include"] = {"partition": part, "num_partitions": parts}
    passing: Json = {"passing": queries.all_of(queries.passing(filters))}
    split = {"filters": passing} if filters.empty else {"filters": passing, "other_bucket_key": "others"}
    turns = {"filters": split, "aggs": {"digests": {"terms": digests}}}
    return {"size": 0, "track_total_hits": False, "query": query, "aggs": {"turns": turns}}


def _flat(groups: list[Json]) -> list[Json]:
    return [group for names in groups for group in names.values()]


def _digests(groups: list[Json], name: str) -> list[str]:
    return [bucket["key"] for names in groups if name in names for bucket in names[name]["digests"]["buckets"]]


def _scope(document: Document) -> Scope:
    source = document.source
    return Scope(source["user_id"], source["space"], source.get("persona_id"))


async def _around(client: Client, scope: Scope, entries: Sequence[Document], reach: int) -> dict[str, dict[int, str]]:
    sessions = {Session("session", entry.source["session"]) for entry in entries if entry.source.get("session")}
    found = await _turns(client, scope, sessions if reach else (), Filters())
    return {entry.id: found.around(_sort_key(entry), reach) if entry.source.get("session") else {} for entry in entries}


def _sort_key(entry: Document) -> str:
    source = entry.source
    return sort_key(source["session"], source["created_at"], source["seq"])
