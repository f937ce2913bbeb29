"""How the Qdrant adapter reaches its server: gRPC first, HTTP as the fallback; and servers away, hanging or strange."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import httpx
import pytest
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from contracts.ports import EmbeddingIdentity, Scope, Unavailable, UnusableStore
from services.shared.settings import Settings
from services.shared.stores.qdrant import CollectionSpec, QdrantVectorStore, open_store
from services.shared.stores.qdrant import connection as connection_module
from services.shared.stores.qdrant import store as store_module
from services.shared.stores.qdrant.connection import Server, connect
from services.shared.stores.qdrant.failures import CollectionMissing, explained
from tests.polling import eventually
from tests.servers.qdrant import StandIn, standin
from tests.stores.vector_builders import DIMENSIONS, a_point, found, towards

SCOPE = Scope("ann")
IDENTITY = EmbeddingIdentity("any", "small", DIMENSIONS)

ways = pytest.mark.parametrize("way", ["grpc", "http"])


def port_of(server: StandIn, way: str) -> int:
    return server.grpc_port if way == "grpc" else 0


async def opened(url: str, grpc_port: int, api_key: str | None = None) -> QdrantVectorStore:
    return await QdrantVectorStore.open(url, api_key=api_key, grpc_port=grpc_port, dimensions=DIMENSIONS)


async def used(store: QdrantVectorStore) -> None:
    point = a_point(SCOPE, towards(1))
    await store.upsert([point])
    assert await store.count() == 1
    await store.fetch(SCOPE, [point.entry.id])
    await store.ping()


async def tried(ask: Callable[[], Awaitable[None]]) -> bool:
    with contextlib.suppress(Unavailable):
        await ask()
        return True
    return False


def test_grpc_is_the_default_and_zero_or_nothing_chooses_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYBUS_QDRANT_GRPC_PORT", raising=False)
    assert Settings().qdrant_grpc_port == 6334
    for chosen in ("0", ""):
        monkeypatch.setenv("MEMORYBUS_QDRANT_GRPC_PORT", chosen)
        assert Settings().qdrant_grpc_port == 0


@ways
async def test_the_chosen_way_is_the_only_one(tmp_path: Path, way: str) -> None:
    with standin(tmp_path) as server:
        settings = Settings(qdrant_url=server.url, qdrant_grpc_port=port_of(server, way))
        store = await open_store(settings, IDENTITY, in_use=True)
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
        over_http = silent.asked()["http"]
        for _ in range(3):
            assert await store.count() == 1
        assert silent.asked()["http"] == over_http
        await store.close()


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


@pytest.mark.parametrize("url", ["", "qdrant:6333", "ftp://qdrant"])
async def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UnusableStore, match="must begin with http"):
        await QdrantVectorStore.open(url)


async def test_no_address_with_its_password_is_in_an_error() -> None:
    for url in ("qdrant://ann:pw-marker@127.0.0.1:1", "http://ann:pw-marker@127.0.0.1:1/pw-marker?key=pw-marker"):
        with pytest.raises((UnusableStore, Unavailable)) as raised:
            await (await opened(url, 1)).ping()
        assert "marker" not in str(raised.value)


@ways
async def test_a_store_opened_before_its_server_works_once_it_is_there_and_after_every_restart(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "LOOK_AGAIN_SECONDS", 0.0)
    server = StandIn(tmp_path)
    server.start()
    server.stop()
    early = await opened(server.url, port_of(server, way))
    for ask in (early.ping, early.count):
        with pytest.raises(Unavailable, match=r"check that the server runs.*MEMORYBUS_QDRANT_URL"):
            await ask()
    server.start()
    store = await opened(server.url, port_of(server, way))
    try:
        await eventually(lambda: tried(early.ping), bool)
        await used(early)
        for end in (server.kill, server.stop):
            end()
            with pytest.raises(Unavailable):
                await store.count()
            server.start()
            await eventually(lambda: tried(store.ping), bool)

            async def chosen() -> str | None:
                assert await store.count() == 1
                return store._server.way

            await eventually(chosen, lambda one: one == way)
    finally:
        server.kill()
        await early.close()
        await store.close()


@ways
async def test_a_server_that_hangs_is_told_from_one_that_answers_and_does_not_hold_up_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(store_module, "OPEN_SECONDS", 0.3)
    monkeypatch.setattr(store_module, "PING_SECONDS", 0.3)
    monkeypatch.setattr(store_module, "READ_SECONDS", 1)
    with standin(tmp_path) as server:
        server.pause()
        store = await opened(server.url, port_of(server, way))
        with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
            await store.ping()
        with pytest.raises(Unavailable, match="did not answer in time"):
            await found(store, SCOPE)
        server.resume()
        await eventually(lambda: tried(store.ping), bool)
        assert await store.count() == 0
        await store.close()


@ways
async def test_a_wrong_key_is_explained_and_a_right_one_opens(tmp_path: Path, way: str) -> None:
    with standin(tmp_path, api_key="secret-of-the-server") as server:
        port = port_of(server, way)
        for key in (None, "another-secret"):
            refused = await opened(server.url, port, key)
            with pytest.raises(Unavailable, match="check MEMORYBUS_QDRANT_API_KEY") as raised:
                await refused.ping()
            assert "secret" not in str(raised.value)
            await refused.close()
        store = await opened(server.url, port, "secret-of-the-server")
        await store.ping()
        assert store._server.way == way
        await store.close()


@ways
async def test_an_answer_larger_than_any_that_is_asked_for_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(connection_module, "MOST_BYTES", 20_000)
    with standin(tmp_path) as server:
        store = await opened(server.url, port_of(server, way))
        points = [a_point(SCOPE, towards(1), text="long " * 1000) for _ in range(10)]
        await store.upsert(points)
        ids = [point.entry.id for point in points]
        assert len(await store.fetch(SCOPE, ids)) == 10
        with pytest.raises(Unavailable, match="Qdrant failed reading"):
            await store.fetch(SCOPE, ids, copies=True)
        await store.close()


Reply = Callable[[int], Awaitable[bytes]]


@asynccontextmanager
async def replying(reply: Reply) -> AsyncIterator[tuple[QdrantVectorStore, list[int]]]:
    """A store whose server gives each request the next reply; and how many requests came on each connection."""
    connections: list[int] = []
    total = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal total
        connections.append(0)
        mine = len(connections) - 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
                connections[mine] += 1
                total += 1
                content = await reply(total)
                kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                writer.write(kind + b"content-length: %d\r\n\r\n%s" % (len(content), content))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", api_key=None, grpc_port=0, timeout=5)
    store = QdrantVectorStore(Server.of(client), CollectionSpec("any", DIMENSIONS), copies=True)
    store._prepared = True  # its collection
    yield store, connections
    await store.close()
    server.close()


COUNTED = json.dumps({"result": {"count": 7}, "status": "ok", "time": 0}).encode()


async def test_requests_at_the_same_time_do_not_wait_for_each_other() -> None:
    together = 64
    everyone_is_here = asyncio.Event()

    async def when_all_are_here(number: int) -> bytes:
        if number == together:
            everyone_is_here.set()
        await everyone_is_here.wait()
        return COUNTED

    async with replying(when_all_are_here) as (store, _), asyncio.timeout(10):
        assert await asyncio.gather(*(store.count() for _ in range(together))) == [7] * together


async def test_no_connection_is_kept_as_an_answer_on_a_kept_one_may_wait_for_an_acknowledgement() -> None:
    async def at_once(_: int) -> bytes:
        return COUNTED

    async with replying(at_once) as (store, connections):
        for _ in range(10):
            await store.count()
        assert connections == [1] * 10


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"result": null}', b'{"result": {"count": "many"}}'])
async def test_a_server_of_another_kind_is_unavailable(content: bytes) -> None:
    async def nonsense(_: int) -> bytes:
        return content

    async with replying(nonsense) as (store, _):
        with pytest.raises(Unavailable, match="Qdrant failed counting"):
            await store.count()


def status(code: int, content: bytes = b'{"status": {"error": "disk\\n full"}}') -> UnexpectedResponse:
    return UnexpectedResponse(code, "reason", content, httpx.Headers())


def broken(code: grpc.StatusCode) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details="disk full")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (status(400), "status 400; the server does not accept"),
        (status(403), "MEMORYBUS_QDRANT_API_KEY"),
        (status(429), "limits the rate"),
        (status(500, b"oh \xff"), "log of the server"),
        (ResourceExhaustedResponse("slow down", 3), "RESOURCE_EXHAUSTED; the server limits"),
        (ResponseHandlingException(httpx.ConnectError("refused")), "MEMORYBUS_QDRANT_URL"),
        (ResponseHandlingException(httpx.ReadTimeout("")), "ReadTimeout; the server did not answer in time"),
        (ResponseHandlingException(httpx.RemoteProtocolError("bye")), "MEMORYBUS_QDRANT_URL"),
        (broken(grpc.StatusCode.UNAVAILABLE), "MEMORYBUS_QDRANT_URL"),
        (broken(grpc.StatusCode.DEADLINE_EXCEEDED), "in time"),
        (broken(grpc.StatusCode.INTERNAL), "INTERNAL; look at the log"),
        (AssertionError("Search returned None"), "AssertionError; look at the log"),
        (TimeoutError(), "in time"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_whatever_the_client_raises_is_explained(error: Exception, words: str) -> None:
    with pytest.raises(Unavailable) as raised, explained("writing"):
        raise error
    told = str(raised.value)
    assert told.startswith("Qdrant failed writing: ")
    assert words in told
    assert "\n" not in told
    assert not any(said in told for said in ("disk full", "disk\n", "bye", "slow down", "oh ", "Search"))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("error", [status(404), broken(grpc.StatusCode.NOT_FOUND)], ids=["http", "grpc"])
def test_a_missing_collection_is_told_from_other_failures(error: Exception) -> None:
    with pytest.raises(CollectionMissing, match="memorybus reindex"), explained("reading"):
        raise error


def test_an_interrupted_call_is_not_taken_for_a_failure() -> None:
    with pytest.raises(asyncio.CancelledError), explained("reading"):
        raise asyncio.CancelledError
