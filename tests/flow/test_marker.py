"""Secrets while servers are away, hang, or repeat whatever they are sent.

A marker is the password in every address and key, another is in what a user says: neither is in a reply that fails, on
a page, in a metric, in a log, or in the reason of a dead letter.
"""

from __future__ import annotations

import asyncio
import io
import logging
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from contracts.ports import Scope, Unavailable, UnusableStore
from contracts.v1.commands import CreateRequest, EraseRequest, ListRequest, ReconcileRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running, running
from services.shared import app
from services.shared.bus.connection import connect
from services.shared.bus.dead_letters import DeadLetterQueue
from services.shared.client import MemoryClient, RequestFailed, memory_client
from services.shared.embedders.http import HttpEmbedder
from services.shared.settings import Settings
from services.shared.stores.opensearch import transport
from services.shared.stores.opensearch.transport import Address, Client, Get, Write
from services.shared.stores.qdrant import QdrantVectorStore
from services.shared.stores.qdrant import store as qdrant_store
from tests.flow.conftest import logged_text
from tests.polling import digested, eventually
from tests.servers.embeddings import embedding_server
from tests.servers.fickle import ECHOES, Fickle, Mode, fickle
from tests.servers.nats_cluster import ServerProcess
from tests.servers.opensearch import server_url as opensearch_server
from tests.servers.qdrant import standin
from tests.sizes import LONG
from tests.stores.opensearch_openers import a_prefix
from tests.stores.vector_builders import DIMENSIONS, a_point, towards

# The client of NATS drops the connections of attempts that fail without closing them.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PASSWORD = "Pa55MARKERw0rd"
TEXT = "QuokkaMARKERsecretbirthday"
PATIENCE = 1.5
"""Seconds for an answer; who is away gives none."""

LOGIN = b64encode(f"ann:{PASSWORD}".encode()).decode().rstrip("=")
HTTP_MODES: tuple[Mode, ...] = ("away", "hanging", *ECHOES)
BUS_MODES: tuple[Mode, ...] = ("away", "hanging", "echo-raw", "echo-nats")


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened anew for each process is given up within a second."""
    monkeypatch.setattr(HttpEmbedder, "open", partial(HttpEmbedder.open, answer_within=1.0, most_wait=0.05))
    monkeypatch.setattr(app, "connect", partial(connect, patience=1.0))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is given up within a second, from now on: the first start at a store takes longer."""
    monkeypatch.setattr(transport, "TIMEOUT", 1.0)
    for name in ("READ_SECONDS", "WRITE_SECONDS", "OPEN_SECONDS", "PING_SECONDS"):
        monkeypatch.setattr(qdrant_store, name, 1)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    with logged_text(logging.INFO) as written:
        yield written


Server = tuple[Fickle, dict[str, Any]]


def upstream(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 80)


@asynccontextmanager
async def opensearch(tmp_path: Path) -> AsyncIterator[Server]:
    url, whence = opensearch_server()
    if url is None:
        pytest.skip(whence)
    with a_prefix(url) as prefix:
        async with fickle("well", upstream(url)) as server:
            address = f"http://ann:{PASSWORD}@{server.netloc}"
            yield server, {"text_store": "opensearch", "opensearch_url": address, "opensearch_prefix": prefix}


@asynccontextmanager
async def qdrant(tmp_path: Path) -> AsyncIterator[Server]:
    with standin(tmp_path / "qdrant", api_key=PASSWORD) as real, embedding_server() as model:
        async with fickle("well", upstream(real.url)) as server:
            address = f"http://ann:{PASSWORD}@{server.netloc}"
            yield (
                server,
                {"vector_store": "qdrant", "qdrant_url": address, "qdrant_api_key": PASSWORD, **embedding(model.url)},
            )


@asynccontextmanager
async def embedder(tmp_path: Path) -> AsyncIterator[Server]:
    with embedding_server() as model:
        async with fickle("well", upstream(model.url)) as server:
            address = f"http://ann:{PASSWORD}@{server.netloc}/v1"
            yield server, {**embedding(address), "embedder_api_key": PASSWORD}


def embedding(url: str) -> dict[str, Any]:
    return {"embedder": "http", "embedder_url": url, "embedder_model": "small"}


@asynccontextmanager
async def bus(tmp_path: Path) -> AsyncIterator[Server]:
    users = f'authorization {{ user: ann, password: "{PASSWORD}" }}'
    real = ServerProcess(tmp_path / "bus", users)
    await real.start()
    try:
        async with fickle("well", ("127.0.0.1", real.port)) as server:
            yield server, {"nats_url": f"nats://ann:{PASSWORD}@{server.netloc}"}
    finally:
        await real.kill()


SERVERS: dict[str, Callable[[Path], Any]] = {
    "opensearch": opensearch, "qdrant": qdrant, "embedder": embedder, "bus": bus,
}  # fmt: skip
FEWER_MODES: tuple[Mode, ...] = ("away", "hanging", "echo-401", "echo-raw")
MODES = {name: BUS_MODES if name == "bus" else HTTP_MODES if LONG else FEWER_MODES for name in SERVERS}
"""Of the ways in which a server of HTTP repeats what it hears a long run tries all with a whole memorybus."""


def chosen(tmp_path: Path, given: dict[str, Any]) -> Settings:
    plain = {"data": tmp_path / "data", "nats_port": 0, "http_port": 0, "ner": "none", "embedder": "none"}
    return Settings(**{**plain, "start_patience_seconds": 0.5, **given})


def turns(first: int, count: int) -> list[Turn]:
    return [
        Turn(user_id="ann", role="user", text=f"My {TEXT} number {n} is in the cellar.", turn_id=f"t{n}")
        for n in range(first, first + count)
    ]


async def said(request: Awaitable[Any]) -> str:
    """What a request that may fail says of it; what it found is the user's own."""
    try:
        reply = await request
    except (RequestFailed, Unavailable) as error:
        return repr(error)
    return repr(getattr(reply, "degraded", ""))


async def logged(client: MemoryClient) -> int:
    """How many turns are in the log, 0 while nobody says it."""
    try:
        return (await client.status("ann", patience=PATIENCE)).turns
    except (RequestFailed, Unavailable):
        return 0


async def everything_said(client: MemoryClient) -> list[str]:
    requests = (
        client.retrieve(RetrieveRequest(user_id="ann", query=f"what of {TEXT}"), patience=PATIENCE),
        client.create(CreateRequest(user_id="ann", text=f"{TEXT} once more"), patience=PATIENCE),
        client.list(ListRequest(user_id="ann"), patience=PATIENCE),
        client.reconcile(ReconcileRequest(side="entries"), patience=PATIENCE),
        client.status("ann", patience=PATIENCE),
        client.erase(EraseRequest(user_id="bob"), patience=PATIENCE),
    )
    return list(await asyncio.gather(*map(said, requests)))


async def shown(instance: Running) -> list[str]:
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        pages = [await http.get(f"{instance.http}{path}") for path in ("/healthz", "/readyz", "/metrics", "/", "/no")]
    return [f"{page.headers} {page.text}" for page in pages]


async def reasons(client: MemoryClient) -> list[str]:
    letters = DeadLetterQueue(client.bus)
    kept = [await letters.get(number) for number in await letters.numbers()]
    return [each.letter.reason for each in kept if each.letter is not None]


def assert_hidden(found: list[str], log: io.StringIO) -> None:
    for secret in (PASSWORD, LOGIN, TEXT):
        for text in [*found, *log.getvalue().splitlines()]:
            assert secret.lower() not in text.lower()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SERVERS)
async def test_while_it_runs_nothing_tells_a_secret(
    tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    found: list[str] = []
    async with AsyncExitStack() as stack:
        server, given = await stack.enter_async_context(SERVERS[name](tmp_path))
        instance = await stack.enter_async_context(running(chosen(tmp_path, given)))
        client = await stack.enter_async_context(memory_client(given.get("nats_url", instance.nats)))
        await client.publish_all(turns(0, 3))
        await digested(client, turns=3)
        short_patience(monkeypatch)
        for number, mode in enumerate(MODES[name], start=1):
            await server.become(mode)
            if name == "bus":
                await asyncio.sleep(0.5)  # for attempts to join it
            else:
                await client.publish_all(turns(3 * number, 3))
                found += await everything_said(client)
            found += await shown(instance)
        await server.become("well")
        await eventually(lambda: logged(client), lambda count: count >= 3, within=60)
        found += await reasons(client) + await shown(instance)
    assert_hidden(found, log)
    heard = b"".join(server.heard).lower()
    assert LOGIN.lower().encode() in heard or PASSWORD.lower().encode() in heard, "nothing could have been repeated"
    assert TEXT.lower().encode() in heard or name != "embedder"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SERVERS)
async def test_a_start_that_fails_tells_no_secret(
    tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    short_patience(monkeypatch)
    found: list[str] = []
    async with SERVERS[name](tmp_path) as (server, given):
        for mode in MODES[name]:
            await server.become(mode)
            try:
                async with running(chosen(tmp_path, given)) as instance:  # vectors may come later
                    found += await shown(instance)
            except (Unavailable, UnusableStore) as error:
                found.append(repr(error))
    assert found
    assert_hidden(found, log)


@pytest.mark.parametrize("mode", HTTP_MODES)
async def test_what_a_store_repeats_of_a_text_is_not_told(
    log: io.StringIO, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    short_patience(monkeypatch)
    async with fickle(mode) as server:
        address = f"http://ann:{PASSWORD}@{server.netloc}"
        client = Client(Address((address,), "ann", PASSWORD), prefix="p")
        vectors = await QdrantVectorStore.open(address, api_key=PASSWORD, dimensions=DIMENSIONS, copies=True)
        point = a_point(Scope("ann"), towards(1), text=TEXT)
        asked: list[Callable[[], Awaitable[Any]]] = [
            lambda: client.bulk([Write("create", "entries", "ann", "1", {"text": TEXT})]),
            lambda: client.search("entries", {"query": {"term": {"words": TEXT}}}),
            lambda: client.msearch("entries", [{"query": {"term": {"words": TEXT}}}]),
            lambda: client.get([Get("entries", "ann", TEXT)]),
            lambda: vectors.upsert([point]),
            vectors.ping,
        ]
        found = []
        for failed in await asyncio.gather(*(ask() for ask in asked), return_exceptions=True):
            assert isinstance(failed, Unavailable)
            found += [str(failed), "".join(traceback.format_exception(failed))]
        await client.close()
        await vectors.close()
    assert_hidden(found, log)
    if mode.startswith("echo"):
        assert any(TEXT.encode() in heard for heard in server.heard)
