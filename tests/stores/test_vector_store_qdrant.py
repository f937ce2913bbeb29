"""What only the adapter for Qdrant has: collections by model behind an alias, and a server that may say no."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient, models

from contracts.ports import EmbeddingIdentity, Scope, Unavailable
from services.shared.settings import Settings
from services.shared.stores.qdrant import (
    CollectionMismatch,
    CollectionSpec,
    QdrantVectorStore,
    drop_former,
    open_store,
)
from services.shared.stores.qdrant import points as points_module
from services.shared.stores.qdrant.collection import prepare
from services.shared.stores.qdrant.spec import INDEXES, STRICT_MODE
from tests.stores.qdrant_openers import open_local
from tests.stores.vector_builders import (
    DIMENSIONS,
    a_point,
    copies_of,
    cosines_of,
    found,
    ids,
    newer,
    towards,
    vectors_of,
)

SCOPE = Scope("ann")
TURN = {"turn": models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)}


Opening = Callable[..., Awaitable[QdrantVectorStore]]


@pytest.fixture
async def opening(at_standin: dict[str, Any], alias: str) -> AsyncIterator[Opening]:
    """Opens stores at the stand-in, which are closed in the end."""
    async with AsyncExitStack() as stack:

        async def opened(collection: str = alias, **options: Any) -> QdrantVectorStore:
            options = {**at_standin, "collection": collection, "dimensions": DIMENSIONS, **options}
            store = await QdrantVectorStore.open(**options)
            stack.push_async_callback(store.close)
            return store

        yield opened


@pytest.fixture
async def store(opening: Opening) -> QdrantVectorStore:
    return await opening()


async def aliases(qdrant: AsyncQdrantClient) -> dict[str, str]:
    return {each.alias_name: each.collection_name for each in (await qdrant.get_aliases()).aliases}


identities = st.builds(EmbeddingIdentity, st.text(max_size=20), st.text(max_size=300), st.integers(1, 4096))


@given(
    st.lists(identities, min_size=2, max_size=6, unique=True), st.from_regex("[a-z][a-z0-9_-]{0,63}", fullmatch=True)
)
def test_every_model_has_a_collection_of_its_own_with_a_safe_name(drawn: list[EmbeddingIdentity], alias: str) -> None:
    names = [CollectionSpec(alias, identity.dimensions, identity=identity).name for identity in drawn]
    assert len(set(names)) == len(names)
    assert alias not in names
    for name in names:
        assert len(name) <= 128
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.")


def test_an_identity_of_other_dimensions_is_refused() -> None:
    with pytest.raises(ValueError, match="does not make vectors of 16 dimensions"):
        CollectionSpec("memorybus", 16, identity=EmbeddingIdentity("minilm", "all", 384))


async def test_many_processes_that_start_at_once_make_one_collection(
    opening: Opening, alias: str, qdrant: AsyncQdrantClient
) -> None:
    stores = await asyncio.gather(*(opening() for _ in range(12)))
    await asyncio.gather(*(store.upsert([a_point(SCOPE, towards(1))]) for store in stores))
    assert {await store.count() for store in stores} == {12}
    names = [each.name for each in (await qdrant.get_collections()).collections if each.name.startswith(alias)]
    assert names == [CollectionSpec(alias, DIMENSIONS).name] == [(await aliases(qdrant))[alias]]


async def test_losing_the_race_for_the_collection_is_no_failure(qdrant: AsyncQdrantClient, alias: str) -> None:
    spec = CollectionSpec(alias, DIMENSIONS)
    await prepare(qdrant, spec)
    answers = iter([False, True])

    class SeesItLate:
        def __getattr__(self, name: str) -> Any:
            return getattr(qdrant, name)

        async def collection_exists(self, _: str) -> bool:
            return next(answers)

    await prepare(SeesItLate(), spec)  # type: ignore[arg-type]
    assert next(answers, None) is None


async def test_the_collection_is_as_declared_and_made_so_again(qdrant: AsyncQdrantClient, alias: str) -> None:
    spec = CollectionSpec(alias, DIMENSIONS, quantization="scalar")
    await qdrant.create_collection(spec.name, vectors_config=TURN)  # as left by a death during its creation
    await prepare(qdrant, spec)
    held = await qdrant.get_collection(spec.name)
    assert set(held.payload_schema) == set(INDEXES)
    assert isinstance(held.config.quantization_config, models.ScalarQuantization)
    assert held.config.quantization_config.scalar.quantile == pytest.approx(0.99)
    assert held.config.strict_mode_config
    assert held.config.strict_mode_config.model_dump(exclude_none=True) == STRICT_MODE.model_dump(exclude_none=True)
    assert (await aliases(qdrant))[alias] == spec.name

    await prepare(qdrant, CollectionSpec(alias, DIMENSIONS))
    assert (await qdrant.get_collection(spec.name)).config.quantization_config is None


async def test_a_collection_in_the_place_of_the_alias_of_other_dimensions_or_of_a_former_version_is_explained(
    opening: Opening, alias: str, qdrant: AsyncQdrantClient
) -> None:
    async def refused(alias: str, match: str) -> None:
        with pytest.raises(CollectionMismatch, match=match):
            await opening(alias)

    await qdrant.create_collection(alias, vectors_config=TURN)
    await refused(alias, r"is to be an alias.*MEMORYBUS_QDRANT_COLLECTION")
    small = {"turn": models.VectorParams(size=8, distance=models.Distance.COSINE)}
    await qdrant.create_collection(CollectionSpec(f"{alias}-8", DIMENSIONS).name, vectors_config=small)
    await refused(f"{alias}-8", r"has 8 dimensions.*not 16")
    await prepare(qdrant, former := CollectionSpec(f"{alias}-old", DIMENSIONS))
    await qdrant.create_payload_index(former.name, "tags", field_schema=INDEXES["tag_keys"])
    await refused(f"{alias}-old", r"former version.*memorybus reindex")


async def test_a_collection_that_is_being_made_gets_no_alias_and_former_ones_are_removed(
    at_standin: dict[str, Any], opening: Opening, alias: str, qdrant: AsyncQdrantClient
) -> None:
    settings = Settings(qdrant_url=at_standin["url"], qdrant_grpc_port=at_standin["grpc_port"], qdrant_collection=alias)
    first = EmbeddingIdentity("any", "small", DIMENSIONS)
    next_one, made, other = replace(first, generation=1), replace(first, generation=2), f"{alias}x"
    for identity, in_use in ((first, True), (next_one, True), (made, False)):
        await (await open_store(settings, identity, in_use=in_use)).close()
    await opening(other)
    names = [CollectionSpec(alias, DIMENSIONS, identity=each).name for each in (first, next_one, made)]
    assert (await aliases(qdrant))[alias] == names[1]
    assert await drop_former(settings, next_one) == names[:1]
    assert await drop_former(settings, next_one) == []
    left = {each.name for each in (await qdrant.get_collections()).collections if each.name.startswith(alias)}
    assert left == {*names[1:], CollectionSpec(other, DIMENSIONS).name}
    assert (await aliases(qdrant))[alias] == names[1]


async def test_a_collection_removed_meanwhile_is_made_anew(store: QdrantVectorStore, qdrant: AsyncQdrantClient) -> None:
    await store.upsert([a_point(SCOPE, towards(1))])
    await qdrant.delete_collection(store._spec.name)
    with pytest.raises(Unavailable, match="memorybus reindex"):
        await found(store, SCOPE)
    assert await found(store, SCOPE) == []
    await store.upsert([a_point(SCOPE, towards(1))])
    assert await store.count() == 1


async def test_a_server_without_conditional_upserts_is_refused(qdrant: AsyncQdrantClient, alias: str) -> None:
    class Old:
        async def info(self) -> models.VersionInfo:
            return models.VersionInfo(title="qdrant", version="1.15.3")

    with pytest.raises(Unavailable, match=r"1\.15\.3 is too old.*1\.16 or newer"):
        await prepare(Old(), CollectionSpec(alias, DIMENSIONS))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [models.UpdateStatus.ACKNOWLEDGED, models.UpdateStatus.WAIT_TIMEOUT])
async def test_a_write_that_was_only_heard_is_no_success(
    store: QdrantVectorStore, monkeypatch: pytest.MonkeyPatch, status: models.UpdateStatus
) -> None:
    asked: list[dict[str, Any]] = []

    async def only_heard(*_: Any, **options: Any) -> list[models.UpdateResult]:
        asked.append(options)
        return [models.UpdateResult(operation_id=1, status=status)]

    monkeypatch.setattr(store._client, "batch_update_points", only_heard)
    with pytest.raises(Unavailable, match=rf"not carried out.*{status.value}"):
        await store.upsert([a_point(SCOPE, towards(1))])
    with pytest.raises(Unavailable, match=rf"not carried out.*{status.value}"):
        await store.remove([str(uuid4())])
    assert all(each["wait"] is True and each["ordering"] is models.WriteOrdering.STRONG for each in asked)


async def test_many_points_go_in_requests_of_bounded_size(
    store: QdrantVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points_module, "NUMBERS_PER_REQUEST", 10 * DIMENSIONS)
    sizes: list[int] = []
    write = store._client.batch_update_points

    async def counted(name: str, operations: Any, **options: Any) -> Any:
        sizes.append(sum(len(operation.upsert.points) for operation in operations))
        return await write(name, operations, **options)

    monkeypatch.setattr(store._client, "batch_update_points", counted)
    points = [a_point(SCOPE, towards(1, i), version=1 + i % 3) for i in range(35)]
    await store.upsert(points)
    assert sizes == [10, 10, 10, 5]
    assert set(await vectors_of(store, SCOPE, ids(points))) == set(ids(points))


@pytest.mark.parametrize(("dimensions", "points"), [(384, 42), (65_536, 1)])
def test_requests_hold_fewer_points_the_longer_their_vectors(dimensions: int, points: int) -> None:
    assert points_module.points_per_request(dimensions) == points


async def test_many_ids_are_asked_for_and_long_pages_made_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.shared.stores.qdrant.store.IDS_PER_REQUEST", 4)
    local = await open_local(tmp_path)
    points = [a_point(SCOPE, towards(1, i)) for i in range(10)]
    await local.upsert(points)
    assert set(await vectors_of(local, SCOPE, ids(points))) == set(ids(points))
    assert set(await cosines_of(local, SCOPE, ids(points) * 2, towards(1))) == set(ids(points))
    monkeypatch.setattr("services.shared.stores.qdrant.store.MAX_LIMIT", 4)
    for limit in (50, 7):
        assert [key.id for key in await local.scan(after="", limit=limit)] == sorted(ids(points))[:limit]
    await local.remove(ids(points)[:9])
    assert await local.count() == 1
    await local.close()


async def test_copies_are_of_the_newest_version_and_for_their_own_scope(store: QdrantVectorStore) -> None:
    points = [a_point(SCOPE, towards(1), text=f"text {i}", version=2, tags=("red",)) for i in range(3)]
    await store.upsert(points)
    await store.upsert([newer(points[0], towards(1), version=3, text="changed")])
    copies = await copies_of(store, SCOPE, [*ids(points)[:2], str(uuid4()), "no uuid"])
    assert set(copies) == set(ids(points)[:2])
    assert copies[ids(points)[0]].text == "changed"
    assert copies[ids(points)[1]] == points[1].entry
    assert await copies_of(store, Scope("bob"), ids(points)) == {}


async def test_without_copies_no_text_is_kept(opening: Opening, alias: str, qdrant: AsyncQdrantClient) -> None:
    opened = await opening(copies=False)
    point = a_point(SCOPE, towards(1), text="private words")
    await opened.upsert([point])
    assert await copies_of(opened, SCOPE, ids([point])) == {}
    records, _ = await qdrant.scroll(alias, with_payload=[*INDEXES, "copy"])
    assert "private" not in str(records[0].payload)


def test_quantized_vectors_are_rescored_with_the_originals() -> None:
    exact, scalar = CollectionSpec("a", 16), CollectionSpec("a", 16, quantization="scalar")
    assert exact.search_params.exact
    assert exact.name == scalar.name
    assert scalar.search_params.quantization
    assert scalar.search_params.quantization.rescore
    assert not scalar.search_params.exact
    assert scalar.creation()["hnsw_config"].m == 0


@pytest.mark.parametrize(("replicas", "factor"), [(2, 1), (3, 2)])
def test_half_of_the_replicas_must_have_a_write(replicas: int, factor: int) -> None:
    assert CollectionSpec("a", 16, replicas=replicas).creation()["write_consistency_factor"] == factor
