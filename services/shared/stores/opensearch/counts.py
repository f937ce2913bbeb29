"""How much is stored, where there is too much or too old, and what got stuck."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from heapq import nsmallest

from contracts.ports import Crowd, Key, StageCounts, Stuck
from contracts.v1.entries import EmbeddingState, Entry
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.client import Client, Json, Kind
from services.shared.stores.opensearch.documents import BODY, ID, LAST_SAID_AT, PINNED, SAVED, SPACE, USER

_SPACES = 1000

_TURN: Json = {"term": {"kind": "turn"}}
_UNDECIDED: list[Json] = [
    {"term": {"proposed": True}},
    {"bool": {"must_not": {"exists": {"field": "outcome"}}}},
]
_ACTIVE: Json = {"term": {"status": "active"}}
_INACTIVE: Json = {"terms": {"status": ["archived", "superseded", "forgotten"]}}
_UNENRICHED: Json = {"term": {"enriched": False}}
_PENDING: Json = {"term": {"embedding_state": "pending"}}

_OF_TURNS = {
    "turns": _TURN,
    "merged": queries.all_of([_TURN, {"term": {"outcome": "merged"}}]),
    "refused": queries.all_of([_TURN, {"term": {"outcome": "refused"}}]),
    "undecided": queries.all_of(_UNDECIDED),
}
"""Facts drawn from a turn are not counted with the turns that were merged or refused."""

_OF_ENTRIES = {
    "entries": _ACTIVE,
    "inactive": _INACTIVE,
    "unenriched": queries.all_of([_ACTIVE, _UNENRICHED]),
    "unembedded": queries.all_of([_ACTIVE, _PENDING]),
}

_STUCK: dict[Stuck, tuple[Kind, list[Json], str]] = {
    "undecided": ("turns", _UNDECIDED, "logged_at"),
    "unenriched": ("entries", [_ACTIVE, _UNENRICHED], "updated_at"),
    "unembedded": ("entries", [_ACTIVE, _PENDING], "updated_at"),
}
"""Of each kind of being stuck: where, what, and since when."""


async def counts(client: Client, user_id: str | None) -> StageCounts:
    """Count what is stored, for one user or for all."""
    mine: list[Json] = [] if user_id is None else [{"term": {"user_id": user_id}}]
    of_turns, of_entries = await asyncio.gather(
        _counted(client, "turns", mine, _OF_TURNS, user_id),
        _counted(client, "entries", mine, _OF_ENTRIES, user_id),
    )
    return StageCounts(**of_turns, **of_entries)


async def _counted(
    client: Client, kind: Kind, conditions: list[Json], wanted: dict[str, Json], user_id: str | None
) -> dict[str, int]:
    await client.refresh(kind)
    aggregations = {"of": {"filters": {"filters": wanted}}}
    body = {"size": 0, "track_total_hits": False, "query": queries.all_of(conditions), "aggs": aggregations}
    answer = await client.search(kind, body, routing=user_id)
    return {name: bucket["doc_count"] for name, bucket in answer["aggregations"]["of"]["buckets"].items()}


async def unfinished(client: Client, lacking: Stuck, before: datetime, limit: int) -> list[Key]:
    """What has lacked this since before a moment, the oldest first."""
    kind, conditions, since = _STUCK[lacking]
    earlier = {"range": {since: {"lt": microseconds(before)}}}
    body = {
        "query": queries.all_of([*conditions, earlier]),
        "sort": [{since: "asc"}],
        "size": max(0, min(limit, queries.MOST_HITS)),
        "track_total_hits": False,
        "_source": ["user_id"],
    }
    await client.refresh(kind)
    hits = (await client.search(kind, body))["hits"]["hits"]
    return [Key(hit["_source"]["user_id"], hit["_id"]) for hit in hits]


async def aged(client: Client, before: datetime, limit: int) -> list[Key]:
    """Active entries last said before a moment that nobody asked to keep, the oldest first."""
    unkept: list[Json] = [{"term": {PINNED: False}}, {"term": {SAVED: False}}]
    earlier = {"range": {LAST_SAID_AT: {"lt": microseconds(before)}}}
    body = {
        "query": queries.all_of([_ACTIVE, *unkept, earlier]),
        "sort": [{LAST_SAID_AT: "asc"}, {ID: "asc"}],
        "size": max(0, min(limit, queries.MOST_HITS)),
        "track_total_hits": False,
        "_source": [USER],
    }
    await client.refresh("entries")
    hits = (await client.search("entries", body))["hits"]["hits"]
    return [Key(hit["_source"][USER], hit["_id"]) for hit in hits]


async def crowded(client: Client, cap: int, limit: int) -> list[Crowd]:
    """The spaces with more than `cap` active entries, the fullest first. Every space is looked at."""
    await client.refresh("entries")
    fullest: list[Crowd] = []
    async for spaces in _spaces(client):
        crowds = [space for space in spaces if space.entries > cap]
        fullest = nsmallest(limit, [*fullest, *crowds], key=lambda crowd: (-crowd.entries, crowd.user_id, crowd.space))
    return fullest


async def _spaces(client: Client) -> AsyncIterator[list[Crowd]]:
    """Every space of every user, with its active entries, so many at a time."""
    sources = [{name: {"terms": {"field": name}}} for name in (USER, SPACE)]
    composite: Json = {"size": _SPACES, "sources": sources}
    while True:
        aggregations = {"spaces": {"composite": composite}}
        body = {"size": 0, "track_total_hits": False, "query": queries.all_of([_ACTIVE]), "aggs": aggregations}
        found = (await client.search("entries", body))["aggregations"]["spaces"]
        yield [Crowd(**bucket["key"], entries=bucket["doc_count"]) for bucket in found["buckets"]]
        if "after_key" not in found:
            return
        composite["after"] = found["after_key"]


async def with_embedding(client: Client, state: EmbeddingState, limit: int) -> list[Entry]:
    """Some active entries, of whatever user, whose embedding is in this state."""
    body = {
        "query": queries.all_of([_ACTIVE, {"term": {"embedding_state": state}}]),
        "size": max(0, min(limit, queries.MOST_HITS)),
        "track_total_hits": False,
        "_source": ["user_id"],
    }
    await client.refresh("entries")
    hits = (await client.search("entries", body))["hits"]["hits"]
    documents = await client.mget("entries", [(hit["_id"], hit["_source"]["user_id"]) for hit in hits], fields=[BODY])
    entries = (Entry.model_validate_json(doc.source[BODY]) for doc in documents if doc and BODY in doc.source)
    return [entry for entry in entries if entry.status == "active" and entry.embedding_state == state]
