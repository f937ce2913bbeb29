"""Runs `memorybus up` as a process of its own, the way users run it, in a temporary folder."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import Unavailable
from contracts.v1.retrieval import RetrieveRequest
from services.shared.client import MemoryClient, RequestFailed, memory_client
from services.shared.tasks import ended

_READY_PATIENCE = 180.0
_STOP_PATIENCE = 20.0
UNHURRIED = 30.0
"""Seconds that an answer may take where what is told is measured, and not how fast."""

_LEG_TIMEOUT = "MEMORYBUS_RETRIEVE_LEG_TIMEOUT_SECONDS"


@dataclass(frozen=True, slots=True)
class Up:
    """A running `memorybus up`."""

    nats: str
    http: str
    pid: int


@asynccontextmanager
async def up_process(
    data: Path, options: Sequence[str] = (), *, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Up]:
    """Start memorybus on free ports, with these settings besides those inherited, stop it at the end.

    Raises:
        Unavailable: it did not become ready; its log is in the data folder.
    """
    command = ["up", "--json", "--data", str(data), "--nats-port", "0", "--http-port", "0", *options]
    process = await _start(command, log=_log_of(data), environment=environment or {})
    try:
        yield await _ready(process, data)
    finally:
        if process.returncode is None:
            process.terminate()
            await ended(process, within=_STOP_PATIENCE)


@asynccontextmanager
async def measured(
    data: Path, options: Sequence[str] = (), *, environment: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Up, MemoryClient]]:
    """A memorybus of its own as `up_process` runs it, and a client of it.

    Raises:
        Unavailable: it did not become ready; its log is in the data folder.
    """
    async with up_process(data, options, environment=environment) as up, memory_client(up.nats) as client:
        yield up, client


def in_no_hurry(settings: Mapping[str, str]) -> dict[str, str]:
    """These settings, with which an answer has what both legs find, however busy the machine is."""
    return ({} if _LEG_TIMEOUT in os.environ else {_LEG_TIMEOUT: str(UNHURRIED)}) | dict(settings)


async def until_digested(client: MemoryClient, turns: int, *, user_id: str | None = None) -> None:
    """Wait until so many turns are stored, enriched and embedded."""
    while True:
        with suppress(Unavailable, RequestFailed):
            status = await client.status(user_id)
            if status.turns >= turns and status.pending == 0:
                return
        await asyncio.sleep(0.05)


async def milliseconds_to_retrieve(client: MemoryClient, user_id: str, question: str) -> float:
    """How long one answer takes over the bus."""
    started = time.perf_counter()
    await client.retrieve(RetrieveRequest(user_id=user_id, query=question))
    return (time.perf_counter() - started) * 1000


async def start_program(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Run memorybus with this command; what it logs goes to the end of a file."""
    with log.open("ab") as stderr:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.cli", *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=os.environ | dict(environment),
        )


_start = start_program  # what tests put a fork in the place of


def _log_of(data: Path) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    return data / "up.log"


async def _ready(process: asyncio.subprocess.Process, data: Path) -> Up:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _READY_PATIENCE)
    except TimeoutError:
        line = b""
    if not line:
        tail = _log_of(data).read_text(errors="replace")[-2000:]
        raise Unavailable(f"memorybus did not become ready; the end of its log:\n{tail}")
    said = json.loads(line)
    return Up(nats=said["nats"], http=said["http"], pid=process.pid)
