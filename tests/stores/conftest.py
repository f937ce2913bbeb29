"""The stores that the suites run against: every test sees every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from contracts.ports import Scope, TextStore, VectorStore
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import a_user
from tests.stores.vector_builders import DIMENSIONS, Opener

TextStoreOpener = Callable[[Path], Awaitable[TextStore]]


async def open_sqlite(folder: Path) -> TextStore:
    return await SqliteTextStore.open(folder / "memory.sqlite3", synchronous="normal")


@pytest.fixture(params=[pytest.param(open_sqlite, id="sqlite")])
def open_text_store(request: pytest.FixtureRequest) -> TextStoreOpener:
    opener: TextStoreOpener = request.param
    return opener


@pytest.fixture
async def text_store(open_text_store: TextStoreOpener, tmp_path: Path) -> AsyncIterator[TextStore]:
    store = await open_text_store(tmp_path)
    yield store
    await store.close()


@pytest.fixture
def user() -> str:
    return a_user()


async def open_edge(path: Path) -> VectorStore:
    return await EdgeVectorStore.open(path / "vectors", dimensions=DIMENSIONS)


@pytest.fixture(scope="module", params=[pytest.param(open_edge, id="edge")])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    return chosen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorStore]:
    """One store for all tests of a file, which are users of their own to it."""
    opened = await opener(tmp_path_factory.mktemp("store"))
    yield opened
    await opened.close()


@pytest.fixture
def scope() -> Scope:
    return Scope(f"user-{uuid4()}")
