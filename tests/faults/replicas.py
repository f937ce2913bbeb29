"""Replicas of services as processes that share one data folder, beside a nats-server: a bus, and who works on it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.nats_cluster import nats_server
from tests.servers.workers import Worker

_PLAIN = {
    "MEMORYBUS_TEXT_STORE": "sqlite",
    "MEMORYBUS_EMBEDDER": "none",
    "MEMORYBUS_VECTOR_STORE": "none",
    "MEMORYBUS_NER": "none",
    "MEMORYBUS_LOG_LEVEL": "warning",
}
"""Words only: nothing that takes seconds to load."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """A bus, and the processes on it, in the order asked for."""

    nats: str
    workers: Sequence[Worker]


@asynccontextmanager
async def replicas(folder: Path, services: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[Replicas]:
    """One process for each of `services`, which may name several with commas between; all have the same data folder.

    Raises:
        NotReady: one did not start.
    """
    async with AsyncExitStack() as stack:
        nats = await stack.enter_async_context(nats_server(folder / "nats"))
        given = _PLAIN | {"MEMORYBUS_NATS_URL": nats.url} | dict(environment)
        place = folder / "services"
        workers = [Worker(service, number, place, given, light=True) for number, service in enumerate(services)]
        _share_data(workers)
        stack.push_async_callback(_stop, workers)
        await workers[0].start()  # declares the streams and makes the store; the others find both
        await asyncio.gather(*(worker.start() for worker in workers[1:]))
        yield Replicas(nats.url, workers)


def send(worker: Worker, number: signal.Signals) -> None:
    """Send a signal to a process that runs."""
    assert worker.process is not None
    worker.process.send_signal(number)


def _share_data(workers: Sequence[Worker]) -> None:
    """Let the folder that each process takes for its own be the same."""
    shared = workers[0].folder / "data"
    shared.mkdir(parents=True)
    for worker in workers:
        (worker.folder / worker.name).symlink_to(shared, target_is_directory=True)


async def _stop(workers: Sequence[Worker]) -> None:
    await asyncio.gather(*(worker.stop() for worker in workers))
