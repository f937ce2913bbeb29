"""The indices: made when they are missing, checked when they are there, told apart by generation.

What is read and written is an alias, `{prefix}-{kind}`; behind it is one index, `{prefix}-{kind}-000001` and so on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from opensearchpy.exceptions import NotFoundError, RequestError, TransportError

from contracts.ports import Unavailable, UnusableStore
from services.shared.stores.opensearch.client import Client, Json, Kind
from services.shared.stores.opensearch.mappings import Layout

KINDS: tuple[Kind, ...] = get_args(Kind)

_READY = 15  # seconds; after a restart the shards answer later than the port


class UnusableIndexes(UnusableStore):
    """The indices were made by another version of this program, or are not its own."""


@dataclass(frozen=True, slots=True)
class Index:
    """The index behind an alias."""

    kind: Kind
    name: str
    schema: int
    shards: int

    @property
    def generation(self) -> int:
        """How many indices of this kind there were before, and one."""
        return generation_of(self.name)


async def ensure(client: Client, layout: Layout) -> None:
    """Make the indices that are missing, wait until all of them answer, and check that they are of this version.

    Several processes may do this at once.

    Raises:
        UnusableIndexes: they are of another version.
        Unavailable: they cannot be made or do not answer now.
    """
    held = await current(client)
    missing = [kind for kind in KINDS if kind not in held]
    if missing:
        await asyncio.gather(*(put_template(client, layout, kind) for kind in missing))
        await asyncio.gather(*(_create_first(client, layout, kind) for kind in missing))
        held = await current(client)
    await _answering(client)
    for index in held.values():
        _check_version(index, layout.schema)


def _check_version(index: Index, schema: int) -> None:
    if index.schema > schema:
        raise UnusableIndexes(f"index {index.name} was made by a newer version: start that version, or a newer one")
    if index.schema < schema:
        raise UnusableIndexes(f"index {index.name} is of an older version: run `memorybus migrate` first")


async def current(client: Client) -> Mapping[Kind, Index]:
    """The index behind each alias; missing where there is none.

    Raises:
        UnusableIndexes: an alias is not one that this program made.
    """
    kinds = {client.alias(kind): kind for kind in KINDS}
    try:
        answer = await client.request("GET", f"/{','.join(f'{alias}-*' for alias in kinds)}")
    except NotFoundError:
        return {}
    found: dict[Kind, Index] = {}
    for name in answer if isinstance(answer, dict) else [""]:
        described = client.part(answer, name, dict)
        for alias in client.part(described, "aliases", dict).keys() & kinds.keys():
            if kinds[alias] in found:
                raise UnusableIndexes(f"alias {alias} stands for several indices: remove all but the newest from it")
            found[kinds[alias]] = _index(kinds[alias], name, described)
    return found


def _index(kind: Kind, name: str, described: Json) -> Index:
    schema = described["mappings"].get("_meta", {}).get("schema")
    if not isinstance(schema, int) or not name.rpartition("-")[2].isdecimal():
        raise UnusableIndexes(f"index {name} is not of memorybus: choose another MEMORYBUS_OPENSEARCH_PREFIX")
    return Index(kind, name, schema, int(described["settings"]["index"]["number_of_shards"]))


def generation_of(name: str) -> int:
    """The generation that the name of an index ends in."""
    return int(name.rpartition("-")[2])


def name_of(client: Client, kind: Kind, generation: int) -> str:
    """The name of an index."""
    return f"{client.alias(kind)}-{generation:06d}"


async def generations(client: Client, kind: Kind) -> list[str]:
    """The indices of a kind, in use or not."""
    answer = await client.request("GET", f"/{client.alias(kind)}-*/_alias")
    prefix = f"{client.alias(kind)}-"
    return sorted(name for name in answer if name.removeprefix(prefix).isdecimal())


async def replaced(client: Client) -> list[str]:
    """The indices that a migration replaced and left."""
    held = (await current(client)).values()
    return [n for index in held for n in await generations(client, index.kind) if generation_of(n) < index.generation]


async def put_template(client: Client, layout: Layout, kind: Kind) -> None:
    """Should an index of this name ever be made by something else, it is laid out as it must be all the same."""
    body = {"index_patterns": [f"{client.alias(kind)}-0*"], "priority": 200, "template": layout.body(kind)}
    await client.request("PUT", f"/_index_template/{client.alias(kind)}", body=body)


async def _create_first(client: Client, layout: Layout, kind: Kind) -> None:
    """Make index and alias in one step; another process may have been faster."""
    body = layout.body(kind) | {"aliases": {client.alias(kind): {"is_write_index": True}}}
    await create(client, name_of(client, kind, 1), body)


async def create(client: Client, name: str, body: Json) -> bool:
    """Make an index; False when it is there already.

    Raises:
        UnusableIndexes: something else has the name.
    """
    try:
        await client.request("PUT", f"/{name}", body=body)
    except RequestError as error:
        if error.error == "resource_already_exists_exception":
            return False
        if error.error == "invalid_alias_name_exception":
            raise UnusableIndexes(
                f"an index has a name that memorybus needs: choose another MEMORYBUS_OPENSEARCH_PREFIX ({name})"
            ) from None
        raise
    return True


async def _answering(client: Client) -> None:
    """Wait until the first copy of every shard answers."""
    names = ",".join(client.alias(kind) for kind in KINDS)
    params = {"wait_for_status": "yellow", "timeout": f"{_READY}s"}
    try:
        health = await client.request("GET", f"/_cluster/health/{names}", params=params, seconds=_READY + 5)
    except TransportError as error:
        if error.status_code != 408:
            raise
        health = {"timed_out": True}
    if client.part(health, "timed_out", bool):
        raise Unavailable("OpenSearch is not ready: some shards have no copy that answers; try again in a minute")
