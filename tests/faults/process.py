"""A launched memorybus as a process: started with a fault, waited for, killed, stopped, started again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.shared.bus.connection import connect
from services.shared.bus.server import address_of, die_with_parent, port_is_taken
from services.shared.client import MemoryClient
from services.shared.settings import Settings
from services.shared.tasks import end

ROOT = Path(__file__).absolute().parents[2]
KILLED = -signal.SIGKILL
_READY = 180.0
_STOP = 30.0
_CLOSE = 2.0
_NEVER_GIVEN_OUT = range(20_000, 30_000)
QUICK = {
    "MEMORYBUS_INGEST_DROP_EVERY_SECONDS": "0.1",
    "MEMORYBUS_CURATE_RESUME_EVERY_SECONDS": "2",
    "MEMORYBUS_CURATE_RESUME_AFTER_SECONDS": "5",
    "MEMORYBUS_LOG_LEVEL": "warning",
}


def lasting_port() -> int:
    """A port that stays free while nobody listens on it: the system gives it to no connection that goes out."""
    for port in random.SystemRandom().sample(_NEVER_GIVEN_OUT, len(_NEVER_GIVEN_OUT)):
        if not port_is_taken("127.0.0.1", port):
            return port
    raise NotReady(f"no port between {_NEVER_GIVEN_OUT[0]} and {_NEVER_GIVEN_OUT[-1]} is free")


def settings_of(environment: Mapping[str, str], data: Path) -> Settings:
    """What memorybus makes of these variables."""
    given = {name.removeprefix("MEMORYBUS_").lower(): value for name, value in environment.items()}
    known = {name: value for name, value in given.items() if name in Settings.model_fields}
    return Settings.model_validate({**known, "data": data})


class NotReady(Exception):
    """memorybus ended before it was ready, or did not become ready; the text has the end of its log."""


class Launcher:
    """A process that has imported everything and forks a memorybus when asked, one at a time."""

    def __init__(self) -> None:
        self.pid = 0
        self.code: int | None = None
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._hearing: asyncio.Task[None] | None = None

    async def launch(self, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Fork one. `ready` is set when it says so, `ended` with `code` when it is gone."""
        if self._process is None:
            await self._open()
        assert self._process is not None
        assert self._process.stdin is not None
        self.ready.clear()
        self.ended.clear()
        self.pid, self.code = 0, None
        asked = {"arguments": list(arguments), "log": str(log), "environment": dict(environment)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        await self._process.stdin.drain()

    async def _open(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.faults.launcher", "--serve"),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
            start_new_session=True,  # Ctrl-C goes to who asked for the run, who ends everything in order
        )
        self._hearing = asyncio.create_task(self._hear(self._process.stdout))

    async def _hear(self, said: asyncio.StreamReader | None) -> None:
        assert said is not None
        async for line in said:
            told: dict[str, Any] = json.loads(line)
            if "pid" in told:
                self.pid = told["pid"]
            elif "ended" in told:
                self.code = told["ended"]
                self.ended.set()
            else:
                self.ready.set()
        self.ended.set()

    async def close(self) -> None:
        """End it; what it forked has ended before."""
        if self._process is not None and self._hearing is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()
            await self._hearing
            self._process = None


@dataclass(slots=True)
class Launched:
    """One memorybus in one folder on one port, started again and again."""

    launcher: Launcher
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    port: int = field(default_factory=lasting_port)
    bus: str = ""
    """Where the load goes, when that is not the bus that memorybus starts."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def settings(self) -> Settings:
        """What it is started with."""
        return settings_of(self.environment, self.data)

    @property
    def files(self) -> Sequence[Path]:
        """Where it writes."""
        return self.data, self.logs

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self.launcher.code

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self.launcher.pid != 0 and not self.launcher.ended.is_set()

    async def start(self, *faults: str) -> bool:
        """Start with these options of the launcher; False when it was killed before it was ready.

        Raises:
            NotReady: it ended in another way, or takes too long.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        command = ["up", "--json", "--data", str(self.data), "--nats-port", str(self.port), "--http-port", "0"]
        arguments = [*faults, "--", *command, *self.options]
        await self.launcher.launch(arguments, self.logs / "up.log", QUICK | dict(self.environment))
        waiting = [asyncio.create_task(event.wait()) for event in (self.launcher.ready, self.launcher.ended)]
        await asyncio.wait(waiting, timeout=_READY, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if self.launcher.ready.is_set():
            return True
        if self.code == KILLED:
            return False
        await self.kill()
        raise NotReady(f"memorybus did not become ready with {faults}; the end of its log:\n{self.log()[-3000:]}")

    def log(self) -> str:
        """What it has logged so far."""
        return (self.logs / "up.log").read_text(errors="replace")

    async def died(self) -> int | None:
        """Wait until it has ended; how."""
        await self.launcher.ended.wait()
        return self.code

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.launcher.pid, number)

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        if self.is_running:
            self.send(signal.SIGKILL)
            await self.launcher.ended.wait()

    async def stop(self) -> None:
        """Ask it to end, and wait until it has.

        Raises:
            NotReady: it does not end.
        """
        if not self.is_running:
            return
        self.send(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.launcher.ended.wait(), _STOP)
        except TimeoutError:
            await self.kill()
            raise NotReady(f"memorybus did not stop; the end of its log:\n{self.log()[-3000:]}") from None

    def client(self) -> AbstractAsyncContextManager[MemoryClient]:
        """A connection to its bus."""
        return load_client(self.bus or address_of(self.data / "nats", self.port))


@asynccontextmanager
async def load_client(url: str) -> AsyncIterator[MemoryClient]:
    """A connection to a bus that may be gone when it is closed."""
    connection = await connect(url, name="load", patience=_READY)
    try:
        yield MemoryClient(connection)
    finally:
        closing = asyncio.create_task(connection.close())  # it may fail, be cancelled by what it waits for, or hang
        await asyncio.wait({closing}, timeout=_CLOSE)
        await end([closing])
        await asyncio.gather(closing, return_exceptions=True)
