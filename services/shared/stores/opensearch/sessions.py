"""What was said around an entry: the active entries of its session, in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contracts.ports import Filters, Ref, Scope
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.client import Client, Document, Json
from services.shared.stores.opensearch.digest import Digests, spot, unpacked
from services.shared.stores.opensearch.documents import CREATED_AT, PERSONA, SEQ, SESSION, SPACE, USER
from services.shared.stores.opensearch.entries import is_entry
from services.shared.stores.opensearch.recent import Recent

_MOST_BUCKETS = 30_000
"""Of those that pass the filters, and of others; the engine makes no more than 65,535 in one answer."""

_FIELDS = (USER, SPACE, PERSONA, SESSION, CREATED_AT, SEQ)


class Session(NamedTuple):
    """The field that finds the entries of a session, and its value: an entry without a session is found by its id."""

    field: str
    value: str


async def turns(client: Client, scope: Scope, sessions: Iterable[Session], filters: Filters) -> Digests:
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


async def neighbours(client: Client, recent: Recent, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
    """For each known entry: distance in its session, −reach to reach and never 0, to the id of the entry there.

    An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none.
    """
    reach = max(0, reach)
    await client.fresh("entries")
    around = recent.around(refs, reach)
    left = [ref for ref in refs if ref.id not in around]
    documents = await client.mget("entries", [(ref.id, ref.user_id) for ref in left], fields=_FIELDS)
    by_scope: dict[Scope, list[Document]] = defaultdict(list)
    for ref, document in zip(left, documents, strict=True):
        if document is not None and is_entry(document, ref.user_id):
            by_scope[_scope(document)].append(document)
    parts = await asyncio.gather(*(_around(client, scope, its, reach) for scope, its in by_scope.items()))
    around |= {id_: near for part in parts for id_, near in part.items()}
    return {ref.id: around[ref.id] for ref in refs if ref.id in around}


def _scope(document: Document) -> Scope:
    source = document.source
    return Scope(source[USER], source[SPACE], source.get(PERSONA))


async def _around(client: Client, scope: Scope, entries: Sequence[Document], reach: int) -> dict[str, dict[int, str]]:
    sessions = {Session(SESSION, entry.source[SESSION]) for entry in entries if SESSION in entry.source}
    found = await turns(client, scope, sessions if reach else (), Filters())
    return {entry.id: found.around(_spot(entry), reach) if SESSION in entry.source else {} for entry in entries}


def _spot(entry: Document) -> str:
    source = entry.source
    return spot(source[SESSION], source[CREATED_AT], source[SEQ])
