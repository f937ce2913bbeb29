"""A whole memorybus in a thread of its own, for clients that wait in a call as well as for those that are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest

from services.runtime import Running, running
from services.shared.settings import Settings

LIGHT: dict[str, Any] = {"ner": "none", "embedder": "none", "sync": "interval", "log_level": "error"}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One memorybus for the tests of a file, which each have users of their own."""
    started, stop = Queue[Running](), Event()

    async def run(data: Path) -> None:
        async with running(Settings(data=data, nats_port=0, http_port=0, **LIGHT)) as instance:
            started.put(instance)
            await asyncio.to_thread(stop.wait)

    thread = Thread(target=asyncio.run, args=(run(tmp_path_factory.mktemp("up")),))
    thread.start()
    try:
        yield started.get(timeout=60)
    finally:
        stop.set()
        thread.join()
