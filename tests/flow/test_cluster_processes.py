"""The whole cluster as processes: three nats-servers, OpenSearch, Qdrant's stand-in, two replicas of every service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.texts import Talk
from services.shared.client import MemoryClient, memory_client
from tests.flow.checker import check
from tests.polling import digested
from tests.servers import opensearch
from tests.servers.cluster import Cluster, cluster
from tests.servers.workers import WORKERS
from tests.sizes import LONG
from tests.stores.opensearch_openers import a_prefix

PUBLISHERS = 10
TURNS = 600

pytestmark = pytest.mark.timeout(420)


@pytest.fixture
async def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    url, where = opensearch.server_url()
    if url is None:
        pytest.skip(where)
    monkeypatch.setenv("MEMORYBUS_OPENSEARCH_URL", url)
    with a_prefix(url) as prefix:
        settings = {"MEMORYBUS_OPENSEARCH_PREFIX": prefix, "MEMORYBUS_NER": "none"}
        async with cluster(tmp_path, settings=settings, light=not LONG) as started:
            yield started


def turns() -> list[Turn]:
    """Turns of several users; every tenth is one of a few statements that each user says again and again."""
    said = list(Talk(seed=77).turns(TURNS, users=6))
    for number, turn in enumerate(said):
        if number % 10 == 0:
            said[number] = turn.model_copy(update={"text": f"I live at number {number // 10 % 4} in the old town."})
    return said


async def publish(clients: Sequence[MemoryClient], turns: Sequence[Turn]) -> None:
    """Publish from all connections at once, until the bus has acknowledged all."""
    count = len(clients)
    await asyncio.gather(*(client.publish_all(turns[number::count]) for number, client in enumerate(clients)))


async def test_nothing_is_lost_or_doubled_while_one_replica_of_every_service_is_killed(running: Cluster) -> None:
    said, part = turns(), TURNS // (2 * len(WORKERS))
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(memory_client(running.nats.url)) for _ in range(PUBLISHERS)]
        for number, name in enumerate(WORKERS):
            worker = running.workers.of(name)[0]
            await publish(clients, said[2 * number * part : (2 * number + 1) * part])
            await worker.kill()
            await publish(clients, said[(2 * number + 1) * part : (2 * number + 2) * part])
            await worker.restart()
        await digested(clients[0], turns=TURNS, within=120)
        verdict = await check(clients[0], said)
        assert (verdict.lost, verdict.duplicated, verdict.without_vector) == (0, 0, 0)
        status = await clients[0].status(patience=20.0)
        assert status.vectors == status.entries
        reply = await clients[0].retrieve(RetrieveRequest(user_id="bench-0", query="old town number"), patience=10.0)
        assert "old town" in reply.context
        assert reply.degraded == ()
        assert (await clients[0].backlog()).dead_letters == 0
