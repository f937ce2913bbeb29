"""Copying the documents of an index into another, and then whatever was written meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_core import to_json

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn
from services.shared.stores.opensearch import bulk
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
    twice, or was overtaken, is refused by its version.
    """

    def __init__(
        self, client: Client, layout: Layout, index: Index, target: str, progress: Callable[[int], None]
    ) -> None:
        self._client = client
        self._properties = layout.properties[index.kind]
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
        while hits := await self._page(shard, after):
            await bulk.carry_out([self._item(hit) for hit in hits], self._send)
            self._progress(len(hits))
            copied, after = copied + len(hits), hits[-1]["_seq_no"]
        return copied

    async def _page(self, shard: int, after: int) -> list[Json]:
        body = {
            "query": {"range": {"_seq_no": {"gt": after}}},
            "sort": [{"_seq_no": "asc"}],
            "size": _PAGE,
            "seq_no_primary_term": True,
            "version": True,
            "track_total_hits": False,
        }
        params = {"preference": f"_shards:{shard}", "allow_partial_search_results": "false"}
        answer = await self._client.request("POST", f"/{self._index.name}/_search", body=body, params=params)
        hits: list[Json] = answer["hits"]["hits"]
        return hits

    def _item(self, hit: Json) -> bytes:
        action = {"_index": self._target, "_id": hit["_id"], "routing": hit["_routing"]}
        action |= {"version": hit["_version"], "version_type": "external"}
        document = made_anew(self._index.kind, hit["_source"])
        kept = {name: value for name, value in document.items() if name in self._properties}
        return lines((to_json({"index": action}), to_json(kept)))

    async def _send(self, body: bytes) -> Json:
        answer: Json = await self._client.request("POST", "/_bulk", body=body)
        return answer

    async def check(self) -> None:
        """Make sure that nothing is missing.

        Raises:
            Unavailable: the new index has fewer documents than the old one.
        """
        await self._client.request("POST", f"/{self._index.name},{self._target}/_refresh")
        old, new = await count(self._client, self._index.name), await count(self._client, self._target)
        if new < old:
            raise Unavailable(f"only {new} of {old} documents are in {self._target}: run `memorybus migrate` again")


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
