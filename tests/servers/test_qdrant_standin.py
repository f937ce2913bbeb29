"""The stand-in for Qdrant does what the tests of several processes rely on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from tests.servers.qdrant import StandIn, standin

ID = "00000000-0000-0000-0000-000000000001"
VECTORS = {"turn": models.VectorParams(size=2, distance=models.Distance.COSINE)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with standin(tmp_path_factory.mktemp("qdrant")) as started:
        yield started


def connected(server: StandIn) -> QdrantClient:
    return QdrantClient(url=server.url, check_compatibility=False)


def fill(client: QdrantClient) -> None:
    client.create_collection("one", vectors_config=VECTORS, strict_mode_config=models.StrictModeConfig(enabled=True))
    client.create_payload_index(
        "one", "user", field_schema=models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
    )
    create = models.CreateAlias(collection_name="one", alias_name="alias")
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=create)])
    client.batch_update_points("alias", [upsert([3.0, 4.0])])


def upsert(vector: list[float]) -> models.UpsertOperation:
    point = models.PointStruct(id=ID, vector={"turn": vector}, payload={"user": "ann", "age": 7})
    return models.UpsertOperation(upsert=models.PointsList(points=[point]))


def of(field: str, value: str) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=field, match=models.MatchValue(value=value))])


def test_it_refuses_what_a_strict_server_refuses(server: StandIn) -> None:
    client = connected(server)
    fill(client)
    with pytest.raises(UnexpectedResponse, match="Index required but not found"):
        client.count("one", of("age", "7"))
    with pytest.raises(UnexpectedResponse, match="409"):
        client.create_collection("one", vectors_config=VECTORS)
    with pytest.raises(UnexpectedResponse, match="404"):
        client.count("two")
    with pytest.raises(UnexpectedResponse, match="dimension"):
        client.batch_update_points("one", [upsert([1.0])])
    assert client.count("one", of("user", "ann")).count == 1
    client.delete_collection("one")
    client.close()


def test_a_removed_collection_takes_its_alias_with_it(server: StandIn) -> None:
    client = connected(server)
    fill(client)
    assert client.delete_collection("one")
    assert client.get_aliases().aliases == []
    assert not client.collection_exists("alias")
    fill(client)
    assert client.count("one").count == 1
    client.delete_collection("one")
    client.close()
