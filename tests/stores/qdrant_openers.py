"""Opens the Qdrant adapter over each thing that speaks its APIs: local mode, the stand-in, a real server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.common import client_warnings

from services.shared.stores.qdrant import CollectionSpec, QdrantVectorStore
from services.shared.stores.qdrant.connection import Server
from tests.stores.vector_builders import DIMENSIONS, Opener

# Once in each process local mode warns that it ignores what only a server has; here a warning is an error.
client_warnings.SEEN_MESSAGES.update({"create-local-payload-indexes", "local_query_points_search_params_ignored"})


async def open_local(path: Path, dimensions: int = DIMENSIONS) -> QdrantVectorStore:
    """The adapter over qdrant-client's own local mode, in a folder."""
    client = AsyncQdrantClient(path=str(path / "qdrant"))
    store = await QdrantVectorStore.over(Server.of(client), CollectionSpec("memorybus", dimensions))
    local: Any = client._client
    for collection in local.collections.values():  # which sync each point on its own: some 10 ms
        collection.storage.storage.execute("PRAGMA synchronous = OFF")
    return store


@contextmanager
def opener_at(url: str, grpc_port: int) -> Iterator[Opener]:
    """Opens stores at a server, each path another collection; removes these collections in the end.

    Over gRPC, or with port 0 over HTTP.
    """
    run = f"memorybus-test-{uuid4().hex}"
    key = os.environ.get("MEMORYBUS_QDRANT_API_KEY")
    yield partial(_open_at, url, grpc_port, key, run)
    admin = QdrantClient(url=url, headers={"api-key": key} if key else None, check_compatibility=False)
    for collection in admin.get_collections().collections:
        if collection.name.startswith(run):
            admin.delete_collection(collection.name)
    admin.close()


async def _open_at(url: str, grpc_port: int, key: str | None, run: str, path: Path) -> QdrantVectorStore:
    place = blake2b(str(path).encode(), digest_size=4).hexdigest()
    store = await QdrantVectorStore.open(
        url, api_key=key, grpc_port=grpc_port, collection=f"{run}-{place}", dimensions=DIMENSIONS
    )
    assert store._server.way == ("grpc" if grpc_port else "http")
    return store
