"""Bringing the indices to the layout of this version.

Writes to an index are refused while the next generation of it is filled, which whoever writes waits out: turns wait on
the bus. Then the alias is moved. Reads are answered throughout. Broken off at any point, it is simply begun again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opensearchpy.exceptions import NotFoundError
from pydantic_core import to_json

from contracts.errors import Unavailable
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn
from services.shared.dedup.repeats import with_bands
from services.shared.stores.opensearch.documents import entry_document, turn_document
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.schema import (
    KINDS,
    Index,
    Layout,
    UnusableIndexes,
    create,
    current,
    ensure,
    generation_of,
    generations,
    name_of,
    put_template,
)
from services.shared.stores.opensearch.transport import Client, Kind, carry_out, lines

_PAGE = 500
_OWNER = "owner"

Progress = Callable[[Kind, int], None]
"""Told of a kind how many more documents were copied."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about one index, and about those that it replaced; nothing when it is as it should be."""

    kind: Kind
    index: Index | None
    target: str | None
    documents: int
    old: tuple[str, ...]

    @property
    def text(self) -> str:
        """The step in words."""
        if self.index is None:
            return f"{self.kind}: make {self.target}"
        if self.target is None:
            return f"{self.kind}: {self.index.name} is up to date"
        return f"{self.kind}: copy {self.documents:,} documents from {self.index.name} to {self.target}"


async def plan(client: Client, layout: Layout) -> list[Step]:
    """What `migrate` would do.

    Raises:
        UnusableIndexes: the indices were made by a newer version, or are not of this program.
    """
    held = await current(client)
    return [await _step(client, layout, kind, held.get(kind)) for kind in KINDS]


async def _step(client: Client, layout: Layout, kind: Kind, index: Index | None) -> Step:
    if index is None:
        return Step(kind, None, name_of(client, kind, 1), 0, ())
    if index.schema > layout.schema:
        raise UnusableIndexes(
            f"index {index.name} was made by a newer version: migrate with that version, or a newer one"
        )
    old = tuple(name for name in await generations(client, kind) if generation_of(name) < index.generation)
    if (index.schema, index.shards) == (layout.schema, layout.shards_of(kind)):
        return Step(kind, index, None, 0, old)
    documents = await _count(client, index.name)
    return Step(kind, index, name_of(client, kind, index.generation + 1), documents, old)


async def migrate(
    client: Client, layout: Layout, *, drop_old: bool = False, progress: Progress = lambda kind, count: None
) -> list[Step]:
    """Bring every index to the layout; what was done. Safe to repeat.

    What was replaced is kept, without writes, unless `drop_old`: then it is removed, whenever it was replaced.

    Raises:
        UnusableIndexes: the indices were made by a newer version, or are not of this program.
        Unavailable: OpenSearch cannot do it now; what is missing is done the next time.
    """
    steps = await plan(client, layout)
    for step in steps:
        if step.index is not None and step.target is not None:
            await _replace(client, layout, step.index, step.target, progress)
    await ensure(client, layout)
    if drop_old:
        moved = [step.index.name for step in steps if step.index is not None and step.target is not None]
        for name in [*moved, *(name for step in steps for name in step.old)]:
            await client.request("DELETE", f"/{name}", params={"ignore_unavailable": "true"})
    return steps


async def _replace(client: Client, layout: Layout, index: Index, target: str, progress: Progress) -> None:
    await put_template(client, layout, index.kind)
    await _make(client, layout.body(index.kind), target)
    await client.request("PUT", f"/{index.name}/_block/write")
    try:
        await client.request("POST", f"/{index.name}/_refresh")
        for shard in range(index.shards):
            await _copy(client, layout, index, shard, target, progress)
        await client.request("POST", f"/{target}/_refresh")
        old, new = await _count(client, index.name), await _count(client, target)
        if new != old:
            raise Unavailable(f"{new} documents are in {target}, not {old}: run `memorybus migrate` again")
        await _move_alias(client, index, target)
    except BaseException:
        await client.request("PUT", f"/{index.name}/_settings", body={"index.blocks.write": None})
        raise


async def _make(client: Client, body: Json, target: str) -> None:
    """Make the next generation; what was left of an attempt that was broken off is removed first."""
    if await create(client, target, body):
        return
    if (await client.request("GET", f"/{target}"))[target]["aliases"]:
        raise Unavailable(f"{target} is in use already: another migration was faster; try again")
    await client.request("DELETE", f"/{target}")
    await create(client, target, body)


async def _count(client: Client, name: str) -> int:
    """How many documents an index has that are copied."""
    body = {"query": {"bool": {"must_not": {"exists": {"field": _OWNER}}}}}
    return int((await client.request("POST", f"/{name}/_count", body=body))["count"])


async def _copy(client: Client, layout: Layout, index: Index, shard: int, target: str, progress: Progress) -> None:
    """Copy a shard, which numbers its writes, in the order of these numbers."""
    params = {"preference": f"_shards:{shard}", "allow_partial_search_results": "false"}
    body: Json = {"sort": [{"_seq_no": "asc"}], "size": _PAGE, "track_total_hits": False}

    async def send(lines: bytes) -> Json:
        answer: Json = await client.request("POST", "/_bulk", body=lines)
        return answer

    while True:
        answer = await client.request("POST", f"/{index.name}/_search", body=body, params=params)
        hits: list[Json] = answer["hits"]["hits"]
        if not hits:
            return
        await carry_out([_item(hit, index.kind, layout, target) for hit in hits if not _is_marker(hit)], send)
        progress(index.kind, len(hits))
        body["search_after"] = hits[-1]["sort"]


def _item(hit: Json, kind: Kind, layout: Layout, target: str) -> bytes:
    document = made_anew(kind, hit["_source"])
    kept = {name: value for name, value in document.items() if name in layout.properties[kind]}
    return lines(
        (to_json({"create": {"_index": target, "_id": hit["_id"], "routing": hit["_routing"]}}), to_json(kept))
    )


def _is_marker(hit: Json) -> bool:
    """Whether this stood among the entries, before schema 4, for what became of a proposal."""
    return _OWNER in hit["_source"]


def made_anew(kind: Kind, source: Json) -> Json:
    """A document as this version writes it: what follows from the body is made from it again."""
    if kind == "entries":
        entry = with_bands(Entry.model_validate_json(source["body"]))
        return entry_document(entry, seq=source["seq"], merged=source["merged"], stamp=source["stamp"])
    if kind == "turns" and "body" in source:
        turn = LoggedTurn.model_validate_json(source["body"])
        made = turn_document(turn, seq=source["seq"]) | source
        return made | {"logged_at": source["logged_at"], "proposed": source["proposed"]}
    return source


async def _move_alias(client: Client, index: Index, target: str) -> None:
    """Let the alias stand for the new index, in one step."""
    actions = [
        {"remove": {"index": index.name, "alias": index.alias, "must_exist": True}},
        {"add": {"index": target, "alias": client.alias(index.kind), "is_write_index": True}},
    ]
    try:
        await client.request("POST", "/_aliases", body={"actions": actions})
    except NotFoundError as error:
        raise Unavailable(f"alias {index.alias} was moved by somebody else meanwhile: try again") from error
