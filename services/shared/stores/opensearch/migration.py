"""Bringing the indices to the layout of this version while they are in use.

A new generation of an index is filled beside the old one, again and again with what was written meanwhile. For the last
bit writes to the old one are refused for a moment, which who writes waits out, and the alias is moved. Searches are
answered throughout. Broken off at any point, it is begun again and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opensearchpy.exceptions import NotFoundError

from contracts.ports import Unavailable
from services.shared.stores.opensearch import copying
from services.shared.stores.opensearch.client import Client, Kind
from services.shared.stores.opensearch.indexes import (
    KINDS,
    Index,
    UnusableIndexes,
    create,
    current,
    ensure,
    generation_of,
    generations,
    name_of,
    put_template,
)
from services.shared.stores.opensearch.mappings import Layout

_ROUNDS = 20
_FEW = 500
"""So few documents are copied in the moment in which nothing can be written."""

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
    documents = await copying.count(client, index.name)
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
        await _drop(client, steps)
    return steps


async def _drop(client: Client, steps: list[Step]) -> None:
    replaced = [step.index.name for step in steps if step.index is not None and step.target is not None]
    for name in [*replaced, *(name for step in steps for name in step.old)]:
        await client.request("DELETE", f"/{name}", params={"ignore_unavailable": "true"})


async def _replace(client: Client, layout: Layout, index: Index, target: str, progress: Progress) -> None:
    await put_template(client, layout, index.kind)
    await _make(client, layout, index.kind, target)
    copier = copying.Copier(client, layout, index, target, lambda count: progress(index.kind, count))
    for _ in range(_ROUNDS):
        if await copier.copy() <= _FEW:
            break
    await copier.prune()
    await client.request("PUT", f"/{index.name}/_block/write")
    try:
        await copier.copy()
        await copier.prune()
        await copier.check()
        await _move_alias(client, index, target)
    except BaseException:
        await client.request("PUT", f"/{index.name}/_settings", body={"index.blocks.write": None})
        raise


async def _make(client: Client, layout: Layout, kind: Kind, target: str) -> None:
    """Make the next generation; what was left of an attempt to make another one is removed first."""
    body = layout.body(kind)
    if await create(client, target, body):
        return
    described = (await client.request("GET", f"/{target}"))[target]
    shards = int(described["settings"]["index"]["number_of_shards"])
    if described["aliases"]:
        raise Unavailable(f"{target} is in use already: another migration was faster; try again")
    if (described["mappings"].get("_meta"), shards) != (body["mappings"]["_meta"], layout.shards_of(kind)):
        await client.request("DELETE", f"/{target}")
        await create(client, target, body)


async def _move_alias(client: Client, index: Index, target: str) -> None:
    """Let the alias stand for the new index, in one step."""
    alias = client.alias(index.kind)
    actions = [
        {"remove": {"index": index.name, "alias": alias, "must_exist": True}},
        {"add": {"index": target, "alias": alias, "is_write_index": True}},
    ]
    try:
        await client.request("POST", "/_aliases", body={"actions": actions})
    except NotFoundError as error:
        raise Unavailable(f"alias {alias} was moved by somebody else meanwhile: try again") from error
