"""The Qdrant adapter on the wire: connections, and servers that are away, hang, refuse or talk nonsense."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import httpx
import pytest
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.conversions.conversion import RestToGrpc
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from contracts.ports import Filters, Scope, Unavailable, UnusableStore
from services.shared.stores.points import word_keys
from services.shared.stores.qdrant import CollectionSpec, QdrantVectorStore
from services.shared.stores.qdrant import store as store_module
from services.shared.stores.qdrant.connection import Server, connect
from services.shared.stores.qdrant.failures import CollectionMissing, explained
from services.shared.stores.qdrant.points import search_filter, upsert_requests
from tests.polling import eventually
from tests.servers.qdrant import StandIn, standin
from tests.stores.vector_builders import DIMENSIONS, a_point, found, towards

SCOPE = Scope("ann")


ways = pytest.mark.parametrize("way", ["grpc", "http"])


async def open_at(server: StandIn, way: str, api_key: str | None = None) -> QdrantVectorStore:
    port = server.grpc_port if way == "grpc" else 0
    return await QdrantVectorStore.open(server.url, api_key=api_key, grpc_port=port, dimensions=DIMENSIONS)


@pytest.mark.parametrize("url", ["", "qdrant:6333", "ftp://qdrant", "/tmp/qdrant"])
async def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UnusableStore, match="must begin with http"):
        await QdrantVectorStore.open(url)


@ways
async def test_a_store_opened_before_its_server_works_once_it_is_there(tmp_path: Path, way: str) -> None:
    server = StandIn(tmp_path)
    server.start()
    server.stop()
    store = await open_at(server, way)
    for ask in (store.ping, store.count):
        with pytest.raises(Unavailable, match=r"check that the server runs.*MEMORYBUS_QDRANT_URL"):
            await ask()
    try:
        server.start()
        await eventually(lambda: tried(store.ping), bool)
        await store.upsert([a_point(SCOPE, towards(1))])
        server.kill()
        with pytest.raises(Unavailable):
            await store.count()
        server.start()
        await eventually(lambda: tried(store.ping), bool)
        assert await store.count() == 1
    finally:
        server.kill()
        await store.close()


async def tried(ask: Callable[[], Awaitable[None]]) -> bool:
    with contextlib.suppress(Unavailable):
        await ask()
        return True
    return False


@ways
async def test_a_server_that_hangs_is_told_from_one_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(store_module, "PING_SECONDS", 0.3)
    monkeypatch.setattr(store_module, "READ_SECONDS", 1)
    with standin(tmp_path) as server:
        store = await open_at(server, way)
        server.pause()
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
            await store.ping()
        with pytest.raises(Unavailable, match="did not answer in time"):
            await found(store, SCOPE)
        assert time.monotonic() - began < 5
        server.resume()
        await store.ping()
        await store.close()


@ways
async def test_a_server_that_hangs_does_not_hold_up_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(store_module, "OPEN_SECONDS", 0.3)
    with standin(tmp_path) as server:
        server.pause()
        store = await open_at(server, way)
        server.resume()
        assert await store.count() == 0
        await store.close()


@ways
async def test_a_wrong_key_is_explained_and_a_right_one_opens(tmp_path: Path, way: str) -> None:
    with standin(tmp_path, api_key="secret-of-the-server") as server:
        for key in (None, "another-secret"):
            refused = await open_at(server, way, key)
            with pytest.raises(Unavailable, match="check MEMORYBUS_QDRANT_API_KEY") as raised:
                await refused.ping()
            assert "secret" not in str(raised.value)
            await refused.close()
        store = await open_at(server, way, "secret-of-the-server")
        await store.ping()
        assert store._server.way == way
        await store.close()


Reply = Callable[[int], Awaitable[bytes]]


@asynccontextmanager
async def replying(reply: Reply) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that gives each request the next reply; and how many requests came on each connection."""
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
                writer.write(await reply(total))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", connections
    server.close()


def http(content: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        len(content),
        content,
    )


COUNTED = http(json.dumps({"result": {"count": 7}, "status": "ok", "time": 0}).encode())


async def prepared(url: str) -> QdrantVectorStore:
    """A store that takes its collection for ready."""
    client = connect(url, api_key=None, grpc_port=0, timeout=5)
    store = QdrantVectorStore(Server.of(client), CollectionSpec("any", DIMENSIONS), copies=True)
    store._prepared = True
    return store


async def test_requests_at_the_same_time_do_not_wait_for_each_other() -> None:
    together = 64
    everyone_is_here = asyncio.Event()

    async def when_all_are_here(number: int) -> bytes:
        if number == together:
            everyone_is_here.set()
        await everyone_is_here.wait()
        return COUNTED

    async with replying(when_all_are_here) as (url, _):
        store = await prepared(url)
        async with asyncio.timeout(10):
            assert await asyncio.gather(*(store.count() for _ in range(together))) == [7] * together
        await store.close()


async def test_no_connection_is_kept_as_an_answer_on_a_kept_one_may_wait_for_an_acknowledgement() -> None:
    async def at_once(_: int) -> bytes:
        return COUNTED

    async with replying(at_once) as (url, connections):
        store = await prepared(url)
        for _ in range(10):
            await store.count()
        await store.close()
        assert connections == [1] * 10


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b'{"result": null}', b'{"result": {"count": "many"}}'])
async def test_a_server_of_another_kind_is_unavailable(content: bytes) -> None:
    async def nonsense(_: int) -> bytes:
        return http(content)

    async with replying(nonsense) as (url, _):
        store = await prepared(url)
        with pytest.raises(Unavailable, match="Qdrant failed counting"):
            await store.count()
        await store.close()


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
        (status(503, b"[]"), "log of the server"),
        (ResourceExhaustedResponse("slow down", 3), "RESOURCE_EXHAUSTED; the server limits"),
        (ResponseHandlingException(httpx.ConnectError("refused")), "MEMORYBUS_QDRANT_URL"),
        (ResponseHandlingException(httpx.ReadTimeout("")), "ReadTimeout; the server did not answer in time"),
        (ResponseHandlingException(httpx.RemoteProtocolError("bye")), "MEMORYBUS_QDRANT_URL"),
        (broken(grpc.StatusCode.UNAVAILABLE), "MEMORYBUS_QDRANT_URL"),
        (broken(grpc.StatusCode.DEADLINE_EXCEEDED), "in time"),
        (broken(grpc.StatusCode.INTERNAL), "INTERNAL; look at the log"),
        (AssertionError("Search returned None"), "AssertionError; look at the log"),
        (TimeoutError(), "in time"),
        (RuntimeError(), "RuntimeError"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_whatever_the_client_raises_is_explained(error: Exception, words: str) -> None:
    with pytest.raises(Unavailable) as raised, explained("writing"):
        raise error
    assert str(raised.value).startswith("Qdrant failed writing: ")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not any(said in str(raised.value) for said in ("disk full", "disk\n", "bye", "slow down", "oh ", "Search"))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("error", [status(404), broken(grpc.StatusCode.NOT_FOUND)], ids=["http", "grpc"])
def test_a_missing_collection_is_told_from_other_failures(error: Exception) -> None:
    with pytest.raises(CollectionMissing, match="memorybus reindex"), explained("reading"):
        raise error


def test_an_interrupted_call_is_not_taken_for_a_failure() -> None:
    with pytest.raises(asyncio.CancelledError), explained("reading"):
        raise asyncio.CancelledError


async def test_where_nothing_answers_on_either_port_the_store_is_unavailable() -> None:
    store = await QdrantVectorStore.open("http://127.0.0.1:1", grpc_port=1, dimensions=DIMENSIONS)
    with pytest.raises(Unavailable, match="MEMORYBUS_QDRANT_URL"):
        await store.ping()
    await store.close()


def test_what_is_asked_can_be_said_over_grpc() -> None:
    points = [a_point(SCOPE, towards(1), version=3, tags=("red",))]
    [[upsert]] = upsert_requests(points, DIMENSIONS, copies=True)
    said = RestToGrpc.convert_update_operation(upsert).upsert
    assert said.update_filter.must[0].field.range.lte == 3
    keys = said.points[0].payload["tag_keys"].list_value.values
    assert [key.string_value for key in keys] == word_keys(SCOPE.user_id, ["red"])
    filters = Filters(types=("fact",), tags=("red",), theme="food", since=points[0].entry.created_at)
    assert len(RestToGrpc.convert_filter(search_filter(SCOPE, filters, [points[0].entry.id])).must) == 7
