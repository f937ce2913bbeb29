"""Opens the collection that the settings and a model choose, and removes those that were in use before it."""

from __future__ import annotations

import re

from qdrant_client import AsyncQdrantClient

from contracts.ports import EmbeddingIdentity
from services.shared.settings import Settings
from services.shared.stores.qdrant.connection import Server
from services.shared.stores.qdrant.failures import explained
from services.shared.stores.qdrant.spec import CollectionSpec
from services.shared.stores.qdrant.store import WRITE_SECONDS, QdrantVectorStore


async def open_store(settings: Settings, identity: EmbeddingIdentity, *, in_use: bool) -> QdrantVectorStore:
    """The vectors of a model and generation; only where they are in use does the alias name their collection.

    Raises:
        CollectionMismatch: the server holds something else under a name that is needed.
    """
    return await QdrantVectorStore.open(
        settings.qdrant_url,
        api_key=_key(settings),
        grpc_port=settings.qdrant_grpc_port,
        collection=settings.qdrant_collection,
        dimensions=identity.dimensions,
        identity=identity,
        quantization=settings.qdrant_quantization,
        shards=settings.qdrant_shards,
        replicas=settings.qdrant_replicas,
        copies=settings.vectors_carry_entries,
        aliased=in_use,
    )


async def drop_former(settings: Settings, identity: EmbeddingIdentity) -> list[str]:
    """Remove the collections in use before this one; the names of those that there were.

    Those of a later generation are being made, and stay.

    Raises:
        Unavailable: the server does not answer now.
    """
    spec = CollectionSpec(settings.qdrant_collection, identity.dimensions, identity=identity)
    port = settings.qdrant_grpc_port
    server = Server(settings.qdrant_url, api_key=_key(settings), grpc_port=port, timeout=WRITE_SECONDS)
    try:
        await server.reach()
        with explained("removing former collections"):
            return await _drop_former(server.client, spec)
    finally:
        await server.close()


async def _drop_former(client: AsyncQdrantClient, spec: CollectionSpec) -> list[str]:
    collections = (await client.get_collections()).collections
    former = [each.name for each in collections if is_former(each.name, spec)]
    for name in former:
        await client.delete_collection(name)
    return former


def is_former(name: str, spec: CollectionSpec) -> bool:
    """Whether a collection is of the same memory, and older than this one."""
    named = re.fullmatch(rf"{re.escape(spec.alias)}\.[a-z0-9-]+\.\d+\.[0-9a-f]{{10}}(?:\.g(\d+))?", name)
    generation = spec.identity.generation if spec.identity else 0
    return named is not None and name != spec.name and int(named[1] or 0) <= generation


def _key(settings: Settings) -> str | None:
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
