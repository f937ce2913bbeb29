"""Every service as processes of its own, the way a cluster runs them: to be killed, paused and started again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from services.shared.bus.server import die_with_parent
from tests.servers.forks import Forked, fork

WORKERS = ("ingest", "dedupe", "enrich", "embed", "retrieve", "curate")
_READY = 120.0
_STOP = 40.0
ROOT = Path(__file__).resolve().parents[2]


class NotReady(Exception):
    """A service did not start; the text has the end of its log."""


@dataclass(slots=True)
class Worker:
    """One replica of one service; one that is `light` is forked, with models that are arithmetic."""

    service: str
    number: int
    folder: Path
    environment: Mapping[str, str]
    light: bool = False
    http: str = ""
    process: asyncio.subprocess.Process | Forked | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Service and number."""
        return f"{self.service}-{self.number}"

    async def start(self) -> None:
        """Start it and wait until it says that it is ready.

        Raises:
            NotReady: it ended, or did not become ready in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"{self.name}.log"
        environment = dict(self.environment) | {"MEMORYBUS_DATA": str(self.folder / self.name)}
        arguments = ["up", "--only", self.service, "--json", "--http-port", "0"]
        if self.light:
            self.process = await fork(["--", *arguments], log=log, environment=environment)
        else:
            self.process = await _program(arguments, log, environment)
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), _READY)
        except TimeoutError:
            line = b""
        if not line:
            await self.kill()
            tail = log.read_text(errors="replace")[-2000:]
            raise NotReady(f"{self.name} did not become ready; the end of its log:\n{tail}")
        self.http = json.loads(line)["http"]

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self.process is not None and self.process.returncode is None:
            self.process.terminate()
            try:
                await asyncio.wait_for(self.process.wait(), _STOP)
            except TimeoutError:
                await self.kill()

    async def restart(self) -> None:
        """Start it again."""
        await self.start()


async def _program(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    with log.open("ab") as stderr:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.cli", *arguments),
            cwd=ROOT,
            env=os.environ | dict(environment),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )


@dataclass(slots=True)
class Workers:
    """All replicas of all services."""

    all: list[Worker]

    def of(self, service: str) -> list[Worker]:
        """The replicas of one service."""
        return [worker for worker in self.all if worker.service == service]


@asynccontextmanager
async def workers(
    folder: Path,
    environment: Mapping[str, str],
    *,
    replicas: int = 2,
    services: Sequence[str] = WORKERS,
    light: bool = False,
) -> AsyncIterator[Workers]:
    """So many replicas of every service and one gateway, started one service after the other, ended in the end."""
    running = [Worker(name, number, folder, environment, light) for name in services for number in range(replicas)]
    running.append(Worker("gateway", 0, folder, environment, light))
    try:
        for start in range(0, len(running), replicas):
            await asyncio.gather(*(worker.start() for worker in running[start : start + replicas]))
        yield Workers(running)
    finally:
        await asyncio.gather(*(worker.stop() for worker in running))
