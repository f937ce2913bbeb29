"""Real nats-servers for tests: one with any configuration, or three that form a cluster; on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from nats.aio.client import Client
from nats.errors import Error as NatsError

from services.shared.bus.connection import connect
from services.shared.bus.server import die_with_parent, find_executable, free_port

_PATIENCE = 20.0


class ServerProcess:
    """One nats-server that can be killed and started again on the same port and folder."""

    def __init__(self, folder: Path, configuration: str, environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self._folder = folder
        self._configuration = configuration
        self._environment = {**os.environ, **(environment or {})}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        store = json.dumps(str(self._folder / "jetstream"))
        settings = f"host: 127.0.0.1\nport: {self.port}\njetstream {{ store_dir: {store} }}\n{self._configuration}"
        (self._folder / "nats.conf").write_text(settings)
        with (self._folder / "nats.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                find_executable(), "-c", str(self._folder / "nats.conf"), stdout=log, stderr=log, env=self._environment,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )  # fmt: skip
        await self._until_listening()

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _until_listening(self) -> None:
        assert self._process is not None
        async with asyncio.timeout(_PATIENCE):
            while True:
                log = (self._folder / "nats.log").read_text(errors="replace")
                assert self._process.returncode is None, f"nats-server ended at once:\n{log[-2000:]}"
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                await asyncio.sleep(0.02)


class Cluster:
    """Three servers that keep copies of each other's streams."""

    def __init__(self, servers: list[ServerProcess]) -> None:
        self.servers = servers

    @property
    def url(self) -> str:
        """All servers, separated by commas."""
        return ",".join(server.url for server in self.servers)

    async def kill(self, number: int) -> None:
        await self.servers[number].kill()

    async def restart(self, number: int) -> None:
        await self.servers[number].start()

    async def until_ready(self) -> None:
        """Wait until the cluster has a leader for its streams."""
        client = await connect(self.url, name="test-cluster")
        try:
            await _until_jetstream_answers(client)
        finally:
            await client.close()


@asynccontextmanager
async def nats_server(
    folder: Path, configuration: str = "", environment: Mapping[str, str] | None = None
) -> AsyncIterator[ServerProcess]:
    """One server with more configuration than the usual."""
    server = ServerProcess(folder, configuration, environment)
    try:
        await server.start()
        yield server
    finally:
        await server.kill()


@asynccontextmanager
async def nats_cluster(folder: Path) -> AsyncIterator[Cluster]:
    """Three servers, ready for streams with three replicas."""
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    async with AsyncExitStack() as stack:
        servers = []
        for number, port in enumerate(ports):
            cluster = f"cluster {{ name: test, host: 127.0.0.1, port: {port}, routes: [{routes}] }}"
            server = ServerProcess(folder / f"n{number}", f"server_name: n{number}\n{cluster}\n")
            stack.push_async_callback(server.kill)
            servers.append(server)
        await asyncio.gather(*(server.start() for server in servers))
        cluster_of_three = Cluster(servers)
        await cluster_of_three.until_ready()
        yield cluster_of_three


async def _until_jetstream_answers(client: Client) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            with suppress(NatsError, TimeoutError):
                await client.jetstream(timeout=1.0).account_info()
                return
            await asyncio.sleep(0.05)
