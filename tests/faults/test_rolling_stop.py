"""Replicas of retrieve are stopped and started again one after the other, while many ask: nobody notices."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.ports import Unavailable
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.shared.client import MemoryClient, RequestFailed, memory_client
from tests.faults.replicas import Replicas, replicas, send
from tests.polling import digested
from tests.servers.workers import Worker

CONNECTIONS = 4
RATE = 30.0
"""Requests per second of all connections together, which a busy machine can answer too."""

PATIENCE = 60.0
"""Seconds: what is lost is never answered, and what waits for a busy machine is."""

BURST = 300
"""Requests at once just before a replica is stopped, so that it has some in hand."""

SETTLE = 0.5
"""Seconds of load before the first stop, between the two, and after the last start."""

FACTS = ("I prefer uv over pip", "My sister lives in Lisbon", "The staging database is called heron")
CLEAN_EXIT = 0

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Replicas]:
    async with replicas(tmp_path, ["ingest,dedupe,enrich,embed,curate", "retrieve", "retrieve"], {}) as started:
        yield started


@dataclass(slots=True)
class Load:
    """Requests at a steady rate, whether or not the ones before are answered; and what became of them."""

    user_id: str
    patience: float = PATIENCE
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def run(self, client: MemoryClient, *, rate: float) -> None:
        """Ask so many times per second until stopped, and wait for the answers still due."""
        began, asked = time.monotonic(), 0
        async with asyncio.TaskGroup() as asking:
            while not self.stopped.is_set():
                asking.create_task(self._ask(client, FACTS[asked % len(FACTS)]))
                asked += 1
                await asyncio.sleep(max(0.0, began + asked / rate - time.monotonic()))

    async def stop_amid_a_burst(self, client: MemoryClient, worker: Worker) -> int | None:
        """Ask a lot at once, and stop a replica with SIGTERM while it answers; its exit code."""
        async with asyncio.TaskGroup() as asking:
            for number in range(BURST):
                asking.create_task(self._ask(client, FACTS[number % len(FACTS)]))
            await asyncio.sleep(0)
            await client.nats.flush()  # the bus has handed out the requests
            await worker.stop()
        assert worker.process is not None
        return worker.process.returncode

    async def _ask(self, client: MemoryClient, fact: str) -> None:
        began = time.monotonic()
        try:
            reply = await client.retrieve(
                RetrieveRequest(user_id=self.user_id, query=fact, limit=3), patience=self.patience
            )
        except (Unavailable, RequestFailed) as error:
            self.failures.append(f"{error!r} after {time.monotonic() - began:.2f} s")
            return
        if reply.degraded or not reply.items or reply.items[0].text != fact:
            self.failures.append(f"a wrong answer: {reply!r}")
        self.seconds.append(time.monotonic() - began)


async def remember(client: MemoryClient, user_id: str) -> None:
    await client.publish_all(Turn(user_id=user_id, role="user", text=fact) for fact in FACTS)
    await digested(client, turns=len(FACTS))


async def test_a_replica_that_hangs_is_noticed(running: Replicas) -> None:
    """So the load of the next test can fail."""
    load = Load(f"u-{uuid4().hex}", patience=3.0)
    async with memory_client(running.nats) as client:
        await remember(client, load.user_id)
        send(running.workers[-1], signal.SIGSTOP)
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(load.run(client, rate=RATE))  # so many that some surely fall to it
            await asyncio.sleep(SETTLE)
            load.stopped.set()
        send(running.workers[-1], signal.SIGCONT)
    assert load.seconds
    assert all("no answer within" in failure for failure in load.failures)
    assert load.failures


async def test_nobody_notices_that_retrieve_is_stopped_replica_by_replica(running: Replicas) -> None:
    _, first, second = running.workers
    load = Load(f"u-{uuid4().hex}")
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(memory_client(running.nats)) for _ in range(CONNECTIONS)]
        await remember(clients[0], load.user_id)
        async with asyncio.TaskGroup() as lanes:
            for client in clients:
                lanes.create_task(load.run(client, rate=RATE / CONNECTIONS))
            await asyncio.sleep(SETTLE)
            codes = []
            for worker in (first, second):
                codes.append(await load.stop_amid_a_burst(clients[0], worker))
                await worker.start()
                await asyncio.sleep(SETTLE)
            load.stopped.set()
    slowest = max(load.seconds, default=0.0)
    print(f"\nrolling stop: {len(load.seconds):,} answered, {len(load.failures)} failed, slowest {slowest:.2f} s")
    assert load.failures == []
    assert codes == [CLEAN_EXIT, CLEAN_EXIT]
    assert len(load.seconds) > RATE * 3 * SETTLE
