"""A whole memorybus on real engines: nats-server, SQLite, qdrant-edge, MiniLM; free ports, temporary folders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.cli.runtime import Running, running
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """The user's own cache: a model that is ready there is not built again."""
    return Settings().cache


@pytest.fixture
def settings(tmp_path: Path, model_cache: Path) -> Settings:
    return Settings(data=tmp_path / "data", cache=model_cache, nats_port=0, http_port=0, ner="none", log_level="error")


@pytest.fixture
async def instance(settings: Settings) -> AsyncIterator[Running]:
    async with running(settings) as up:
        yield up


@pytest.fixture
async def client(instance: Running) -> AsyncIterator[MemoryClient]:
    async with memory_client(instance.nats) as connected:
        yield connected
