"""Copying the documents of an index into another, and then whatever was written meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_core import to_json

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn
from services.shared.stores.opensearch import bulk, failures
from services.shared.stores.opensearch.client import Client, Json, Kind
from services.shared.stores.opensearch.documents import (
    BODY,
    LOGGED_AT,
    MERGED,
    OWNER,
    PROPOSED,
    SEQ,
    STAMP,
    entry_document,
    turn_document,
)
from services.shared.stores.opensearch.indexes import Index
from services.shared.stores.opensearch.mappings import Layout
from services.shared.stores.opensearch.wire import lines

_PAGE = 500


async def count(client: Client, name: str) -> int:
    """How many documents an index has, as its last refresh shows it."""
    return int((await client.request("GET", f"/{name}/_count"))["count"])


class Copier:
    """Copies an index, each time what came since the last time.

    A shard numbers its writes. All up to its checkpoint are done, so they are seen after a refresh; those above may
    become visible in any order, so the next time begins at the checkpoint read before the refresh. What is copied
    twice, or was overtaken, is refused by its version: the number of its write, which unlike the document's own version
    only grows even when the document is removed and made again.
    """

    def __init__(
        self, client: Client, layout: Layout, index: Index, target: str, progress: Callable[[int], None]
    ) -> None:
        self._client = client
        self._layout = layout
        self._index = index
        self._target = target
        self._progress = progress
        self._done = dict.fromkeys(range(index.shards), -1)

    async def copy(self) -> int:
        """Copy what was written since; how many documents were looked at."""
        checkpoints = await self._checkpoints()
        await self._client.request("POST", f"/{self._index.name}/_refresh")
        copied = 0
        for shard in self._done:
            copied += await self._copy_shard(shard)
            self._done[shard] = checkpoints[shard]
        return copied

    async def _checkpoints(self) -> dict[int, int]:
        name = self._index.name
        stats = await self._client.request("GET", f"/{name}/_stats/docs", params={"level": "shards"})
        copies = ((int(shard), copy) for shard, its in stats["indices"][name]["shards"].items() for copy in its)
        return {shard: copy["seq_no"]["global_checkpoint"] for shard, copy in copies if copy["routing"]["primary"]}

    async def _copy_shard(self, shard: int) -> int:
        copied, after = 0, self._done[shard]
        while hits := await self._page(self._index.name, shard, after):
            await bulk.carry_out([self._item(hit) for hit in hits], self._send)
            self._progress(len(hits))
            copied, after = copied + len(hits), hits[-1]["_seq_no"]
        return copied

    async def _page(self, name: str, shard: int, after: int, *, whole: bool = True) -> list[Json]:
        body = {
            "query": {"range": {"_seq_no": {"gt": after}}},
            "sort": [{"_seq_no": "asc"}],
            "size": _PAGE,
            "seq_no_primary_term": True,
            "track_total_hits": False,
            "_source": whole,
        }
        params = {"preference": f"_shards:{shard}", "allow_partial_search_results": "false"}
        answer = await self._client.request("POST", f"/{name}/_search", body=body, params=params)
        hits: list[Json] = answer["hits"]["hits"]
        return hits

    def _item(self, hit: Json) -> bytes:
        action = {"_index": self._target, "_id": hit["_id"], "routing": hit["_routing"]}
        action |= {"version": hit["_seq_no"] + 1, "version_type": "external"}
        document = made_anew(self._index.kind, hit["_source"])
        kept = {name: value for name, value in document.items() if name in self._layout.properties[self._index.kind]}
        return lines((to_json({"index": action}), to_json(kept)))

    async def _send(self, body: bytes) -> Json:
        answer: Json = await self._client.request("POST", "/_bulk", body=body)
        return answer

    async def prune(self) -> None:
        """Remove from the new index what was removed from the old one after it was copied."""
        old, new = await self._counts()
        if new <= old:
            return
        for shard in range(self._layout.shards_of(self._index.kind)):
            after = -1
            while hits := await self._page(self._target, shard, after, whole=False):
                gone = await self._gone(hits)
                await bulk.carry_out([self._removal(hit) for hit in gone], self._send)
                after = hits[-1]["_seq_no"]

    async def _gone(self, hits: list[Json]) -> list[Json]:
        """Those that the old index has no more."""
        asked = [{"_id": hit["_id"], "routing": hit["_routing"], "_source": False} for hit in hits]
        answer = await self._client.request("POST", f"/{self._index.name}/_mget", body={"docs": asked})
        for found in answer["docs"]:
            failures.check(found)
        return [hit for hit, found in zip(hits, answer["docs"], strict=True) if not found["found"]]

    def _removal(self, hit: Json) -> bytes:
        action = {"_index": self._target, "_id": hit["_id"], "routing": hit["_routing"]}
        seen = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
        return lines((to_json({"delete": action | seen}),))

    async def _counts(self) -> tuple[int, int]:
        """How many documents the old and the new index have."""
        await self._client.request("POST", f"/{self._index.name},{self._target}/_refresh")
        return await count(self._client, self._index.name), await count(self._client, self._target)

    async def check(self) -> None:
        """Make sure that nothing is missing, and that nothing is there that was removed.

        Raises:
            Unavailable: the new index has not as many documents as the old one.
        """
        old, new = await self._counts()
        if new != old:
            raise Unavailable(f"{new} documents are in {self._target}, not {old}: run `memorybus migrate` again")


def made_anew(kind: Kind, source: Json) -> Json:
    """A document as this version writes it: what follows from the body is made from it again."""
    if kind == "entries" and OWNER not in source:
        entry = Entry.model_validate_json(source[BODY])
        return entry_document(entry, seq=source[SEQ], merged=source[MERGED], stamp=source[STAMP])
    if kind == "turns" and BODY in source:
        turn = LoggedTurn.model_validate_json(source[BODY])
        return (
            turn_document(turn, seq=source[SEQ]) | source | {LOGGED_AT: source[LOGGED_AT], PROPOSED: source[PROPOSED]}
        )
    return source
