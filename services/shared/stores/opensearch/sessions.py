"""What was said around an entry: the active entries of its session, in order."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contracts.ports import Filters, Ref, Scope
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.client import Client, Document, Json
from services.shared.stores.opensearch.digest import Digests, unpacked
from services.shared.stores.opensearch.entries import is_entry
from services.shared.stores.points import scope_key

_MOST_BUCKETS = 30_000
"""Of those that pass the filters, and of others; the engine makes no more than 65,535 in one answer."""

_FIELDS = ("user_id", "space", "persona_id", "session", "created_at", "seq")

Spot = tuple[int, int, str]
"""created_at, order stored, and id of an entry: what the entries of a session are sorted by."""


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


class _Line(NamedTuple):
    """A session of a user, as a persona sees it."""

    user_id: str
    space: str
    persona_id: str | None
    session: str

    @property
    def visible(self) -> list[Json]:
        scopes = {scope_key(self.user_id, self.space, persona) for persona in (None, self.persona_id)}
        return queries.active(tuple(sorted(scopes)))


async def neighbours(client: Client, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
    """For each known entry: distance in its session, −reach to reach and never 0, to the id of the entry there.

    An entry of a persona is surrounded by entries of this persona and of none, any other by entries of none.
    """
    reach = max(0, reach)
    await client.fresh("entries")
    documents = await client.mget("entries", [(ref.id, ref.user_id) for ref in refs], fields=_FIELDS)
    known = [doc for ref, doc in zip(refs, documents, strict=True) if doc and is_entry(doc, ref.user_id)]
    asked = {doc.id: _spot(doc) for doc in known}
    lines = {doc.id: line for doc in known if (line := _line(doc))}
    said = await _said(client, lines, asked, reach)
    return {id_: _around(spot, said[lines[id_]], reach) if id_ in lines else {} for id_, spot in asked.items()}


def _spot(document: Document) -> Spot:
    return document.source["created_at"], document.source["seq"], document.id


def _line(document: Document) -> _Line | None:
    source = document.source
    session = source.get("session")
    return session and _Line(source["user_id"], source["space"], source.get("persona_id"), session)


def _around(spot: Spot, said: list[Spot], reach: int) -> dict[int, str]:
    middle = bisect_left(said, spot)
    after = middle + (said[middle : middle + 1] == [spot])
    earlier, later = said[max(0, middle - reach) : middle], said[after : after + reach]
    before = {-distance: id_ for distance, (_, _, id_) in enumerate(reversed(earlier), start=1)}
    return before | {distance: id_ for distance, (_, _, id_) in enumerate(later, start=1)}


async def _said(
    client: Client, lines: Mapping[str, _Line], asked: Mapping[str, Spot], reach: int
) -> dict[_Line, list[Spot]]:
    """What was said in each line from `reach` turns before the first entry asked for to as many after the last."""
    times: dict[_Line, list[int]] = defaultdict(list)
    for id_, line in lines.items():
        times[line].append(asked[id_][0])
    users: dict[str, list[_Line]] = defaultdict(list)
    for line in times:
        users[line.user_id].append(line)
    parts = await asyncio.gather(*(_said_by(client, user, its, times, reach) for user, its in users.items()))
    return {line: said for part in parts for line, said in part.items()}


async def _said_by(
    client: Client, user_id: str, lines: Sequence[_Line], times: Mapping[_Line, list[int]], reach: int
) -> dict[_Line, list[Spot]]:
    bodies = [_stretches(line, min(times[line]), max(times[line]), reach) for line in lines]
    answers = iter(await client.msearch("entries", [body for three in bodies for body in three], routing=user_id))
    said: dict[_Line, list[Spot]] = {}
    for line, three in zip(lines, bodies, strict=True):
        hits = [hit for body in three for hit in await _all(client, user_id, body, next(answers))]
        said[line] = sorted((*hit["sort"], hit["fields"]["id"][0]) for hit in hits)
    return said


def _stretches(line: _Line, first: int, last: int, reach: int) -> list[Json]:
    """Searches for what was said before, between and after two moments."""
    edge = min(reach, queries.MOST_HITS - 1)
    return [
        _stretch(line, {"lt": first}, "desc", edge),
        _stretch(line, {"gte": first, "lte": last}, "asc", queries.MOST_HITS),
        _stretch(line, {"gt": last}, "asc", edge),
    ]


def _stretch(line: _Line, moments: Json, order: str, size: int) -> Json:
    conditions: list[Json] = [{"term": {"session": line.session}}, {"range": {"created_at": moments}}]
    return {
        "query": queries.all_of([*line.visible, *conditions]),
        "sort": [{"created_at": order}, {"seq": order}],
        "size": size,
        **queries.only("id"),
    }


async def _all(client: Client, user_id: str, body: Json, answer: Json) -> list[Json]:
    """The hits of an answer, and those that come after when it is full."""
    page = answer["hits"]["hits"]
    hits = list(page)
    while len(page) == queries.MOST_HITS:
        more = await client.search("entries", body | {"search_after": page[-1]["sort"]}, routing=user_id)
        page = more["hits"]["hits"]
        hits += page
    return hits
