"""Makes the collection as declared, however many processes do so at once."""

from __future__ import annotations

import logging
import re

from qdrant_client import AsyncQdrantClient, models

from contracts.errors import Unavailable
from services.shared.stores.points import FORMER_FIELD, TURN
from services.shared.stores.qdrant.failures import CollectionMismatch, explained
from services.shared.stores.qdrant.spec import INDEXES, STRICT_MODE, CollectionSpec

log = logging.getLogger(__name__)

OLDEST_SERVER = (1, 16)
"""The first that knows conditional upserts. An older one would ignore the condition without a word."""


async def prepare(client: AsyncQdrantClient, spec: CollectionSpec) -> None:
    """Make the collection, its indexes and settings and the alias as declared. Safe to repeat, and to do side by side.

    Raises:
        CollectionMismatch: a collection of the same name is of another kind.
        Unavailable: the server cannot do it now, or is too old.
    """
    with explained("preparing its collection"):
        await _check_version(client)
        if not await client.collection_exists(spec.name):
            await _create(client, spec)
        held = await client.get_collection(spec.name)
        _check_layout(spec, held)
        await _complete_indexes(client, spec, held)
        await _complete_settings(client, spec, held)
        if spec.aliased:
            await _point_alias(client, spec)


async def _check_version(client: AsyncQdrantClient) -> None:
    version = (await client.info()).version
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise Unavailable(f"Qdrant {version} is too old: conditional upserts need {oldest} or newer, so update it")


async def _create(client: AsyncQdrantClient, spec: CollectionSpec) -> None:
    try:
        await client.create_collection(spec.name, **spec.creation())
    except Exception:
        if not await client.collection_exists(spec.name):  # else another process was faster
            raise
        return
    log.info("vector_collection_created", extra={"collection": spec.name})


def _check_layout(spec: CollectionSpec, held: models.CollectionInfo) -> None:
    if FORMER_FIELD in held.payload_schema:
        raise CollectionMismatch(
            f"collection {spec.name!r} is of a former version, which kept tags and themes as plain words: "
            "make the vectors anew with `memorybus reindex`"
        )
    vectors, wanted = held.config.params.vectors, spec.vector
    present = vectors.get(TURN) if isinstance(vectors, dict) else None
    if present is None:
        raise CollectionMismatch(f"collection {spec.name!r} has no vectors named {TURN!r}: {_other_alias()}")
    if (present.size, present.distance) != (wanted.size, wanted.distance):
        raise CollectionMismatch(
            f"vector {TURN!r} of collection {spec.name!r} has {present.size} dimensions and distance "
            f"{present.distance}, not {wanted.size} and {wanted.distance}: {_other_alias()}"
        )


async def _complete_indexes(client: AsyncQdrantClient, spec: CollectionSpec, held: models.CollectionInfo) -> None:
    for field, schema in INDEXES.items():
        if field not in held.payload_schema:
            await client.create_payload_index(spec.name, field, field_schema=schema)


async def _complete_settings(client: AsyncQdrantClient, spec: CollectionSpec, held: models.CollectionInfo) -> None:
    if not _is_strict(held):
        await client.update_collection(spec.name, strict_mode_config=STRICT_MODE)
    if (held.config.quantization_config is None) != (spec.quantized is None):
        on_disk = spec.quantized is not None
        await client.update_collection(
            spec.name,
            vectors_config={TURN: models.VectorParamsDiff(on_disk=on_disk)},
            quantization_config=spec.quantized or models.Disabled.DISABLED,
        )


def _is_strict(held: models.CollectionInfo) -> bool:
    config = held.config.strict_mode_config
    settings = config.model_dump() if config else {}
    return all(settings.get(name) == value for name, value in STRICT_MODE.model_dump(exclude_none=True).items())


async def _point_alias(client: AsyncQdrantClient, spec: CollectionSpec) -> None:
    """Let the alias name this collection; where it named another, in one step."""
    aliases = {alias.alias_name: alias.collection_name for alias in (await client.get_aliases()).aliases}
    former = aliases.get(spec.alias)
    if former == spec.name:
        return
    if former is None:
        await _check_alias_is_free(client, spec)
    create = models.CreateAlias(collection_name=spec.name, alias_name=spec.alias)
    switch: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=create)]
    if former is not None:
        switch.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=spec.alias)))
    await client.update_collection_aliases(switch)
    log.info("vector_alias_switched", extra={"alias": spec.alias, "former": former, "collection": spec.name})


async def _check_alias_is_free(client: AsyncQdrantClient, spec: CollectionSpec) -> None:
    collections = (await client.get_collections()).collections
    if any(collection.name == spec.alias for collection in collections):
        raise CollectionMismatch(
            f"there is a collection named {spec.alias!r}, which is to be an alias: {_other_alias()}"
        )


def _other_alias() -> str:
    return "choose another name with MEMORYBUS_QDRANT_COLLECTION, or remove that collection"
