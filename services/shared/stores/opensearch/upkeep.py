"""The memory as a whole: counts, users, spaces, ages, unfinished work, and the model of its vectors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection
from dataclasses import asdict
from datetime import datetime
from heapq import nsmallest

from contracts.ports import EmbeddingIdentity, Key, Overview, Selection, SpaceSize, StageCounts, Stuck
from services.shared.stores.moments import microseconds, moment
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import Kind, Write

IDENTITY = "embedding_identity"
NOBODY = ""
"""Whose the documents are that are nobody's."""

_SPACES = 1000
_MOST_TERMS = 65_536

_TURN: Json = {"term": {"kind": "turn"}}
_UNDECIDED: list[Json] = [
    {"term": {"proposed": True}},
    {"bool": {"must_not": {"exists": {"field": "outcome"}}}},
]
_ACTIVE: Json = {"term": {"status": "active"}}
_HAS_WORDS: Json = {"terms": {"status": ["active", "superseded", "archived"]}}
_FREE: Json = {"term": {"held": False}}
_UNENRICHED: Json = {"term": {"enriched": False}}
_PENDING: Json = {"term": {"embedding_state": "pending"}}

_UNEMBEDDABLE: Json = {"term": {"embedding_state": "error"}}

_OF_TURNS = {
    "turns": _TURN,
    "merged": queries.all_of([_TURN, {"term": {"outcome": "merged"}}]),
    "refused": queries.all_of([_TURN, {"term": {"outcome": "refused"}}]),
    "undecided": queries.all_of(_UNDECIDED),
}
"""Facts drawn from a turn are not counted with the turns that were merged or refused."""

_OF_ENTRIES = {
    "entries": _ACTIVE,
    "inactive": {"terms": {"status": ["archived", "superseded", "forgotten"]}},
    "unenriched": queries.all_of([_ACTIVE, _UNENRICHED]),
    "unembedded": queries.all_of([_ACTIVE, _PENDING]),
    "unembeddable": queries.all_of([_ACTIVE, _UNEMBEDDABLE]),
}

_COUNTED = {"types": "type", "themes": "themes", "states": "embedding_state"}

_OVERVIEW = {
    **{name: {"terms": {"field": field, "size": 1000}} for name, field in _COUNTED.items()},
    "flags": {"filters": {"filters": {flag: {"term": {flag: True}} for flag in ("pinned", "manually_saved")}}},
    "latest": {"max": {"field": "last_said_at"}},
}

_STUCK: dict[Stuck, tuple[Kind, list[Json], str]] = {
    "undecided": ("turns", _UNDECIDED, "logged_at"),
    "unenriched": ("entries", [_ACTIVE, _UNENRICHED], "updated_at"),
    "unembedded": ("entries", [_ACTIVE, _PENDING], "updated_at"),
}
"""Of each kind of being stuck: where, what, and since when."""


def _without(users: Collection[str]) -> list[Json]:
    """Conditions that nothing of these users fulfils; the engine takes no more of them."""
    some = list(users)[:_MOST_TERMS]
    return [{"bool": {"must_not": {"terms": {"user_id": some}}}}] if some else []


class OpenSearchUpkeep(Engine):
    """`contracts.ports.Upkeep`. Everything is counted as it is now: indices are refreshed first."""

    async def counts(self, user_id: str | None = None) -> StageCounts:
        of_turns = await self._counted("turns", _OF_TURNS, user_id)  # first: what it finds decided is an entry by then
        of_entries = await self._counted("entries", _OF_ENTRIES, user_id)
        return StageCounts(**of_turns, **of_entries)

    async def _counted(self, kind: Kind, wanted: dict[str, Json], user_id: str | None) -> dict[str, int]:
        await self.client.refresh(kind)
        mine: list[Json] = [] if user_id is None else [{"term": {"user_id": user_id}}]
        aggregations = {"of": {"filters": {"filters": wanted}}}
        body = {"size": 0, "track_total_hits": False, "query": queries.all_of(mine), "aggs": aggregations}
        answer = await self.client.search(kind, body, routing=user_id)
        return {name: bucket["doc_count"] for name, bucket in answer["aggregations"]["of"]["buckets"].items()}

    async def overview(self, user_id: str, space: str | None = None, persona_id: str | None = None) -> Overview:
        await self.client.refresh("entries")
        here = queries.selected(Selection(user_id, space, persona_id))
        body = {"size": 0, "track_total_hits": True, "query": queries.all_of(here), "aggs": _OVERVIEW}
        answer = await self.client.search("entries", body, routing=user_id)
        found = answer["aggregations"]
        flags = found["flags"]["buckets"]
        types, themes, states = ({its["key"]: its["doc_count"] for its in found[name]["buckets"]} for name in _COUNTED)
        latest = found["latest"]["value"]
        return Overview(
            entries=answer["hits"]["total"]["value"],
            pinned=flags["pinned"]["doc_count"],
            manually_saved=flags["manually_saved"]["doc_count"],
            types=types,
            themes=themes,
            states=states,
            latest=moment(int(latest)) if latest is not None else None,
        )

    async def users(self, *, after: str, limit: int) -> list[str]:
        found: set[str] = set()
        kinds: tuple[Kind, ...] = ("turns", "entries")
        for kind in kinds:
            await self.client.refresh(kind)
            source = {"user": {"terms": {"field": "user_id"}}}
            named: Json = {"composite": {"size": limit, "sources": [source], "after": {"user": after}}}
            answer = await self.client.search(kind, {"size": 0, "track_total_hits": False, "aggs": {"users": named}})
            found |= {bucket["key"]["user"] for bucket in answer["aggregations"]["users"]["buckets"]}
        return sorted(found)[:limit]

    async def unfinished(self, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        kind, conditions, since = _STUCK[lacking]
        return await self._earlier(kind, conditions, since, before, limit)

    async def expired(
        self, *, before: datetime, limit: int, but: Collection[str] = (), of: tuple[str, str] | None = None
    ) -> list[Key]:
        mine: list[Json] = [] if of is None else [{"term": {"user_id": of[0]}}, {"term": {"space": of[1]}}]
        return await self._earlier("entries", [_HAS_WORDS, _FREE, *mine, *_without(but)], "last_said_at", before, limit)

    async def _earlier(self, kind: Kind, conditions: list[Json], since: str, before: datetime, limit: int) -> list[Key]:
        """What fulfils the conditions since before a moment, the oldest first."""
        body = {
            "query": queries.all_of([*conditions, {"range": {since: {"lt": microseconds(before)}}}]),
            "sort": [{since: "asc"}, *([{"id": "asc"}] if kind == "entries" else [])],
            "size": max(0, min(limit, queries.MOST_HITS)),
            "track_total_hits": False,
            "_source": ["user_id"],
        }
        await self.client.refresh(kind)
        hits = (await self.client.search(kind, body))["hits"]["hits"]
        return [Key(hit["_source"]["user_id"], hit["_id"]) for hit in hits]

    async def over_capacity(self, *, cap: int, limit: int, but: Collection[str] = ()) -> list[SpaceSize]:
        fullest: list[SpaceSize] = []
        async for spaces in self._spaces([_ACTIVE, *_without(but)]):
            found = [*fullest, *(space for space in spaces if space.entries > cap)]
            fullest = nsmallest(limit, found, key=lambda space: (-space.entries, space.user_id, space.space))
        return fullest

    async def spaces(self, user_id: str) -> list[SpaceSize]:
        mine: list[Json] = [_HAS_WORDS, {"term": {"user_id": user_id}}]
        return [space async for spaces in self._spaces(mine, routing=user_id) for space in spaces]

    async def _spaces(self, conditions: list[Json], *, routing: str | None = None) -> AsyncIterator[list[SpaceSize]]:
        """Every space with entries that fulfil conditions, and how many are active, so many spaces at a time."""
        await self.client.refresh("entries")
        sources = [{name: {"terms": {"field": name}}} for name in ("user_id", "space")]
        composite: Json = {"size": _SPACES, "sources": sources}
        query = queries.all_of(conditions)
        while True:
            aggregations = {"spaces": {"composite": composite, "aggs": {"active": {"filter": _ACTIVE}}}}
            body = {"size": 0, "track_total_hits": False, "query": query, "aggs": aggregations}
            found = (await self.client.search("entries", body, routing=routing))["aggregations"]["spaces"]
            yield [SpaceSize(**bucket["key"], entries=bucket["active"]["doc_count"]) for bucket in found["buckets"]]
            if "after_key" not in found:
                return
            composite["after"] = found["after_key"]

    async def get_embedding_identity(self) -> EmbeddingIdentity | None:
        (document,) = await self.client.mget("meta", [(IDENTITY, NOBODY)])
        held = json.loads(document.source["body"]) if document else None
        return EmbeddingIdentity(**held) if held else None

    async def set_embedding_identity(self, identity: EmbeddingIdentity | None) -> None:
        body = json.dumps(asdict(identity) if identity else None)
        await self.client.bulk([Write("index", "meta", NOBODY, IDENTITY, {"body": body})])
