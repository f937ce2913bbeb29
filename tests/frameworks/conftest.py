"""A user of a memorybus that runs, and another one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import uuid4

import pytest
from memorybus_client import AsyncMemory

PREFERENCE = "I prefer uv over pip for Python packages."
QUESTION = "Do I prefer uv or pip?"
SECRET = "Don't remember this: my PIN is 4711."
GIVEN_AWAY = "Your PIN 4711 is safe with me."
URLS = os.environ["MEMORYBUS_TEST_URLS"].split()
assert URLS, "without a memorybus nothing would be tried"


@pytest.fixture(params=URLS, ids=lambda url: str(url).partition(":")[0])
def url(request: pytest.FixtureRequest) -> str:
    """HTTP, then NATS."""
    return str(request.param)


@pytest.fixture
def ann() -> str:
    """A user of the test's own."""
    return f"ann-{uuid4().hex}"


@pytest.fixture
async def memory(url: str, ann: str) -> AsyncIterator[AsyncMemory]:
    """Ann's memory."""
    async with AsyncMemory(url, user=ann) as opened:
        yield opened


@pytest.fixture
async def bobs(url: str) -> AsyncIterator[AsyncMemory]:
    """The memory of somebody else."""
    async with AsyncMemory(url, user=f"bob-{uuid4().hex}") as opened:
        yield opened


@pytest.fixture
def learned(memory: AsyncMemory) -> Callable[[int], Awaitable[None]]:
    """Waits until so many turns of ann's are digested."""

    async def wait(turns: int) -> None:
        for _ in range(1000):
            status = await memory.status()
            if status.turns >= turns and not status.pending:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"not digested: {status}")

    return wait
