"""The stores that the suites run against: every test sees every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient

from contracts.ports import Scope, TextStore, VectorStore
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.opensearch import OpenSearchTextStore
from services.shared.stores.sqlite import SqliteTextStore
from tests.servers.opensearch import server_url as opensearch_server
from tests.servers.qdrant import StandIn, real_server, standin
from tests.stores.builders import a_user
from tests.stores.opensearch_openers import Another, a_prefix, open_at
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


@pytest.fixture
async def another(opensearch_url: str, opensearch_prefix: str) -> AsyncIterator[Another]:
    """Opens one store after the other on the same indices, as processes do."""
    async with AsyncExitStack() as stack:

        async def opened() -> OpenSearchTextStore:
            store = await open_at(opensearch_url, opensearch_prefix, shards=2)
            stack.push_async_callback(store.close)
            return store

        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


@pytest.fixture
async def sqlite_store(path: Path) -> AsyncIterator[SqliteTextStore]:
    opened = await SqliteTextStore.open(path, synchronous="normal")
    yield opened
    await opened.close()


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
def shared_standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with standin(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(scope="module", params=["edge", "local", "standin-grpc", "standin-http", "server-grpc", "server-http"])
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens a vector store; the adapter for Qdrant over local mode, and over each way to the stand-in and a server."""
    if request.param in ("edge", "local"):
        yield open_edge if request.param == "edge" else open_local
        return
    kind, way = request.param.split("-")
    with opener_at(*_address(request, kind, way)) as chosen:
        yield chosen


def _address(request: pytest.FixtureRequest, kind: str, way: str) -> tuple[str, int]:
    if kind == "standin":
        server: StandIn = request.getfixturevalue("shared_standin")
        return server.url, server.grpc_port if way == "grpc" else 0
    address, whence = real_server()
    if address is None:
        pytest.skip(whence)
    return address.url, address.grpc_port if way == "grpc" else 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorStore]:
    """One store for all tests of a file, which are users of their own to it."""
    opened = await opener(tmp_path_factory.mktemp("store"))
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def own_standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """A stand-in of Qdrant that only the tests of one file use."""
    with standin(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(params=["grpc", "http"])
def at_standin(request: pytest.FixtureRequest, own_standin: StandIn) -> dict[str, Any]:
    """The stand-in as arguments of `QdrantVectorStore.open`, for each way to it."""
    return {"url": own_standin.url, "grpc_port": own_standin.grpc_port if request.param == "grpc" else 0}


@pytest.fixture
async def qdrant(at_standin: dict[str, Any]) -> AsyncIterator[AsyncQdrantClient]:
    url, port = at_standin["url"], at_standin["grpc_port"]
    opened = AsyncQdrantClient(url=url, prefer_grpc=port > 0, grpc_port=port, check_compatibility=False)
    yield opened
    await opened.close()


@pytest.fixture
def alias() -> str:
    return f"alias-{uuid4().hex}"


@pytest.fixture
def scope() -> Scope:
    return Scope(f"user-{uuid4()}")
