"""A whole memorybus on real engines: nats-server, SQLite or OpenSearch, qdrant-edge, MiniLM; temporary folders."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from services.runtime import Running, running
from services.shared.bus.server import NatsServer
from services.shared.embedders import minilm
from services.shared.logs import JsonFormatter
from services.shared.reading.weights import load_trained
from services.shared.settings import Settings
from tests.servers.opensearch import server_url as opensearch_server
from tests.stores.opensearch_openers import a_prefix


@pytest.fixture(scope="session", autouse=True)
def one_model() -> Iterator[None]:
    """Load the model once a process, not at each of hundreds of starts: who has it computes in threads of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "_load", cache(minilm._load))
        patch.setattr(minilm, "load_trained", cache(load_trained))
        yield


def light(data: Path, **given: Any) -> Settings:
    """Settings of a memorybus on free ports, which searches by words alone unless they say otherwise."""
    plain = {"nats_port": 0, "http_port": 0, "embedder": "none", "ner": "none", "log_level": "error"}
    return Settings.model_validate({**plain, "data": data, **given})


async def typed(command: Callable[..., object], *arguments: object) -> Result:
    """What comes of a command as it is typed."""
    app = typer.Typer()
    app.command()(command)
    return await asyncio.to_thread(CliRunner().invoke, app, [*map(str, arguments)])


@contextmanager
def logged_text(level: int) -> Iterator[io.StringIO]:
    """All that is logged from this level on, as `memorybus up` writes it."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    yield written
    root.removeHandler(handler)
    root.setLevel(before)


@asynccontextmanager
async def bus_in(folder: Path) -> AsyncIterator[NatsServer]:
    """The bus that memorybus starts for itself, alone."""
    bus = NatsServer(folder, port=0, sync="interval")
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


@contextmanager
def a_text_store(name: str) -> Iterator[dict[str, str]]:
    """The settings that choose a text store; OpenSearch with indices that nobody else has."""
    if name == "sqlite":
        yield {}
        return
    url, whence = opensearch_server()
    if url is None:
        pytest.skip(whence)
    with a_prefix(url) as prefix:
        yield {"text_store": "opensearch", "opensearch_url": url, "opensearch_prefix": prefix}


@pytest.fixture(params=["sqlite", "opensearch"])
def engine(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The text store as the environment names it."""
    with a_text_store(request.param) as chosen:
        yield {f"MEMORYBUS_{name.upper()}": value for name, value in chosen.items()}


on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
"""What no text store has a part in is tried with one."""


@pytest.fixture
def settings(tmp_path: Path, model_cache: Path, engine: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in engine.items():
        monkeypatch.setenv(name, value)
    return Settings(data=tmp_path / "data", cache=model_cache, nats_port=0, http_port=0, ner="none", log_level="error")


@pytest.fixture
async def instance(settings: Settings) -> AsyncIterator[Running]:
    async with running(settings) as up:
        yield up
