"""OpenSearch or Qdrant stopped, killed, hanging, read-only: nothing is lost, and recovery needs no hand."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running, running
from services.shared.client import MemoryClient
from services.shared.settings import Settings
from tests.flow.checker import check
from tests.polling import digested, eventually
from tests.servers import opensearch
from tests.servers.opensearch import OpenSearchNode, opensearch_node
from tests.servers.qdrant import StandIn, standin
from tests.sizes import LONG

pytestmark = pytest.mark.timeout(300)
AWAY = 6.0
"""Seconds that an engine stays away: longer than the services try within one attempt."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchNode]:
    if lacking := opensearch.missing():
        pytest.skip(f"no OpenSearch to stop: {lacking}")
    with opensearch_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[StandIn]:
    with standin(tmp_path / "qdrant") as started:
        yield started


@pytest.fixture
async def instance(
    node: OpenSearchNode, qdrant: StandIn, model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Running]:
    monkeypatch.setenv("MEMORYBUS_RETRIEVE_LEG_TIMEOUT_SECONDS", "0.5")
    settings = Settings(
        data=tmp_path / "data",
        cache=model_cache,
        nats_port=0,
        http_port=0,
        ner="none",
        log_level="error",
        text_store="opensearch",
        opensearch_url=node.url,
        opensearch_prefix=f"away-{uuid4().hex[:12]}",
        vector_store="qdrant",
        qdrant_url=qdrant.url,
        qdrant_grpc_port=qdrant.grpc_port,
    )
    async with running(settings) as up:
        yield up


def turns(count: int, start: int = 0) -> list[Turn]:
    return [
        Turn(user_id="ann", role="user", text=f"Number {n} is what I keep in the cellar.", turn_id=f"t{n}")
        for n in range(start, start + count)
    ]


async def ask(client: MemoryClient) -> RetrieveReply:
    return await client.retrieve(
        RetrieveRequest(user_id="ann", query="what is in the cellar", min_score=0.0), patience=5
    )


async def problems(instance: Running) -> list[str]:
    async with httpx.AsyncClient(verify=False) as http:
        answer = (await http.get(f"{instance.http}/readyz")).json()
    return list(answer["problems"])


def waits(stage: str) -> Callable[[list[str]], bool]:
    return lambda found: any(stage in problem for problem in found)


async def all_is_well_again(client: MemoryClient, instance: Running, said: list[Turn]) -> None:
    await digested(client, turns=len(said), within=90)
    verdict = await check(client, said)
    assert (verdict.lost, verdict.duplicated, verdict.without_vector) == (0, 0, 0)
    assert (await eventually(lambda: ask(client), lambda reply: reply.degraded == (), within=30)).items
    assert await eventually(lambda: problems(instance), lambda found: not found, within=30) == []


@pytest.mark.parametrize("way", ["killed", "hanging"] if LONG else ["hanging"])
async def test_while_opensearch_is_away_turns_wait_and_meaning_answers(
    client: MemoryClient, instance: Running, node: OpenSearchNode, way: str
) -> None:
    before, meanwhile = turns(20), turns(40, start=20)
    await client.publish_all(before)
    await digested(client, turns=20)
    await asyncio.to_thread(node.kill if way == "killed" else node.pause)
    try:
        await client.publish_all(meanwhile)
        reply = await ask(client)
        assert reply.degraded == ("lexical",)
        assert "cellar" in reply.context
        await eventually(lambda: problems(instance), waits("ingest"))
        await asyncio.sleep(AWAY)
    finally:
        await asyncio.to_thread(node.start if way == "killed" else node.resume)
    await all_is_well_again(client, instance, before + meanwhile)


async def test_who_has_no_work_notices_too_that_the_stores_are_away(
    instance: Running, node: OpenSearchNode, qdrant: StandIn
) -> None:
    assert await problems(instance) == []
    await asyncio.to_thread(node.pause)
    qdrant.kill()
    try:
        found = await eventually(lambda: problems(instance), lambda found: len(found) == 2, within=30)
        assert sorted(problem.partition(":")[0] for problem in found) == ["text store", "vector store"]
    finally:
        await asyncio.to_thread(node.resume)
        await asyncio.to_thread(qdrant.start)
    assert await eventually(lambda: problems(instance), lambda found: not found, within=60) == []


async def test_while_opensearch_takes_no_writes_turns_wait_and_it_still_answers(
    client: MemoryClient, instance: Running, node: OpenSearchNode
) -> None:
    before, meanwhile = turns(20), turns(20, start=20)
    await client.publish_all(before)
    await digested(client, turns=20)
    block(node, read_only=True)
    try:
        await client.publish_all(meanwhile)
        await eventually(lambda: ask(client), lambda reply: reply.degraded == ())
        await eventually(lambda: problems(instance), waits("ingest"))
    finally:
        block(node, read_only=None)
    await all_is_well_again(client, instance, before + meanwhile)


@pytest.mark.parametrize("way", ["killed", "hanging"] if LONG else ["killed"])
async def test_while_qdrant_is_away_only_vectors_wait_and_words_answer(
    client: MemoryClient, instance: Running, qdrant: StandIn, way: str
) -> None:
    before, meanwhile = turns(20), turns(20, start=20)
    await client.publish_all(before)
    await digested(client, turns=20)
    qdrant.kill() if way == "killed" else qdrant.pause()
    try:
        await client.publish_all(meanwhile)
        await eventually(client.status, lambda status: status.entries == 40)
        reply = await eventually(lambda: ask(client), lambda found: found.total_count >= 40)
        assert reply.degraded == ("semantic",)
        await eventually(lambda: problems(instance), waits("embed"), within=60)
        assert all("embed" in problem or "vector store" in problem for problem in await problems(instance))
        status = await client.status()
        assert (status.turns, status.entries, status.degraded) == (40, 40, ("semantic",))
    finally:
        await asyncio.to_thread(qdrant.start) if way == "killed" else qdrant.resume()
    await all_is_well_again(client, instance, before + meanwhile)


def block(node: OpenSearchNode, *, read_only: bool | None) -> None:
    """What a disk that runs full makes OpenSearch do to its indices."""
    body = json.dumps({"index.blocks.read_only_allow_delete": read_only}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{node.url}/away-*/_settings", data=body, headers=headers, method="PUT")
    urllib.request.urlopen(request, timeout=30).close()
