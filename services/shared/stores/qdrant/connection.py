"""The ways to a Qdrant server: gRPC, and HTTP where that is chosen or nothing answers over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException
from urllib3.util import parse_url

from contracts.errors import UnusableStore
from services.shared.bounded import UNCOMPRESSED, bounded
from services.shared.stores.qdrant.failures import explained

log = logging.getLogger(__name__)

Way = Literal["grpc", "http"]

GRPC_PORT = 6334
PROBE_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 15.0
MOST_BYTES = 64 * 1024**2
"""Of one answer: more than a page of points with all their vectors and copies."""

LIMITS = httpx.Limits(max_connections=128, max_keepalive_connections=0)
"""Enough for every request that a process has under way, none of them on a connection that was used before."""

_GRPC_OPTIONS = {
    # A server that is gone without a word is noticed, though each call has a deadline of its own: the connection would
    # be kept, and every call on it be late, for as long as the kernel sends again.
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 5_000,
    "grpc.http2.max_pings_without_data": 0,
    # By default up to two minutes pass before a server that is back is tried.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.min_reconnect_backoff_ms": 3_000,
}


class Server:
    """One Qdrant server. gRPC is preferred; while nothing answers there, HTTP is used and gRPC looked for again.

    HTTP costs a new connection a request: on a kept one every answer larger than a segment waits 40 ms, for the
    client's delayed acknowledgement and the server's Nagle algorithm.
    """

    def __init__(self, url: str, *, api_key: str | None = None, grpc_port: int = GRPC_PORT, timeout: int = 30) -> None:
        """No connection is made yet. `grpc_port` 0: HTTP only. No call takes longer than `timeout` seconds.

        Raises:
            UnusableStore: the URL is no address of a server.
        """
        check_address(url)
        self._grpc_port = grpc_port
        self._connect = partial(connect, url, api_key=api_key, timeout=timeout)
        self._clients: dict[Way, AsyncQdrantClient] = {}
        self._way: Way | None = None
        self._looked_at = 0.0
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, client: AsyncQdrantClient) -> Server:
        """A server that is asked with this client, which it closes in the end."""
        server = cls("http://", grpc_port=0)
        server._clients["http"] = client
        server._way = "http"
        return server

    @property
    def way(self) -> Way | None:
        """The chosen way; None before the server was reached."""
        return self._way

    @property
    def client(self) -> AsyncQdrantClient:
        """The client of the chosen way, once the server was reached."""
        assert self._way is not None
        return self._clients[self._way]

    async def reach(self) -> None:
        """Choose the way that answers, where none is chosen yet.

        Raises:
            Unavailable: nothing answers.
        """
        if self._way is None:
            with explained("connecting"):
                self._way = await self._first_that_answers()
            self._looked_at = time.monotonic()

    def look_for_grpc(self) -> None:
        """While HTTP has to do, now and then see in the background whether gRPC answers."""
        waits = self._way == "http" and self._grpc_port and time.monotonic() - self._looked_at > LOOK_AGAIN_SECONDS
        if waits and (self._looking is None or self._looking.done()):
            self._looked_at = time.monotonic()
            self._looking = asyncio.create_task(self._change_to_grpc())

    async def close(self) -> None:
        """Let go of all connections."""
        if self._looking is not None:
            self._looking.cancel()
        for client in self._clients.values():
            await client.close()

    async def _first_that_answers(self) -> Way:
        if not self._grpc_port:
            await self._probe("http")
            return "http"
        try:
            await self._probe("grpc")
            return "grpc"
        except Exception as error:
            try:
                await self._probe("http")
            except Exception:
                raise error from None
        log.warning("qdrant_over_http", extra={"grpc_port": self._grpc_port, "advice": "open the port, or choose 0"})
        return "http"

    async def _change_to_grpc(self) -> None:
        with contextlib.suppress(Exception):
            await self._probe("grpc")
            self._way = "grpc"
            log.info("qdrant_over_grpc")

    async def _probe(self, way: Way) -> None:
        async with asyncio.timeout(PROBE_SECONDS):
            if way not in self._clients:
                port = self._grpc_port if way == "grpc" else 0
                made = await asyncio.to_thread(self._connect, grpc_port=port)  # reads certificates: tens of ms
                self._clients.setdefault(way, made)
            await self._clients[way].info()


def connect(url: str, *, api_key: str | None, grpc_port: int, timeout: int) -> AsyncQdrantClient:
    """A client that has not connected yet, over gRPC, or with port 0 over HTTP. No call takes longer than `timeout` s.

    Raises:
        UnusableStore: the URL is no address of a server.
    """
    check_address(url)
    client = AsyncQdrantClient(
        url=url,
        # Not as `api_key`, which warns of every connection without TLS, as inside a cluster.
        headers={"api-key": api_key} if api_key else {},
        prefer_grpc=grpc_port > 0,
        grpc_port=grpc_port,
        grpc_options={**_GRPC_OPTIONS, "grpc.max_receive_message_length": MOST_BYTES},
        timeout=timeout,
        limits=LIMITS,
        event_hooks=bounded(MOST_BYTES),
        follow_redirects=False,
        cloud_inference=True,  # or it looks through all that is sent for texts that it is to embed
        check_compatibility=False,  # asks in a thread and only warns; the version is checked when preparing
    )
    client.http.client.add_middleware(_in_time)
    return client


def check_address(url: str) -> None:
    """Make sure that a URL is the address of a server.

    Raises:
        UnusableStore: it is not; its own words are not repeated, as they may hold a password.
    """
    if not url.startswith(("http://", "https://")):
        raise UnusableStore("MEMORYBUS_QDRANT_URL is no address of a server: it must begin with http:// or https://")
    try:
        parse_url(url)
    except ValueError:
        raise UnusableStore("MEMORYBUS_QDRANT_URL is no address of a server: write http://HOST:PORT") from None


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
