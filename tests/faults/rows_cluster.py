"""The rows of the matrix with OpenSearch as text store: one process killed at every write, and a cluster's replicas."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from services.shared.client import MemoryClient
from services.shared.settings import Settings
from tests.faults.kills import STAGES, kill_at
from tests.faults.loads import Load
from tests.faults.process import QUICK, Launched, load_client, settings_of
from tests.faults.replicas import send
from tests.faults.rows import CannotRun, Context, Row
from tests.faults.trial import Outcome, Trial
from tests.servers import opensearch
from tests.servers.cluster import Cluster, cluster
from tests.servers.workers import WORKERS, NotReady, Workers
from tests.stores.opensearch_openers import a_prefix

_SURVEYED = 150
_AWAY = 1.0
_PAUSED = 35.0
"""Seconds: longer than the bus waits for an acknowledgement."""

_OFTEN = 4
"""What is passed less often in the survey only happens when two things meet."""

_SOME = 2
_PATIENCE = 60.0
"""Seconds for a point to be passed: on a busy machine OpenSearch needs them, and few points are tried."""

_BY_CHANCE = ("background",)


@contextmanager
def on_opensearch() -> Iterator[dict[str, str]]:
    """The settings that choose OpenSearch as text store, with indices that only this row has."""
    url, why = opensearch.server_url()
    if url is None:
        raise CannotRun(why)
    with a_prefix(url) as prefix:
        yield {
            "MEMORYBUS_TEXT_STORE": "opensearch",
            "MEMORYBUS_OPENSEARCH_URL": url,
            "MEMORYBUS_OPENSEARCH_PREFIX": prefix,
        }


async def killed_at_writes(context: Context) -> Outcome:
    """Kill -9 before and after every kind of request that writes to OpenSearch."""
    with on_opensearch() as environment:
        launched = Launched(context.folder / "opensearch-writes", environment)
        points = await _writes(context)
        passings = (1,) if context.quick else (1, 3)
        return await kill_at(
            "OpenSearch, kill -9: writes",
            points,
            passings,
            launched=launched,
            seed=context.seed,
            tell=context.tell,
            patience=_PATIENCE,
        )


async def _writes(context: Context) -> list[str]:
    """The points around writes to OpenSearch that a load passes."""
    with on_opensearch() as environment:
        survey = Launched(context.folder / "opensearch-survey", environment)
        trial = Trial(survey, survey.folder, Load(context.seed))
        passed = survey.folder / "points"
        try:
            await survey.start("--survey", str(passed))
            await trial.load(steps=_SURVEYED)
            await trial.recover()
        finally:
            await survey.stop()
            await trial.close()
    times = Counter((await asyncio.to_thread(passed.read_text)).split())
    points = sorted(point for point in times if _is_write(point) and times[point] >= _OFTEN)
    return Random(context.seed).sample(points, _SOME) if context.quick else points


def _is_write(point: str) -> bool:
    who, effect, _ = point.split(".")
    is_write = effect == "delete_by_query" or effect.split("_")[0] in ("create", "index", "update")
    return is_write and who not in _BY_CHANCE


@dataclass(slots=True)
class _Replicas:
    """A whole cluster as the system under trial."""

    cluster: Cluster
    folder: Path

    @property
    def settings(self) -> Settings:
        return settings_of(self.cluster.environment, self.folder)

    @property
    def files(self) -> Sequence[Path]:
        return ()

    def client(self) -> AbstractAsyncContextManager[MemoryClient]:
        return load_client(self.cluster.nats.url)

    async def stop(self) -> None:
        await asyncio.gather(*(worker.stop() for worker in self.cluster.workers.all))

    async def kill(self) -> None:
        await asyncio.gather(*(worker.kill() for worker in self.cluster.workers.all))


async def replicas_killed(context: Context) -> Outcome:
    """Kill -9 of one replica after the other: two of every service, three nats-servers, OpenSearch, Qdrant."""

    async def kill(workers: Workers) -> int:
        doomed = [worker for name in WORKERS for worker in workers.of(name)]
        chosen = doomed[::2] if context.quick else doomed
        for worker in chosen:
            context.tell(worker.name)
            await worker.kill()
            await asyncio.sleep(_AWAY)
            await worker.restart()
        return len(chosen)

    return await _disturbed(context, "cluster, kill -9: replicas", kill)


async def replicas_paused(context: Context) -> Outcome:
    """SIGSTOP of one replica of every stage, then of the other: their work is given to others, and they go on."""

    async def pause(workers: Workers) -> int:
        shifts = [[workers.of(name)[number] for name in STAGES] for number in range(2)]
        for chosen in shifts:
            context.tell(", ".join(worker.name for worker in chosen))
            for worker in chosen:
                send(worker, signal.SIGSTOP)
            await asyncio.sleep(_PAUSED)
            for worker in chosen:
                send(worker, signal.SIGCONT)
        return sum(map(len, shifts))

    return await _disturbed(context, "cluster, SIGSTOP: replicas", pause)


async def _disturbed(context: Context, row: str, disturb: Callable[[Workers], Awaitable[int]]) -> Outcome:
    """A cluster under load whose processes something happens to, so many times."""
    folder = context.folder / row.replace(": ", "-")
    async with _started(folder) as running:
        trial = Trial(_Replicas(running, folder), folder, Load(context.seed))
        try:
            async with trial.loading():
                runs = await disturb(running.workers)
            took = await trial.recover()
            return Outcome(row, runs, await trial.verdict(), took)
        finally:
            trial.journal.close()


@asynccontextmanager
async def _started(folder: Path) -> AsyncIterator[Cluster]:
    with on_opensearch() as environment:
        try:
            async with cluster(folder, settings=QUICK | environment, light=True) as running:
                yield running
        except NotReady as error:
            raise CannotRun(str(error)) from error


ROWS: dict[str, Row] = {
    "opensearch-writes": killed_at_writes,
    "replicas": replicas_killed,
    "replicas-paused": replicas_paused,
}
"""By name."""
