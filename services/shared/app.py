"""Puts services together: opens what they need once per process, runs their stages, answers their requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from faststream.asgi import AsgiFastStream
from nats.aio.client import Client

from contracts.ports import Annotator, Embedder, EmbeddingIdentity, TextStore, TokenCounter, VectorStore
from services.shared.annotators import open_annotator
from services.shared.annotators.warming import WarmingAnnotator
from services.shared.bus.access import NOBODY, Access
from services.shared.bus.connection import Bus, connect
from services.shared.bus.provisioning import provision
from services.shared.bus.requests import Answering, Responder
from services.shared.bus.worker import Stage, Worker
from services.shared.embedders import open_embedder
from services.shared.health import Route, health_routes
from services.shared.settings import Settings
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore, Synchronous
from services.shared.tasks import end
from services.shared.tokens import Cl100kCounter

log = logging.getLogger(__name__)


class IdentityMismatch(Exception):
    """The stored vectors were made by another model than the one chosen now."""


class MissingExtra(Exception):
    """What the settings choose needs libraries that are not installed; the text says how to get them."""


@dataclass(frozen=True, slots=True)
class Service:
    """What one service brings: stages that read the bus, requests it answers, pages, work in the background."""

    name: str
    stages: tuple[Stage[Any], ...] = ()
    answers: tuple[Answering[Any, Any], ...] = ()
    routes: tuple[Route, ...] = ()
    background: tuple[Callable[[], Awaitable[None]], ...] = ()


Builder = Callable[["Host"], Awaitable[Service]]


class Host:
    """One process: its connection to the bus, its adapters, and the services that run in it.

    Adapters are opened when the first service asks for them and shared by all: a service never knows which engine
    is behind a port, nor who else uses it.
    """

    def __init__(self, settings: Settings, nats_url: str) -> None:
        self.settings = settings
        self.workers: list[Worker[Any]] = []
        self.services: list[Service] = []
        self.bus: Bus
        self._nats_url = nats_url
        self._responders: list[Responder[Any, Any]] = []
        self._stack = AsyncExitStack()
        self._background: list[asyncio.Task[None]] = []
        self._opened: dict[str, asyncio.Task[Any]] = {}

    async def start(self, builders: list[Builder]) -> None:
        """Connect, open adapters side by side, provision the bus, then start answering and reading."""
        access = Access.of(self.settings) if self.settings.nats_url else NOBODY  # a bus of our own asks for nothing
        self.bus = Bus(await connect(self._nats_url, name="memorybus", access=access))
        self._stack.push_async_callback(self.bus.client.close)
        self._stack.push_async_callback(self.close)
        await provision(self.bus.js, self.settings)
        self.services = list(await asyncio.gather(*(build(self) for build in builders)))
        self._responders = [
            Responder(self.bus.client, service.name, answering)
            for service in self.services
            for answering in service.answers
        ]
        for responder in self._responders:
            await responder.start()
        self.workers = [Worker(stage, self.bus) for service in self.services for stage in service.stages]
        for worker in self.workers:
            await worker.start()
        self._background = [
            asyncio.create_task(_keep_running(work)) for service in self.services for work in service.background
        ]

    async def stop(self) -> None:
        """Hear no new requests, finish what is under way, give back the rest, close the adapters."""
        await asyncio.gather(*(responder.stop() for responder in self._responders))
        await asyncio.gather(*(worker.stop() for worker in self.workers))
        await end(self._background)
        await self._stack.aclose()

    @property
    def client(self) -> Client:
        """The connection to the bus."""
        return self.bus.client

    def http_app(self) -> AsgiFastStream:
        """What this process shows over HTTP: its health, and the pages of its services."""
        pages = [route for service in self.services for route in service.routes]
        return AsgiFastStream(asgi_routes=[*health_routes(self), *pages])

    async def text_store(self) -> TextStore:
        """The system of record."""
        store: TextStore = await self._once("text", self._open_text_store)
        return store

    async def vector_store(self) -> VectorStore | None:
        """The vectors, or None when memory is searched by words only.

        Raises:
            IdentityMismatch: the stored vectors are of another model.
        """
        if self.settings.vector_store == "none" or self.settings.embedder == "none":
            return None
        store: VectorStore = await self._once("vectors", self._open_vector_store)
        return store

    async def embedder(self) -> Embedder | None:
        """The model that makes vectors, or None."""
        if self.settings.vector_store == "none" or self.settings.embedder == "none":
            return None
        embedder: Embedder = await self._once("embedder", self._open_embedder)
        return embedder

    async def annotator(self) -> Annotator | None:
        """What reads names and key phrases, or None."""
        if self.settings.ner == "none":
            return None
        annotator: Annotator = await self._once("annotator", self._open_annotator)
        return annotator

    def token_counter(self) -> TokenCounter:
        """Counts cl100k_base tokens."""
        return Cl100kCounter()

    async def _once(self, name: str, opener: Callable[[], Awaitable[Any]]) -> Any:
        if name not in self._opened:
            self._opened[name] = asyncio.ensure_future(opener())
        return await asyncio.shield(self._opened[name])

    async def close(self) -> None:
        """Close the adapters that were opened."""
        for task in reversed(self._opened.values()):
            if task.done() and not task.cancelled() and task.exception() is None:
                await task.result().close()

    async def _open_text_store(self) -> TextStore:
        if self.settings.text_store == "opensearch":
            return await open_opensearch(self.settings)
        self.settings.data.mkdir(parents=True, exist_ok=True)
        durability: Synchronous = "full" if self.settings.sync == "always" else "normal"
        return await SqliteTextStore.open(self.settings.sqlite_path, synchronous=durability)

    async def _open_vector_store(self) -> VectorStore:
        embedder = await self.embedder()
        assert embedder is not None
        await check_identity(await self.text_store(), embedder.identity)
        if self.settings.vector_store == "qdrant":
            return await open_qdrant(self.settings, embedder.identity)
        return await EdgeVectorStore.open(
            self.settings.vectors_path,
            dimensions=embedder.identity.dimensions,
            copies=self.settings.vectors_carry_entries,
        )

    async def _open_embedder(self) -> Embedder:
        embedder = await open_embedder_of(self.settings)
        assert embedder is not None
        return embedder

    async def _open_annotator(self) -> Annotator:
        return WarmingAnnotator(open_annotator(self.settings.ner, processes=self.settings.ner_processes))


async def open_opensearch(settings: Settings) -> TextStore:
    """The text store of a cluster.

    Raises:
        MissingExtra: its client library is not installed.
        UnusableStore: the indices are those of another version or program.
        Unavailable: OpenSearch cannot be reached now.
    """
    need("opensearchpy")
    from services.shared.stores import opensearch

    address, layout = opensearch.Address.of(settings), opensearch.Layout.of(settings)
    return await opensearch.OpenSearchTextStore.open(address, prefix=settings.opensearch_prefix, layout=layout)


async def open_qdrant(settings: Settings, identity: EmbeddingIdentity) -> VectorStore:
    """The vector store of a cluster.

    Raises:
        MissingExtra: its client library is not installed.
        UnusableStore: the server holds something else under the names that are needed.
    """
    need("qdrant_client")
    from services.shared.stores import qdrant

    key = settings.qdrant_api_key
    return await qdrant.QdrantVectorStore.open(
        settings.qdrant_url,
        api_key=key.get_secret_value() if key else None,
        grpc_port=settings.qdrant_grpc_port,
        collection=settings.qdrant_collection,
        dimensions=identity.dimensions,
        identity=identity,
        quantization=settings.qdrant_quantization,
        shards=settings.qdrant_shards,
        replicas=settings.qdrant_replicas,
        copies=settings.vectors_carry_entries,
    )


def need(module: str) -> None:
    """Make sure that a client library of the cluster is installed.

    Raises:
        MissingExtra: it is not.
    """
    if find_spec(module) is None:
        raise MissingExtra(
            f"the client library {module} is not installed: `scripts/setup cluster`, or install memorybus[cluster]"
        )


async def open_embedder_of(settings: Settings) -> Embedder | None:
    """The embedder that the settings choose."""
    key = settings.embedder_api_key
    return await open_embedder(
        settings.embedder,
        cache_dir=settings.cache,
        threads=settings.embedder_threads,
        base_url=settings.embedder_url,
        model=settings.embedder_model,
        api_key=key.get_secret_value() if key else None,
    )


async def check_identity(store: TextStore, identity: EmbeddingIdentity) -> None:
    """Record the embedding identity on first use, and hold every later start to it.

    Raises:
        IdentityMismatch: the stored vectors are of another provider, model or dimension.
    """
    stored = await store.recall_identity()
    if stored is None:
        await store.remember_identity(identity)
    elif stored != identity:
        raise IdentityMismatch(
            f"the stored vectors are of {_named(stored)}, but {_named(identity)} is chosen now; vectors of two models "
            "cannot be compared. Make them anew with `memorybus reindex` and the same --data and --embedder, "
            "or choose the former embedder again"
        )


def _named(identity: EmbeddingIdentity) -> str:
    return f"{identity.provider} {identity.model} ({identity.dimensions} dimensions)"


async def _keep_running(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
            return
        except Exception:
            log.exception("background_work_failed")
            await asyncio.sleep(5.0)
