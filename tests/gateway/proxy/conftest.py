"""One memorybus without models for all tests of a file, in a thread, in front of a model server that is scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from services.runtime import running
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from tests.gateway.proxy.backend import ModelServer, saying
from tests.gateway.proxy.chatting import Chat
from tests.gateway.threads import in_a_thread


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
    with in_a_thread(_opened(tmp_path_factory.mktemp("up"), environment)) as opened:
        yield opened


@asynccontextmanager
async def _opened(folder: Path, environment: dict[str, str]) -> AsyncIterator[Place]:
    model = ModelServer(saying(lambda seen: "Fine."))
    await model.start()
    settings = Settings(
        data=folder, nats_port=0, http_port=0, ner="none", embedder="none", sync="interval", log_level="error"
    )
    proxy = {"MEMORYBUS_OPENAI_BASE_URL": model.url, "MEMORYBUS_PROXY_PATIENCE_MS": "5000"}
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (proxy | environment).items():
                patch.setenv(name, value)
            async with running(settings) as up:
                yield Place(up.http, up.nats, settings.sqlite_path, model)
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
