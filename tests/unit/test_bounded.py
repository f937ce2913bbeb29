"""An answer is bounded before it is read, by every client that there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from contracts.ports import Unavailable
from services.shared.embedders.http import HttpEmbedder
from services.shared.stores.opensearch import transport
from services.shared.stores.opensearch.transport import Address, Client
from services.shared.stores.qdrant import connection as qdrant_connection
from services.shared.stores.qdrant.failures import explained
from tests.servers.fickle import MEASURELESS, Mode, fickle

MOST = 2**20
IN_SOCKETS = 2**23
"""Bytes that the operating system may take from the server before anybody reads them."""

Ask = Callable[[], Awaitable[object]]


@asynccontextmanager
async def opensearch(url: str) -> AsyncIterator[Ask]:
    client = Client(Address((url,)), prefix="test")
    yield lambda: client.request("GET", "/_search", body={}, seconds=1.0)
    await client.close()


@asynccontextmanager
async def qdrant(url: str) -> AsyncIterator[Ask]:
    client = qdrant_connection.connect(url, api_key=None, grpc_port=0, timeout=1)

    async def ask() -> None:
        with explained("reading"):
            await client.get_collections()

    yield ask
    await client.close()


@asynccontextmanager
async def embedder(url: str) -> AsyncIterator[Ask]:
    yield lambda: HttpEmbedder.open(url, "m", answer_within=0.3, most_wait=0.01)


CLIENTS = {"opensearch": opensearch, "qdrant": qdrant, "embedder": embedder}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("mode", MEASURELESS)
async def test_an_answer_without_measure_is_refused_in_time(
    name: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", MOST)
    monkeypatch.setattr(qdrant_connection, "MOST_BYTES", MOST)
    async with fickle(mode) as server, CLIENTS[name](f"http://{server.netloc}") as ask:
        with pytest.raises(Unavailable) as raised:
            await asyncio.wait_for(ask(), 45)
        assert server.sent < MOST + IN_SOCKETS or mode == "bomb"
        assert "/elsewhere" not in str(server.heard)
        assert raised.value.__cause__ is None, "a cause is logged with what the server said"
