"""A launched memorybus as a process: started with a fault, waited for, killed, stopped, started again."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from services.shared.bus.connection import connect
from services.shared.bus.server import address_of, port_is_taken
from services.shared.client import MemoryClient
from services.shared.settings import Settings
from services.shared.tasks import end
from tests.servers.forks import Forked, fork

KILLED = -signal.SIGKILL
_READY = 180.0
_STOP = 30.0
_CLOSE = 2.0
_NEVER_GIVEN_OUT = range(20_000, 30_000)
QUICK = {
    "MEMORYBUS_INGEST_PURGE_EVERY_SECONDS": "0.1",
    "MEMORYBUS_CURATE_RESUME_EVERY_SECONDS": "2",
    "MEMORYBUS_CURATE_RESUME_AFTER_SECONDS": "5",
    "MEMORYBUS_LOG_LEVEL": "warning",
}


def lasting_port() -> int:
    """A port that stays free while nobody listens on it: the system gives it to no connection that goes out."""
    first = random.SystemRandom().randrange(len(_NEVER_GIVEN_OUT))
    for port in chain(_NEVER_GIVEN_OUT[first:], _NEVER_GIVEN_OUT[:first]):
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


@dataclass(slots=True)
class Launched:
    """One memorybus in one folder on one port, started again and again."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    port: int = field(default_factory=lasting_port)
    bus: str = ""
    """Where the load goes, when that is not the bus that memorybus starts."""
    process: Forked | None = field(default=None, repr=False)

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
        return self.process.returncode if self.process is not None else None

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.returncode is None

    async def start(self, *faults: str) -> bool:
        """Start with these options of the launcher; False when it was killed before it was ready.

        Raises:
            NotReady: it ended in another way, or takes too long.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        command = ["up", "--json", "--data", str(self.data), "--nats-port", str(self.port), "--http-port", "0"]
        arguments = [*faults, "--", *command, *self.options]
        environment = QUICK | dict(self.environment)
        self.process = await fork(arguments, log=self.logs / "up.log", environment=environment)
        with suppress(TimeoutError):
            if await asyncio.wait_for(self.process.stdout.readline(), _READY):
                return True
            if await self.process.wait() == KILLED:
                return False
        await self.kill()
        raise NotReady(f"memorybus did not become ready with {faults}; the end of its log:\n{self.log()[-3000:]}")

    async def passings(self, work: Callable[[MemoryClient], Awaitable[None]], within: tuple[str, ...]) -> Sequence[str]:
        """The points that begin like this and are passed by some work, each as often as it is, in their order."""
        passed, times = self.folder / "points", Counter[str]()
        try:
            await self.start("--survey", str(passed))
            async with self.client() as client:
                await work(client)
        finally:
            await self.stop()
        passings = []
        for point in (await asyncio.to_thread(passed.read_text)).split():
            times[point] += 1
            passings.append(f"{point}:{times[point]}")
        return [one for one in passings if one.startswith(within)]

    def log(self) -> str:
        """What it has logged so far."""
        return (self.logs / "up.log").read_text(errors="replace")

    async def died(self) -> int | None:
        """Wait until it has ended; how."""
        return await self.process.wait() if self.process is not None else None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.process is not None:
            self.process.send_signal(number)

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        self.send(signal.SIGKILL)
        await self.died()

    async def stop(self) -> None:
        """Ask it to end, and wait until it has.

        Raises:
            NotReady: it does not end.
        """
        self.send(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.died(), _STOP)
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
