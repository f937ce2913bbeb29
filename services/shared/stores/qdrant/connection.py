"""Builds the client: its address, key, transport and connection pool."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException

from contracts.ports import UnusableStore
from services.shared.bounded import UNCOMPRESSED, bounded

LIMITS = httpx.Limits(max_connections=128, max_keepalive_connections=32, keepalive_expiry=3.0)
"""Enough for every request that a process has under way. Idle connections are given up before the server does it
(after 5 s), so that none breaks just as it is used again. Without limits of our own the client would open a connection
for each request to this machine."""

MOST_BYTES = 64 * 1024**2
"""Of one answer: more than a page of points with all their vectors and copies."""


def connect(url: str, *, api_key: str | None, grpc_port: int | None, timeout: int) -> AsyncQdrantClient:
    """A client that has not connected yet. It gives up a request after `timeout` seconds unless told otherwise.

    Raises:
        UnusableStore: the URL is no address of a server.
    """
    if not url.startswith(("http://", "https://")):
        raise UnusableStore("MEMORYBUS_QDRANT_URL is no address of a server: it must begin with http:// or https://")
    try:
        client = _client(url, api_key=api_key, grpc_port=grpc_port, timeout=timeout)
    except ValueError:  # its words may hold a password
        raise UnusableStore("MEMORYBUS_QDRANT_URL is no address of a server: write http://HOST:PORT") from None
    client.http.client.add_middleware(_in_time)
    return client


def _client(url: str, *, api_key: str | None, grpc_port: int | None, timeout: int) -> AsyncQdrantClient:
    return AsyncQdrantClient(
        url=url,
        # Not as `api_key`, which warns of every connection without TLS, as inside a cluster.
        headers={"api-key": api_key} if api_key else None,
        prefer_grpc=grpc_port is not None,
        grpc_port=grpc_port or 6334,
        timeout=timeout,
        limits=LIMITS,
        event_hooks=bounded(MOST_BYTES),
        grpc_options={"grpc.max_receive_message_length": MOST_BYTES},
        cloud_inference=True,  # or it looks through all that is sent for texts that it is to embed
        check_compatibility=False,  # asks in a thread and only warns; the version is checked when preparing
    )


async def _in_time(
    request: httpx.Request, send: Callable[[httpx.Request], Awaitable[httpx.Response]]
) -> httpx.Response:
    """Ask for nothing compressed, and wait for the whole of an answer no longer than for the next byte of it."""
    try:
        async with asyncio.timeout(request.extensions["timeout"]["read"]):
            request.headers.update(UNCOMPRESSED)
            return await send(request)
    except TimeoutError:
        raise ResponseHandlingException(httpx.ReadTimeout("no answer in time")) from None
