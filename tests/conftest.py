"""What every kind of test that runs on a bus asks for."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest
from hypothesis import settings

from services.runtime import Running
from services.shared.bus.connection import connect
from services.shared.bus.provisioning import provision
from services.shared.bus.streams import Bus
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from tests.polling import PatientClient
from tests.servers import forks, opensearch
from tests.servers.nats_cluster import nats_server
from tests.sizes import LONG

_UP = "services.bench.process"
_STDERR = pytest.StashKey[int]()
_GRACE = 60.0

collect_ignore = ["frameworks"]  # they are not in this environment: tests/client/test_frameworks.py runs them in theirs


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """The user's own cache: a model that is ready there is not built again."""
    return Settings().cache


def pytest_configure(config: pytest.Config) -> None:
    """Begin a run, whose workers share what they start.

    Hypothesis tries the same examples in every run; a long one tries more, and others each time. How long one takes
    says how busy the machine is, and is not looked at.
    """
    settings.register_profile("memorybus", deadline=None, max_examples=100 if LONG else 30, derandomize=not LONG)
    settings.load_profile("memorybus")
    opensearch.begin_run()
    config.stash[_STDERR] = os.dup(2)  # what a test writes there is captured, and lost where its process ends
    gc.disable()  # nothing of what is collected goes before the end: looking for it takes a fifth of that time


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End the process with the stacks of all threads where a test goes on long after its time has run out.

    Time that has run out is an exception wherever the process is: a task of asyncio keeps it to itself, and a call that
    does not come back never sees it. One such test would be waited for until the whole run is given up, and not named.
    """
    marked = item.get_closest_marker("timeout")
    within = float(marked.args[0] if marked else item.config.getini("timeout"))
    if within and "PYTEST_XDIST_WORKER" in os.environ:  # or somebody watches, perhaps with a debugger
        faulthandler.dump_traceback_later(within + _GRACE, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call


def pytest_collection_finish() -> None:
    """Look for garbage again, from now on."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """End what the workers of the run have started and shared."""
    opensearch.end_run()


@pytest.fixture(scope="session", autouse=True)
def forked_ups() -> Iterator[None]:
    """Fork every `up_process`, and those of benchmarks and evaluations: most of a start is to import what it runs."""
    with pytest.MonkeyPatch.context() as patched:
        if _UP in sys.modules:  # or no test starts one
            patched.setattr(f"{_UP}._start", forks.fork_command)
        yield


@pytest.fixture(scope="session", autouse=True)
def authorities_read_once() -> Iterator[None]:
    """Read the certificates of authorities once: it takes forty milliseconds, and every client over HTTP does it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture
def as_users_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `up_process` start a program, as the command line does, for what could be otherwise in a fork."""
    monkeypatch.setattr(f"{_UP}._start", sys.modules[_UP].start_program)


@pytest.fixture
async def client(instance: Running) -> AsyncIterator[MemoryClient]:
    """A client of the memorybus that runs, which each folder and some files choose for themselves."""
    async with memory_client(instance.nats) as connected:
        yield PatientClient(connected.nats)


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    """A provisioned bus that nobody reads."""
    async with nats_server(tmp_path / "bus") as server:
        client = await connect(server.url, name="test")
        await provision(client.jetstream(), Settings())
        yield Bus(client)
        await client.close()
