"""`VectorStore` on a Qdrant server: exact cosine search within a scope, and upserts that never go back a version."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from qdrant_client import AsyncQdrantClient, models

from contracts.ports import (
    EmbeddingIdentity,
    Filters,
    Key,
    Scope,
    SemanticHit,
    StoredPoint,
    Unavailable,
    Vector,
    VectorPoint,
)
from contracts.v1.entries import Entry
from services.shared.stores.points import (
    COMPARED,
    COPY,
    TURN,
    checked_vector,
    lacking,
    newest_entries,
    place_in_order,
    point_ids,
)
from services.shared.stores.qdrant.collection import prepare
from services.shared.stores.qdrant.connection import GRPC_PORT, Server
from services.shared.stores.qdrant.failures import CollectionMismatch, CollectionMissing, explained
from services.shared.stores.qdrant.points import (
    IDS_PER_REQUEST,
    checked,
    chunks,
    payload_update,
    search_filter,
    stored_points,
    upsert_requests,
    user_filter,
)
from services.shared.stores.qdrant.spec import MAX_LIMIT, MAX_UPSERT, CollectionSpec, Quantization

log = logging.getLogger(__name__)

T = TypeVar("T")
Page = tuple[list[models.Record], models.ExtendedPointId | None]

READ_SECONDS = 5
WRITE_SECONDS = 30
PING_SECONDS = 3.0
OPEN_SECONDS = 10.0


class QdrantVectorStore:
    """The `VectorStore` of contracts.ports on a Qdrant server that many processes share.

    It needs no server to be opened: where there is none yet, calls raise `Unavailable` until one answers, and the
    collection is made then. A write has been carried out when the call returns; as the server itself goes to disk
    every few seconds only, the vectors of the last seconds before a power cut are those that a reconciliation with
    the text store brings back.
    """

    def __init__(self, server: Server, spec: CollectionSpec, *, copies: bool) -> None:
        self._server = server
        self._copies = copies
        self._spec = spec
        self._prepared = False
        self._preparing = asyncio.Lock()
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        api_key: str | None = None,
        grpc_port: int = GRPC_PORT,
        collection: str = "memorybus",
        dimensions: int = 384,
        identity: EmbeddingIdentity | None = None,
        quantization: Quantization = "none",
        shards: int = 1,
        replicas: int = 1,
        copies: bool = True,
        aliased: bool = True,
    ) -> QdrantVectorStore:
        """Connect to the server at `url`, and make the collection of this embedding model behind its alias.

        It is asked over gRPC; over HTTP with a `grpc_port` of 0, and while nothing answers at that port.

        With copies, the entries themselves are kept beside their vectors, to answer with while the text store is away.

        Raises:
            ValueError: the URL is none, or the identity is of other dimensions.
            CollectionMismatch: the server holds something else under a name that is needed.
        """
        spec = CollectionSpec(collection, dimensions, identity, quantization, shards, replicas, aliased)
        server = Server(url, api_key=api_key, grpc_port=grpc_port, timeout=WRITE_SECONDS)
        return await cls.over(server, spec, copies=copies)

    @classmethod
    async def over(cls, server: Server, spec: CollectionSpec, *, copies: bool = True) -> QdrantVectorStore:
        """The store on a server, whose connections it closes in the end.

        Raises:
            CollectionMismatch: the server holds something else under a name that is needed.
        """
        store = cls(server, spec, copies=copies)
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await store._prepare()
        except (Unavailable, TimeoutError) as error:
            log.warning("vector_store_unavailable", extra={"reason": str(error) or "no answer in time"})
        except BaseException:
            await server.close()
            raise
        return store

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        """Store points; one whose entry version is older than the stored one is left out.

        Raises:
            ValueError: an id is no UUID, or a vector has the wrong shape or numbers; nothing is stored then.
            Unavailable: not everything is stored; the same call again stores the rest.
        """
        newest_last = checked(points, self._spec.dimensions)
        for operations in upsert_requests(newest_last, self._spec.dimensions, copies=self._copies):
            await self._write(operations)

    async def remove(self, ids: Sequence[str]) -> None:
        for chunk in chunks(point_ids(ids), IDS_PER_REQUEST):
            await self._write([models.DeleteOperation(delete=models.PointIdsList(points=list(chunk)))])

    async def erase(self, user_id: str) -> None:
        """Remove all points of a user; an unknown one is no error."""
        chosen = models.FilterSelector(filter=user_filter(user_id))
        await self._write([models.DeleteOperation(delete=chosen)])

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        """The points of the scope nearest to a unit vector by cosine, best first; at most 100,000."""
        known = None if ids is None else point_ids(ids)
        if limit < 1 or (known is not None and not known):
            return []
        nearest = checked_vector(vector, self._spec.dimensions).tolist()
        response = await self._ask(
            "searching",
            lambda: self._client.query_points(
                self._spec.name,
                query=nearest,
                using=TURN,
                query_filter=search_filter(scope, filters, known),
                search_params=self._spec.search_params,
                limit=min(limit, MAX_LIMIT),
                with_payload=False,
                timeout=READ_SECONDS,
            ),
        )
        return [SemanticHit(str(point.id), max(-1.0, min(1.0, point.score))) for point in response.points]

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        found: dict[str, StoredPoint] = {}
        for chunk in chunks(point_ids(ids), IDS_PER_REQUEST):
            records, _ = await self._ask("reading", partial(self._read, scope, chunk, copies=copies))
            found.update(stored_points(records, scope))
        return found

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        start, keys = place_in_order(after), list[Key]()
        while len(keys) < limit and (more := await self._following(start, min(limit - len(keys), MAX_LIMIT - 1))):
            keys += more
            start = keys[-1].id
        return keys

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        payloads: dict[str, models.Payload | None] = {}
        for chunk in chunks(point_ids(entry.id for entry in entries), IDS_PER_REQUEST):
            ask = partial(self._client.retrieve, self._spec.name, chunk, list(COMPARED), timeout=READ_SECONDS)
            payloads.update((str(record.id), record.payload) for record in await self._ask("reading", ask))
        return lacking(entries, payloads)

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        latest, found = newest_entries(entries), set[str]()
        for chunk in chunks(point_ids(latest), MAX_UPSERT):
            await self._write([payload_update(latest[id_], copies=self._copies) for id_ in chunk])
            ask = partial(self._client.retrieve, self._spec.name, chunk, False, timeout=READ_SECONDS)
            found.update(str(record.id) for record in await self._ask("reading", ask))
        return set(latest) - found

    async def compact(self) -> bool:
        """Nothing to be done from here: the server itself writes its files anew, now and then."""
        return True

    async def count(self, user_id: str | None = None) -> int:
        matching = None if user_id is None else user_filter(user_id)
        counted = await self._ask(
            "counting",
            lambda: self._client.count(self._spec.name, count_filter=matching, exact=True, timeout=READ_SECONDS),
        )
        return counted.count

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._ask("answering", lambda: self._client.get_collection(self._spec.name))
        except TimeoutError as error:
            raise Unavailable(
                f"Qdrant did not answer within {PING_SECONDS:g} s: look at its load and its log"
            ) from error

    async def close(self) -> None:
        """Let go of the connections. Closing twice is no error."""
        if not self._closed:
            self._closed = True
            await self._server.close()

    def _read(self, scope: Scope, ids: Sequence[str], *, copies: bool) -> Awaitable[Page]:
        return self._client.scroll(
            self._spec.name,
            scroll_filter=search_filter(scope, Filters(), ids),
            limit=len(ids),
            with_payload=["scope", COPY] if copies else False,
            with_vectors=[TURN],
            timeout=READ_SECONDS,
        )

    async def _following(self, start: str | None, limit: int) -> list[Key]:
        records, _ = await self._ask(
            "reading",
            lambda: self._client.scroll(  # from that point on, itself included where it is there
                self._spec.name, offset=start, limit=limit + 1, with_payload=["user_id"], timeout=READ_SECONDS
            ),
        )
        keys = [Key((record.payload or {}).get("user_id", ""), str(record.id)) for record in records]
        return [key for key in keys if key.id != start][:limit]

    async def _write(self, operations: Sequence[models.UpdateOperation]) -> None:
        """Carry out operations, in order. Strong: with replicas, concurrent writes have one order on all of them."""
        results = await self._ask(
            "writing",
            lambda: self._client.batch_update_points(
                self._spec.name,
                operations,
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                timeout=WRITE_SECONDS,
            ),
        )
        undone = [result.status.value for result in results if result.status is not models.UpdateStatus.COMPLETED]
        if undone:
            raise Unavailable(f"Qdrant has not carried out a write within {WRITE_SECONDS} s ({undone[0]}): try again")

    @property
    def _client(self) -> AsyncQdrantClient:
        return self._server.client

    async def _ask(self, doing: str, call: Callable[[], Awaitable[T]]) -> T:
        if self._closed:
            raise Unavailable("the vector store is closed")
        await self._ready()
        try:
            with explained(doing):
                return await call()
        except CollectionMissing:
            self._prepared = False
            raise

    async def _ready(self) -> None:
        try:
            await self._prepare()
        except CollectionMismatch as error:
            raise Unavailable(str(error)) from error

    async def _prepare(self) -> None:
        if self._prepared:
            self._server.look_for_grpc()
            return
        async with self._preparing:
            if not self._prepared:
                await self._server.reach()
                await prepare(self._client, self._spec)
                self._prepared = True
