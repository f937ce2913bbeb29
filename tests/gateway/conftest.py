"""A whole memorybus on SQLite without models, and HTTP as programs use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.runtime import Running, running
from services.shared.settings import Settings
from tests.gateway.threads import in_a_thread

LIGHT: dict[str, Any] = {"ner": "none", "embedder": "none", "sync": "interval", "log_level": "error"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", nats_port=0, http_port=0, **LIGHT)


@pytest.fixture
async def instance(settings: Settings) -> AsyncIterator[Running]:
    async with running(settings) as up:
        yield up


def asking(instance: Running, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"{instance.http}/v1/memory", headers=headers, trust_env=False, verify=False, timeout=30
    )


@pytest.fixture
async def http(instance: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(instance) as client:
        yield client


@pytest.fixture
async def ann(instance: Running) -> AsyncIterator[httpx.AsyncClient]:
    """The same as ann, whom a header names."""
    async with asking(instance, **{"Memory-User": "ann"}) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One memorybus for the tests of a file, whose users are their own, and for commands."""
    data = tmp_path_factory.mktemp("shared")
    with in_a_thread(running(Settings(data=data, nats_port=0, http_port=0, **LIGHT))) as up:
        yield up


@pytest.fixture
def user() -> str:
    return f"u-{uuid4().hex[:8]}"
