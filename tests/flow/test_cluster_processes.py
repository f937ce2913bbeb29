"""The whole cluster as processes: three nats-servers, OpenSearch, Qdrant's stand-in, two replicas of every service."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
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
PAUSE = 1.5

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


async def publish(client: MemoryClient, mine: list[Turn], seconds: float) -> list[Turn]:
    """Publish over so many seconds; what the bus acknowledged."""
    acknowledged = []
    for turn in mine:
        await client.publish(turn)
        acknowledged.append(turn)
        await asyncio.sleep(seconds / len(mine))
    return acknowledged


async def one_dies_after_the_other(running: Cluster) -> None:
    for name in WORKERS:
        worker = running.workers.of(name)[0]
        await worker.kill()
        await asyncio.sleep(PAUSE)
        await worker.restart()


async def test_nothing_is_lost_or_doubled_while_one_replica_of_every_service_is_killed(running: Cluster) -> None:
    said = turns()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(memory_client(running.nats.url)) for _ in range(PUBLISHERS)]
        parts = [said[number::PUBLISHERS] for number in range(PUBLISHERS)]
        deaths = asyncio.create_task(one_dies_after_the_other(running))
        published = await asyncio.gather(
            *(publish(client, part, seconds=25) for client, part in zip(clients, parts, strict=True))
        )
        await deaths
        acknowledged = list(itertools.chain.from_iterable(published))
        assert len(acknowledged) == TURNS
        await digested(clients[0], turns=TURNS, within=120)
        verdict = await check(clients[0], acknowledged)
        assert (verdict.lost, verdict.duplicated, verdict.without_vector) == (0, 0, 0)
        status = await clients[0].status(patience=20.0)
        assert status.vectors == status.entries
        reply = await clients[0].retrieve(RetrieveRequest(user_id="bench-0", query="old town number"), patience=10.0)
        assert "old town" in reply.context
        assert reply.degraded == ()
        assert (await clients[0].backlog()).dead_letters == 0
