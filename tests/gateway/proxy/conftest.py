"""One memorybus without models for all tests of a file, in a thread, in front of a model server that is scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import httpx
import pytest

from services.runtime import running
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from tests.gateway.proxy.backend import ModelServer, saying
from tests.gateway.proxy.chatting import Chat


@dataclass(frozen=True, slots=True)
class Place:
    """Where the proxy is, the bus and the text store behind it, and the model."""

    http: str
    nats: str
    file: Path
    model: ModelServer


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Further settings of the memorybus of a file."""
    return {}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Place]:
    ready, stop = Queue[Place | BaseException](), Event()
    thread = Thread(target=asyncio.run, args=(_run(tmp_path_factory.mktemp("up"), environment, ready, stop),))
    thread.start()
    try:
        found = ready.get(timeout=60)
        if isinstance(found, BaseException):
            raise found
        yield found
    finally:
        stop.set()
        thread.join()


async def _run(folder: Path, environment: dict[str, str], ready: Queue[Place | BaseException], stop: Event) -> None:
    model = ModelServer(saying(lambda seen: "Fine."))
    settings = Settings(
        data=folder, nats_port=0, http_port=0, ner="none", embedder="none", sync="interval", log_level="error"
    )
    with pytest.MonkeyPatch.context() as patch:
        try:
            await model.start()
            patch.setenv("MEMORYBUS_OPENAI_BASE_URL", model.url)
            patch.setenv("MEMORYBUS_PROXY_PATIENCE_MS", "5000")
            for name, value in environment.items():
                patch.setenv(name, value)
            async with running(settings) as up:
                ready.put(Place(up.http, up.nats, settings.sqlite_path, model))
                await asyncio.to_thread(stop.wait)
        except BaseException as error:
            ready.put(error)
            raise
        finally:
            await model.stop()


@pytest.fixture
def model(place: Place) -> ModelServer:
    """The model server, as if nobody had asked it yet."""
    place.model.seen.clear()
    place.model.script = saying(lambda seen: "Fine.")
    return place.model


@pytest.fixture
async def http(place: Place, model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{place.http}/v1", trust_env=False, verify=False, timeout=30) as asking:
        yield asking


@pytest.fixture
async def client(place: Place) -> AsyncIterator[MemoryClient]:
    async with memory_client(place.nats) as memory:
        yield memory


@pytest.fixture
def chat(http: httpx.AsyncClient, client: MemoryClient, model: ModelServer, user: str) -> Chat:
    return Chat(http, client, model, user)
