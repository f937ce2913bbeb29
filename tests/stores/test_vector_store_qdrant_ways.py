"""Which way the Qdrant adapter takes to its server, and what it takes from it: gRPC first, HTTP as the fallback."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contracts.ports import EmbeddingIdentity, Scope, Unavailable, UnusableStore
from services.shared.settings import Settings
from services.shared.stores.qdrant import CollectionSpec, QdrantVectorStore, open_store
from services.shared.stores.qdrant import connection as connection_module
from services.shared.stores.qdrant import store as store_module
from services.shared.stores.qdrant.connection import Server, connect
from tests.polling import eventually
from tests.servers.qdrant import StandIn, standin
from tests.stores.vector_builders import DIMENSIONS, a_point, towards

SCOPE = Scope("ann")
IDENTITY = EmbeddingIdentity("any", "small", DIMENSIONS)


async def opened(url: str, grpc_port: int) -> QdrantVectorStore:
    return await QdrantVectorStore.open(url, grpc_port=grpc_port, dimensions=DIMENSIONS)


async def used(store: QdrantVectorStore) -> None:
    point = a_point(SCOPE, towards(1))
    await store.upsert([point])
    assert await store.count() == 1
    await store.fetch(SCOPE, [point.entry.id])
    await store.ping()


def test_grpc_is_the_default_and_zero_or_nothing_chooses_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYBUS_QDRANT_GRPC_PORT", raising=False)
    assert Settings().qdrant_grpc_port == 6334
    for chosen in ("0", ""):
        monkeypatch.setenv("MEMORYBUS_QDRANT_GRPC_PORT", chosen)
        assert Settings().qdrant_grpc_port == 0


@pytest.mark.parametrize("way", ["grpc", "http"])
async def test_the_chosen_way_is_the_only_one(tmp_path: Path, way: str) -> None:
    with standin(tmp_path) as server:
        port = server.grpc_port if way == "grpc" else 0
        store = await open_store(Settings(qdrant_url=server.url, qdrant_grpc_port=port), IDENTITY, in_use=True)
        await used(store)
        await store.close()
        asked = server.asked()
        assert asked[way] > 10
        assert sum(asked.values()) == asked[way]


async def test_http_is_the_fallback_while_nothing_answers_over_grpc_and_is_left_once_something_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection_module, "LOOK_AGAIN_SECONDS", 0.0)
    with standin(tmp_path / "complete") as other:
        grpc_port = other.grpc_port
    with standin(tmp_path / "silent", speaks_grpc=False) as silent:
        store = await opened(silent.url, grpc_port)
        await used(store)
        assert silent.asked()["grpc"] == 0
        assert "qdrant_over_http" in caplog.messages
        silent.stop()
        silent.speak_grpc(grpc_port)
        silent.start()

        async def way() -> str | None:
            assert await store.count() == 1
            return store._server.way

        await eventually(way, lambda chosen: chosen == "grpc")
        asked = silent.asked()
        await used_again(store)
        assert silent.asked()["http"] == asked["http"]
        await store.close()


async def used_again(store: QdrantVectorStore) -> None:
    for _ in range(3):
        assert await store.count() == 1


async def test_a_port_where_something_else_listens_is_no_server(tmp_path: Path) -> None:
    with standin(tmp_path) as server:
        store = await opened(server.url, int(server.url.rpartition(":")[2]))  # HTTP, asked for gRPC
        await used(store)
        assert store._server.way == "http"
        await store.close()


async def test_with_https_nothing_is_said_in_the_clear(tmp_path: Path) -> None:
    with standin(tmp_path) as server:
        store = await opened(server.url.replace("http://", "https://"), server.grpc_port)
        with pytest.raises(Unavailable, match="MEMORYBUS_QDRANT_URL"):
            await store.ping()
        assert sum(server.asked().values()) == 0
        await store.close()


async def test_no_address_with_its_password_is_in_an_error() -> None:
    for url in ("qdrant://ann:pw-marker@127.0.0.1:1", "http://ann:pw-marker@127.0.0.1:1/pw-marker?key=pw-marker"):
        with pytest.raises((UnusableStore, Unavailable)) as raised:
            await (await opened(url, 1)).ping()
        assert "marker" not in str(raised.value)


@pytest.mark.parametrize("way", ["grpc", "http"])
async def test_an_answer_larger_than_any_that_is_asked_for_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    most = 20_000
    monkeypatch.setattr(connection_module, "MOST_BYTES", most)
    with standin(tmp_path) as server:
        store = await opened(server.url, server.grpc_port if way == "grpc" else 0)
        points = [a_point(SCOPE, towards(1), text="long " * 1000) for _ in range(10)]
        await store.upsert(points)
        ids = [point.entry.id for point in points]
        assert len(await store.fetch(SCOPE, ids)) == 10
        with pytest.raises(Unavailable, match="Qdrant failed reading"):
            await store.fetch(SCOPE, ids, copies=True)
        await store.close()


Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[QdrantVectorStore]:
    """A store whose server answers each request so, over HTTP."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            await serve(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = connect(url, api_key=None, grpc_port=0, timeout=5)
    store = QdrantVectorStore(Server.of(client), CollectionSpec("any", DIMENSIONS), copies=True)
    store._prepared = True
    yield store
    await store.close()
    server.close()


async def test_a_compressed_answer_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(connection_module.MOST_BYTES * 2))

    async def explode(writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
        writer.write(head + bomb)
        await writer.drain()

    async with serving(explode) as store:
        with pytest.raises(Unavailable, match="AnswerRefused"):
            await store.count()


async def test_json_as_deep_as_a_well_is_an_answer_that_failed() -> None:
    body = b"[" * 500_000

    async def dig(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    async with serving(dig) as store:
        with pytest.raises(Unavailable, match="Qdrant failed counting"):
            await store.count()


async def test_an_answer_that_comes_byte_by_byte_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "READ_SECONDS", 1)

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.1)

    async with serving(drip) as store:
        with pytest.raises(Unavailable, match="in time"):
            await asyncio.wait_for(store.count(), 10)


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with standin(tmp_path) as elsewhere:

        async def redirect(writer: asyncio.StreamWriter) -> None:
            writer.write(
                f"HTTP/1.1 307 Temporary\r\nlocation: {elsewhere.url}/collections\r\ncontent-length: 0\r\n\r\n".encode()
            )
            await writer.drain()

        async with serving(redirect) as store:
            with pytest.raises(Unavailable, match="status 307"):
                await store.count()
        assert sum(elsewhere.asked().values()) == 0


async def test_what_was_running_goes_on_by_itself_after_a_restart_over_grpc(tmp_path: Path) -> None:
    server = StandIn(tmp_path)
    server.start()
    store = await opened(server.url, server.grpc_port)
    try:
        await used(store)
        for end in (server.kill, server.stop):
            end()
            with pytest.raises(Unavailable):
                await store.count()
            server.start()

            async def answers() -> bool:
                try:
                    return await store.count() == 1
                except Unavailable:
                    return False

            await eventually(answers, bool)
            assert store._server.way == "grpc"
    finally:
        server.kill()
        await store.close()
