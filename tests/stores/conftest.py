"""The stores that the suites run against: every test sees every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from contracts.ports import Scope, TextStore, VectorStore
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore
from tests.servers.opensearch import server_url as opensearch_server
from tests.servers.qdrant import server_url, standin
from tests.stores.builders import a_user
from tests.stores.opensearch_openers import a_prefix, open_at
from tests.stores.qdrant_openers import open_local, opener_at
from tests.stores.vector_builders import DIMENSIONS, Opener

TextStoreOpener = Callable[[Path], Awaitable[TextStore]]


async def open_sqlite(folder: Path) -> TextStore:
    return await SqliteTextStore.open(folder / "memory.sqlite3", synchronous="normal")


@pytest.fixture(scope="session")
def opensearch_url() -> str:
    url, whence = opensearch_server()
    if url is None:
        pytest.skip(whence)
    return url


@pytest.fixture(scope="session")
def opensearch_prefix(opensearch_url: str) -> Iterator[str]:
    """The indices that tests share, which are users of their own to them."""
    with a_prefix(opensearch_url) as prefix:
        yield prefix


@pytest.fixture(params=["sqlite", "opensearch"])
def open_text_store(request: pytest.FixtureRequest) -> TextStoreOpener:
    """Opens a store that other tests may use, too."""
    if request.param == "sqlite":
        return open_sqlite
    url, prefix = request.getfixturevalue("opensearch_url"), request.getfixturevalue("opensearch_prefix")
    return lambda _: open_at(url, prefix, shards=2)


@pytest.fixture
async def text_store(open_text_store: TextStoreOpener, tmp_path: Path) -> AsyncIterator[TextStore]:
    store = await open_text_store(tmp_path)
    yield store
    await store.close()


@pytest.fixture(params=["sqlite", "opensearch"])
async def empty_text_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TextStore]:
    """A store that holds nothing of anybody."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            store = await open_sqlite(tmp_path)
        else:
            url = request.getfixturevalue("opensearch_url")
            store = await open_at(url, stack.enter_context(a_prefix(url)))
        yield store
        await store.close()


@pytest.fixture
def user() -> str:
    return a_user()


async def open_edge(path: Path) -> VectorStore:
    return await EdgeVectorStore.open(path / "vectors", dimensions=DIMENSIONS)


@pytest.fixture(scope="session")
def open_at_standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    with standin(tmp_path_factory.mktemp("qdrant")) as server, opener_at(server.url) as opener:
        yield opener


@pytest.fixture(scope="session")
def open_at_server() -> Iterator[Opener]:
    url, whence = server_url()
    if url is None:
        pytest.skip(whence)
    with opener_at(url) as opener:
        yield opener


@pytest.fixture(scope="module", params=["edge", "local", "standin", "server"])
def opener(request: pytest.FixtureRequest) -> Opener:
    """Opens a vector store; the adapter for Qdrant over local mode, over HTTP to the stand-in, and a real server."""
    plain: dict[str, Opener] = {"edge": open_edge, "local": open_local}
    chosen: Opener = plain.get(request.param) or request.getfixturevalue(f"open_at_{request.param}")
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
