"""Builds the client: its address, key, transport and connection pool."""

from __future__ import annotations

import httpx
from qdrant_client import AsyncQdrantClient

LIMITS = httpx.Limits(max_connections=128, max_keepalive_connections=32, keepalive_expiry=3.0)
"""Enough for every request that a process has under way. Idle connections are given up before the server does it
(after 5 s), so that none breaks just as it is used again. Without limits of our own the client would open a connection
for each request to this machine."""


def connect(url: str, *, api_key: str | None, grpc_port: int | None, timeout: int) -> AsyncQdrantClient:
    """A client that has not connected yet. It gives up a request after `timeout` seconds unless told otherwise.

    Raises:
        ValueError: the URL is no address of a server.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is no address of a Qdrant server: it must begin with http:// or https://")
    return AsyncQdrantClient(
        url=url,
        # Not as `api_key`, which warns of every connection without TLS, as inside a cluster.
        headers={"api-key": api_key} if api_key else None,
        prefer_grpc=grpc_port is not None,
        grpc_port=grpc_port or 6334,
        timeout=timeout,
        limits=LIMITS,
        cloud_inference=True,  # or it looks through all that is sent for texts that it is to embed
        check_compatibility=False,  # asks in a thread and only warns; the version is checked when preparing
    )
