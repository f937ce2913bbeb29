"""A real OpenSearch for tests: one's own node to stop and kill, or one server that all processes of a run share."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "opensearch"
IMAGE = "opensearchproject/opensearch:3.4.0"
EXIT_MISSING = 69
PATIENCE = 180.0

_RUN = "MEMORYBUS_TEST_RUN"
"""The environment variable with the id of the process that began the run, which its workers inherit."""

_IMAGE_ENVIRONMENT = {
    "discovery.type": "single-node",
    "DISABLE_SECURITY_PLUGIN": "true",
    "DISABLE_INSTALL_DEMO_CONFIG": "true",
    "OPENSEARCH_JAVA_OPTS": "-Xms512m -Xmx512m",
    "cluster.routing.allocation.disk.threshold_enabled": "false",
}


class ServerNotStarted(Exception):
    """A server that ought to start did not; the text is what the script said."""


class ServerCannotRun(ServerNotStarted):
    """This machine lacks what the server needs; the text says what."""


def script(*words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run scripts/opensearch with the Python of these tests; `env` is added to the environment."""
    return subprocess.run(
        [str(SCRIPT), *(str(word) for word in words)],
        env={**os.environ, "PYTHON": sys.executable, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@cache
def missing() -> str | None:
    """What this machine lacks to start a node, in words; None when nothing."""
    told = script("check")
    if told.returncode not in (0, EXIT_MISSING):
        raise ServerNotStarted(told.stderr)
    return told.stderr.strip().removeprefix("error: ") if told.returncode else None


class OpenSearchNode:
    """A node of one's own in a data folder; it keeps its port and its data over stop, kill and start."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url = ""
        """Where it is asked, once it was started."""

    def start(self) -> str:
        """Start it, wait until it answers queries, and return its url.

        Raises:
            ServerCannotRun: no JDK, no Maven, or nothing can be fetched.
            ServerNotStarted: it ended, or did not answer in time.
        """
        told = script("start", "--data", self.data, "--short-lived", "--port", "0", "--heap", "512m")
        if told.returncode:
            raise (ServerCannotRun if told.returncode == EXIT_MISSING else ServerNotStarted)(told.stderr)
        self.url = json.loads(told.stdout)["url"]
        return self.url

    def stop(self) -> None:
        """End it cleanly."""
        self._do("stop")

    def wipe(self) -> None:
        """End it and remove its data."""
        self._do("wipe")

    def kill(self) -> None:
        """End it as a power failure would (SIGKILL), and return when it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while self.is_running():
            assert time.monotonic() < deadline, f"process {self.pid} outlives SIGKILL"
            time.sleep(0.05)

    def pause(self) -> None:
        """Let it hang (SIGSTOP): its port accepts, and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after a pause."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int((self.data / "opensearch.pid").read_text())

    def is_running(self) -> bool:
        """Whether the process of this node lives, paused or not."""
        return script("status", "--data", self.data).returncode == 0

    def _do(self, verb: str) -> None:
        told = script(verb, "--data", self.data)
        if told.returncode:
            raise ServerNotStarted(told.stderr)


@contextmanager
def opensearch_node(data: Path) -> Iterator[OpenSearchNode]:
    """A node that answers; ended and its data removed at the end, however that comes."""
    node = OpenSearchNode(data)
    try:
        node.start()
        yield node
    finally:
        node.wipe()


@cache
def server_url() -> tuple[str | None, str]:
    """The server all tests of a run share, and where it comes from; no url, and why, when there is none.

    It is the one that MEMORYBUS_OPENSEARCH_URL names, else a node started by scripts/opensearch, else a container.
    The first call may take a minute (more where the server has to be fetched), the others nothing.

    Raises:
        ServerNotStarted: nothing is missing here, and yet it did not start.
    """
    if named := os.environ.get("MEMORYBUS_OPENSEARCH_URL"):
        return named, "named by MEMORYBUS_OPENSEARCH_URL"
    if (lacking := missing()) is None:
        try:
            return _session_node().url, "a node of scripts/opensearch"
        except ServerCannotRun as error:
            lacking = str(error)
    url, container = _container()
    return url, container if url else f"MEMORYBUS_OPENSEARCH_URL is not set; {lacking}; {container}"


def begin_run() -> None:
    """Make this process the owner of the node that it and its workers share, unless another one began the run."""
    os.environ.setdefault(_RUN, str(os.getpid()))


def end_run() -> None:
    """End the node that the processes of a run share, in the process that began it."""
    if os.environ.get(_RUN) == str(os.getpid()):
        OpenSearchNode(_folder_of(os.getpid())).wipe()


def _session_node() -> OpenSearchNode:
    """The node of this run: the first process that asks starts it, others that ask meanwhile wait for that."""
    begin_run()
    atexit.register(end_run)
    _remove_of_killed_runs()
    node = OpenSearchNode(_folder_of(int(os.environ[_RUN])))
    node.start()
    return node


def _folder_of(owner: int) -> Path:
    return Path(tempfile.gettempdir()) / f"memorybus-opensearch-{owner}"


def _remove_of_killed_runs() -> None:
    for left in Path(tempfile.gettempdir()).glob("memorybus-opensearch-*"):
        owner = left.name.rpartition("-")[2]
        if owner.isdecimal() and left.stat().st_uid == os.geteuid() and not _is_alive(int(owner)):
            OpenSearchNode(left).wipe()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _container() -> tuple[str | None, str]:
    """A container of the official image, and that it is one; or why there is none."""
    if find_spec("testcontainers") is None:
        return None, "the package testcontainers is not installed"
    # In a process of its own: the client leaves a socket open when nobody answers.
    ping = [sys.executable, "-c", "import docker; docker.from_env(timeout=10).ping()"]
    if subprocess.run(ping, capture_output=True, check=False).returncode:
        return None, "no docker daemon answers"
    container = import_module("testcontainers.core.container").DockerContainer(IMAGE)
    container.with_envs(**_IMAGE_ENVIRONMENT).with_exposed_ports(9200).start()
    atexit.register(container.stop)
    url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(9200)}"
    _until_ready(url)
    return url, f"a container of {IMAGE}"


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError), urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=2s"):
            return
        if time.monotonic() > deadline:
            raise ServerNotStarted(f"the container at {url} does not answer within {PATIENCE:.0f} s")
        time.sleep(0.5)
