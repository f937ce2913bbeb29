"""The collections of a memory on a Qdrant server: one in use, perhaps one being made, and former ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient

from contracts.ports import EmbeddingIdentity, Scope
from services.shared.settings import Settings
from services.shared.stores.qdrant import (
    CollectionMismatch,
    CollectionSpec,
    QdrantVectorStore,
    drop_former,
    open_store,
)
from services.shared.stores.qdrant.collection import prepare
from services.shared.stores.qdrant.spec import INDEXES
from tests.stores.vector_builders import DIMENSIONS, a_point, ids, towards

SCOPE = Scope("ann")


async def aliases(qdrant: AsyncQdrantClient) -> dict[str, str]:
    return {each.alias_name: each.collection_name for each in (await qdrant.get_aliases()).aliases}


async def test_a_collection_that_is_being_made_gets_no_alias_and_former_ones_are_removed(
    at_standin: dict[str, Any], alias: str, qdrant: AsyncQdrantClient
) -> None:
    settings = Settings(qdrant_url=at_standin["url"], qdrant_grpc_port=at_standin["grpc_port"], qdrant_collection=alias)
    first = EmbeddingIdentity("any", "small", DIMENSIONS)
    next_one, made, other = replace(first, generation=1), replace(first, generation=2), f"{alias}x"
    for identity in (first, next_one):
        await (await open_store(settings, identity, in_use=True)).close()
    await (await open_store(settings, made, in_use=False)).close()
    foreign = await QdrantVectorStore.open(**at_standin, collection=other, dimensions=DIMENSIONS)
    await foreign.close()
    names = [CollectionSpec(alias, DIMENSIONS, identity=each).name for each in (first, next_one, made)]
    assert (await aliases(qdrant))[alias] == names[1]
    assert await drop_former(settings, next_one) == names[:1]
    assert await drop_former(settings, next_one) == []
    left = {each.name for each in (await qdrant.get_collections()).collections if each.name.startswith(alias)}
    assert left == {*names[1:], CollectionSpec(other, DIMENSIONS).name}
    assert (await aliases(qdrant))[alias] == names[1]


async def test_a_collection_of_a_former_version_is_refused_with_the_command_that_helps(
    at_standin: dict[str, Any], alias: str, qdrant: AsyncQdrantClient
) -> None:
    spec = CollectionSpec(alias, DIMENSIONS)
    await prepare(qdrant, spec)
    await qdrant.create_payload_index(spec.name, "tags", field_schema=INDEXES["tag_keys"])
    with pytest.raises(CollectionMismatch, match=r"former version.*memorybus reindex"):
        await QdrantVectorStore.open(**at_standin, collection=alias, dimensions=DIMENSIONS)


async def test_pages_go_on_beyond_what_the_server_gives_at_once(
    at_standin: dict[str, Any], alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.shared.stores.qdrant.store.MAX_LIMIT", 4)
    store = await QdrantVectorStore.open(**at_standin, collection=alias, dimensions=DIMENSIONS)
    points = [a_point(SCOPE, towards(1, i)) for i in range(10)]
    await store.upsert(points)
    assert [key.id for key in await store.scan(after="", limit=50)] == sorted(ids(points))
    assert [key.id for key in await store.scan(after="", limit=7)] == sorted(ids(points))[:7]
    await store.close()
