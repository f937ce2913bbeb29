"""Servers for tests of the Qdrant adapter: a stand-in of one's own to stop and kill, or a real one where there is."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from tests.servers.forks import start

IMAGE = "qdrant/qdrant:v1.19.0"
PATIENCE = 60.0


class StandIn:
    """The stand-in as a process of its own; it keeps its port and its data over stop, kill and start."""

    def __init__(self, data: Path, *, api_key: str | None = None, speaks_grpc: bool = True) -> None:
        self.url = ""
        """Where it is asked, once it was started."""
        self.grpc_port = 0
        """Where it is asked over gRPC; 0 where it does not speak it."""
        self._data = data
        self._port = 0
        self._speaks_grpc = speaks_grpc
        self._key = api_key
        self._process: ForkServerProcess | None = None

    def start(self) -> str:
        """Start it, wait until it answers, and return its url."""
        grpc = self.grpc_port if self._speaks_grpc else None
        self._process, stdout = start(_serve, self._port, grpc, self._data, self._key)
        with stdout:
            said = json.loads(stdout.readline())
        self.url, self.grpc_port = said["url"], said["grpc_port"] or 0
        self._port = int(self.url.rpartition(":")[2])
        return self.url

    def speak_grpc(self, port: int) -> None:
        """From its next start on, also speak gRPC, on this port."""
        self._speaks_grpc, self.grpc_port = True, port

    def asked(self) -> dict[str, int]:
        """How many requests it has had, over `http` and over `grpc`."""
        with urllib.request.urlopen(f"{self.url}/asked", timeout=PATIENCE) as reply:
            counted: dict[str, int] = json.load(reply)
        return {"http": 0, "grpc": 0} | counted

    def stop(self) -> int:
        """End it cleanly, and return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power failure would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Let it hang: its port accepts, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after a pause."""
        self._signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        self._signal(number)
        self._signal(signal.SIGCONT)  # or one that hangs would not hear
        self._process = None
        process.join(30)
        assert process.exitcode is not None, "the stand-in does not end"
        return process.exitcode

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, number)


def _serve(port: int, grpc_port: int | None, data: Path, api_key: str | None) -> None:
    from tests.servers.qdrant_standin import serve

    asyncio.run(serve(port, grpc_port, data, api_key))


@contextmanager
def standin(data: Path, *, api_key: str | None = None, speaks_grpc: bool = True) -> Iterator[StandIn]:
    """A stand-in that answers; ended in the end, however that comes."""
    server = StandIn(data, api_key=api_key, speaks_grpc=speaks_grpc)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class Address(NamedTuple):
    """Where a real server answers over HTTP and, with port 0 nowhere, over gRPC."""

    url: str
    grpc_port: int


@cache
def real_server() -> tuple[Address | None, str]:
    """The real server that all tests of a session share, and where it comes from; None, and why, when there is none.

    It is the one that MEMORYBUS_QDRANT_URL and MEMORYBUS_QDRANT_GRPC_PORT name, else a container.
    """
    if named := os.environ.get("MEMORYBUS_QDRANT_URL"):
        port = int(os.environ.get("MEMORYBUS_QDRANT_GRPC_PORT", "6334") or 0)
        return Address(named, port), "named by MEMORYBUS_QDRANT_URL"
    address, container = _container()
    return address, container if address else f"no real Qdrant server: MEMORYBUS_QDRANT_URL is not set; {container}"


def _container() -> tuple[Address | None, str]:
    """A container of the official image, and that it is one; or why there is none."""
    if find_spec("testcontainers") is None:
        return None, "the package testcontainers is not installed"
    if not _docker_answers():
        return None, "no docker daemon answers"
    container = import_module("testcontainers.core.container").DockerContainer(IMAGE)
    container.with_exposed_ports(6333, 6334).start()
    atexit.register(container.stop)
    url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(6333)}"
    _until_ready(url)
    return Address(url, int(container.get_exposed_port(6334))), f"a container of {IMAGE}"


def _docker_answers() -> bool:
    """Ask the command, as the Python package leaves a socket open when nobody answers."""
    if shutil.which("docker") is None:
        return False
    asked = ["docker", "version", "--format", "{{.Server.Version}}"]
    return subprocess.run(asked, capture_output=True, timeout=30, check=False).returncode == 0


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError), urllib.request.urlopen(f"{url}/readyz"):
            return
        assert time.monotonic() < deadline, f"the container at {url} does not answer within {PATIENCE:.0f} s"
        time.sleep(0.2)
