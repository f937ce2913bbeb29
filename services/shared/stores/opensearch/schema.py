"""The indices: how each is laid out, made when it is missing, and checked when it is there.

What is read and written is an alias, `{prefix}-{kind}`; behind it is one index, `{prefix}-{kind}-000001` and so on. A
change of the layout needs a higher `SCHEMA`, and `memorybus migrate` where data is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from opensearchpy.exceptions import RequestError, TransportError

from contracts.errors import Unavailable, UnusableStore
from services.shared.settings import Settings
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.transport import Client, Kind

SCHEMA = 10
"""Which layout of this program's indices this is, the words in them included; every index says which it has."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_FORMER: Mapping[Kind, str] = {"statements": "claims"}
"""What a kind was called before schema 6."""

_READY = 15  # seconds; after a restart the shards answer later than the port

_TYPES: Mapping[str, Json] = {
    "keyword": {"type": "keyword"},
    "long": {"type": "long"},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "float": {"type": "float"},
    "kept": {"type": "keyword", "index": False, "doc_values": False},  # only the source has it
    "words": {"type": "text", "analyzer": "whitespace", "similarity": "turn", "norms": False},
    "english": {"type": "text", "analyzer": "english", "norms": False},
    "digest": {"type": "keyword", "index": False},
}


def _fields(**names: str) -> Json:
    """The mapping of fields, given as their names by type."""
    return {name: _TYPES[kind] for kind, its in names.items() for name in its.split()}


PROPERTIES: Mapping[Kind, Json] = {
    "turns": _fields(
        keyword="kind user_id space scope conversation turn turn_id outcome entry_id",
        long="said_at logged_at seq decided_at",
        integer="ordinal",
        flag="proposed",
        kept="reason text body",
    ),
    "entries": _fields(
        keyword="id user_id space persona_id scope session conversations status type tags themes embedding_state near",
        long="seq created_at last_said_at updated_at version",
        flag="pinned manually_saved held enriched",
        float="importance",
        words="words",
        integer="length",
        digest="digest",
        english="text",
        kept="merged stamp body",
    ),
    "statements": _fields(keyword="user_id", long="until", kept="entries"),
    "records": _fields(keyword="user_id kind name", long="seq at version", kept="body"),
    "meta": _fields(kept="body"),
}

_SIMILARITY: Json = {"turn": {"type": "BM25", "k1": 1.0, "b": 0.0}}


class UnusableIndexes(UnusableStore):
    """The indices were made by another version of this program, or are not its own."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What an operator chooses about new indices, on top of what this version lays down."""

    shards: int = 1
    replicas: int = 0
    refresh_seconds: float = 1.0
    schema: int = SCHEMA
    properties: Mapping[Kind, Json] = field(default_factory=lambda: PROPERTIES)

    @classmethod
    def of(cls, settings: Settings) -> Layout:
        """What the settings choose."""
        return cls(settings.opensearch_shards, settings.opensearch_replicas, settings.opensearch_refresh_seconds)

    def shards_of(self, kind: Kind) -> int:
        """How many shards an index of this kind has."""
        return self.shards if kind != "meta" else 1

    def body(self, kind: Kind) -> Json:
        """The settings and mappings of an index of this kind."""
        return {
            "settings": {
                "number_of_shards": self.shards_of(kind),
                "number_of_replicas": self.replicas,
                "refresh_interval": f"{round(self.refresh_seconds * 1000)}ms",
                "merge.policy.expunge_deletes_allowed": 0,  # compacting leaves nothing, be it ever so little
                **({"similarity": _SIMILARITY} if kind == "entries" else {}),
            },
            "mappings": {
                "_meta": {"schema": self.schema},
                "_routing": {"required": True},
                "dynamic": "strict",
                "properties": self.properties[kind],
            },
        }


@dataclass(frozen=True, slots=True)
class Index:
    """The index behind an alias."""

    kind: Kind
    alias: str
    name: str
    schema: int
    shards: int

    @property
    def generation(self) -> int:
        """How many indices of this kind there were before, and one."""
        return generation_of(self.name)


async def ensure(client: Client, layout: Layout) -> None:
    """Make the indices that are missing, check that all are of this version, and wait until they answer.

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
    for index in held.values():
        if index.schema > layout.schema:
            raise UnusableIndexes(f"index {index.name} was made by a newer version: start that version, or a newer one")
        if index.schema < layout.schema:
            raise UnusableIndexes(f"index {index.name} is of an older version: run `memorybus migrate` first")
    await _wait_until_ready(client)


async def current(client: Client) -> Mapping[Kind, Index]:
    """The index behind each alias; missing where there is none.

    Raises:
        UnusableIndexes: an alias is not one that this program made.
    """
    kinds = {alias: kind for kind in KINDS for alias in _aliases(client, kind)}
    answer = await client.request("GET", f"/{','.join(f'{alias}-*' for alias in kinds)}")
    found: dict[str, Index] = {}
    for name in answer if isinstance(answer, dict) else [""]:
        described = client.part(answer, name, dict)
        for alias in client.part(described, "aliases", dict).keys() & kinds.keys():
            if alias in found:
                raise UnusableIndexes(f"alias {alias} stands for several indices: remove all but the newest from it")
            found[alias] = _index(kinds[alias], alias, name, described)
    return {kind: found[alias] for alias, kind in reversed(kinds.items()) if alias in found}


def _aliases(client: Client, kind: Kind) -> list[str]:
    """The alias of a kind, and the one that it had formerly."""
    former = [f"{client.prefix}-{_FORMER[kind]}"] if kind in _FORMER else []
    return [client.alias(kind), *former]


def _index(kind: Kind, alias: str, name: str, described: Json) -> Index:
    schema = described["mappings"].get("_meta", {}).get("schema")
    if not isinstance(schema, int) or not name.rpartition("-")[2].isdecimal():
        raise UnusableIndexes(f"index {name} is not of memorybus: choose another MEMORYBUS_OPENSEARCH_PREFIX")
    return Index(kind, alias, name, schema, int(described["settings"]["index"]["number_of_shards"]))


def generation_of(name: str) -> int:
    """The generation that the name of an index ends in."""
    return int(name.rpartition("-")[2])


def name_of(client: Client, kind: Kind, generation: int) -> str:
    """The name of an index."""
    return f"{client.alias(kind)}-{generation:06d}"


async def generations(client: Client, kind: Kind) -> list[str]:
    """The indices of a kind, in use or not, the oldest first."""
    aliases = _aliases(client, kind)
    answer = await client.request("GET", f"/{','.join(f'{alias}-*' for alias in aliases)}/_alias")
    numbered = (name for name in answer if name.rpartition("-")[2].isdecimal())
    return sorted((name for name in numbered if name.rpartition("-")[0] in aliases), key=generation_of)


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


async def _wait_until_ready(client: Client) -> None:
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
