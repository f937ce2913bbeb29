"""A whole memorybus on SQLite without models, and HTTP as programs use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import httpx
import pytest

from services.runtime import Running, running
from services.shared.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    light = {"ner": "none", "embedder": "none", "sync": "interval", "log_level": "error"}
    return Settings(data=tmp_path / "data", nats_port=0, http_port=0, **light)


@pytest.fixture
async def instance(settings: Settings) -> AsyncIterator[Running]:
    async with running(settings) as up:
        yield up


@pytest.fixture
async def http(instance: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=f"{instance.http}/v1/memory", trust_env=False, verify=False, timeout=30
    ) as asking:
        yield asking


@pytest.fixture
def up(tmp_path: Path) -> Iterator[str]:
    """The address of the bus of a memorybus that runs in a thread, for commands that run a loop of their own."""
    bus, stop = Queue[str](), Event()

    async def run() -> None:
        data = {"data": tmp_path / "up", "nats_port": 0, "http_port": 0}
        async with running(Settings(**data, ner="none", embedder="none", sync="interval", log_level="error")) as one:
            bus.put(one.nats)
            await asyncio.to_thread(stop.wait)

    thread = Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        yield bus.get(timeout=60)
    finally:
        stop.set()
        thread.join()
