"""Puts services together: opens what they need once per process, runs their stages, answers their requests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from contracts.envelope import Message
from contracts.errors import Unavailable, UnusableStore
from contracts.flow import FLOW, Answer
from contracts.ports import Annotator, Embedder, EmbeddingIdentity, TextStore, TokenCounter, VectorStore
from services.shared.annotators.spacy import SpacyAnnotator
from services.shared.audit import AuditTrail
from services.shared.bus.connection import NOBODY, Access, connect
from services.shared.bus.nats_patches import PatchedNatsClient
from services.shared.bus.provisioning import provision
from services.shared.bus.requests import RequestBroker, RequestHandler
from services.shared.bus.streams import Bus
from services.shared.bus.worker import Stage, Worker
from services.shared.client import Answering, MemoryClient
from services.shared.embedders import open_embedder
from services.shared.errors import MissingExtra as MissingExtra
from services.shared.files import make_folder
from services.shared.health import StoreProbe, deaf, health_routes
from services.shared.redaction import redact_address, redact_text
from services.shared.settings import Settings, UnusableAccess
from services.shared.site import Route, Site
from services.shared.stores.edge import EdgeVectorStore, check_layout
from services.shared.stores.sqlite import SqliteTextStore, Synchronous
from services.shared.tasks import end
from services.shared.telemetry import declare, measure_loop_lag
from services.shared.tokens import Cl100kCounter
from services.shared.vectors import identity as identities
from services.shared.vectors.folders import VectorFolders
from services.shared.vectors.identity import IdentityMismatch as IdentityMismatch
from services.shared.vectors.identity import check_identity as check_identity
from services.shared.vectors.swappable import SwappableIndex, VectorIndex
from services.shared.vectors.watcher import IndexWatcher

log = logging.getLogger(__name__)

T = TypeVar("T")

START_PATIENCE = 5.0
"""Seconds that a start waits for bus and stores while somebody watches it."""

_TRY_AGAIN = 1.0
_LOOK_EVERY = 2.0
_ALL = "bus and stores"
_REHEARSAL = "the first question, which it asks itself"
_REHEARSED_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class Service:
    """What one service brings: stages that read the bus, requests it answers, pages, work in the background.

    `rehearsals` do once, before it is ready, what the first request would wait for. `trouble` says what keeps it from
    doing its work, if anything does.
    """

    name: str
    stages: tuple[Stage[Any], ...] = ()
    answers: tuple[RequestHandler[Any, Any], ...] = ()
    routes: tuple[Route, ...] = ()
    background: tuple[Callable[[], Awaitable[None]], ...] = ()
    rehearsals: tuple[Callable[[], Awaitable[None]], ...] = ()
    trouble: Callable[[], str | None] = lambda: None

    def __post_init__(self) -> None:
        """Hold the service to the table that documentation and permissions are made from.

        Raises:
            ValueError: it answers or says something else.
        """
        step = next(step for step in FLOW if step.service == self.name)
        said = {event for stage in self.stages for event in stage.says}
        if {handler.answer for handler in self.answers} != set(step.answers) or said != set(step.says):
            raise ValueError(f"{self.name} answers or says something else than contracts/flow.py lists for it")

    def declare_metrics(self) -> None:
        """Have what it counts there from its start."""
        step = next(step for step in FLOW if step.service == self.name)
        stages, requests = [stage.name for stage in self.stages], [each.answer.name for each in self.answers]
        declare(self.name, stages, requests, [event.subject.rpartition(".")[2] for event in step.says])


Builder = Callable[["Host"], Awaitable[Service]]


class Host:
    """One process: its connection to the bus, its adapters, and the services that run in it.

    Adapters are opened when the first service asks for them and shared by all: a service never knows which engine
    is behind a port, nor who else uses it.
    """

    def __init__(
        self, settings: Settings, nats_url: str, *, was_clean: bool = True, patience: float = START_PATIENCE
    ) -> None:
        self.settings = settings
        self.was_clean = was_clean
        self.waits_for: str | None = _ALL
        self.workers: list[Worker[Any]] = []
        self.services: list[Service] = []
        self.client: PatchedNatsClient
        self.bus: Bus
        self._nats_url = nats_url
        self._patience = patience
        self.site = Site(
            health_routes(self),
            host=settings.http_host,
            named=settings.http_hosts,
            is_starting=lambda: self.waits_for is not None,
        )
        self._requests: RequestBroker | None = None
        self._trail: AuditTrail | None = None
        self._probe = StoreProbe({})
        self._stack = AsyncExitStack()
        self._background: list[asyncio.Task[None]] = []
        self._opened: dict[str, asyncio.Task[Any]] = {}

    async def start(self, builders: list[Builder]) -> None:
        """Connect, open adapters side by side, provision the bus, then start answering and reading.

        Raises:
            Unavailable: bus or store were not there within the patience of this host.
        """
        # The address of a bus of our own says all; the settings are about another one.
        access = Access.of(self.settings, self._nats_url) if self.settings.nats_url else NOBODY
        joining = partial(connect, self._nats_url, name="memorybus", access=access)
        self.client = await self._patiently(joining)
        self.bus = Bus(self.client)
        self._stack.push_async_callback(self._leave_bus)
        self._stack.push_async_callback(self.close)
        await provision(self.bus.js, self.settings, waiting=self._wait_for)
        self.services = list(await asyncio.gather(*(build(self) for build in builders)))
        for service in self.services:
            service.declare_metrics()
        await self._rehearse()
        trail = await self.audit_trail() if any(service.answers for service in self.services) else None
        self._requests = requests = RequestBroker(self.client, trail.heard if trail else lambda _: None)
        for service in self.services:
            for handler in service.answers:
                requests.answer(service.name, handler)
        await requests.start()
        self.workers = [
            Worker(stage, self.bus, requests.give_way) for service in self.services for stage in service.stages
        ]
        for worker in self.workers:
            await worker.start()
        background = [measure_loop_lag, *(work for service in self.services for work in service.background)]
        background += [trail.run] if trail else []
        if "vectors" in self._opened:
            background.append((await self._index_watcher()).run)
        self._probe = StoreProbe(await self._servers())
        background.append(self._probe.run)
        self._background = [asyncio.create_task(_keep_running(work)) for work in background]
        self.site.add(route for service in self.services for route in service.routes)
        self.waits_for = None

    async def _rehearse(self) -> None:
        """Do once what takes longer the first time: who asks as soon as this is ready waits no longer than others.

        No start fails for it.
        """
        rehearsals = [rehearse for service in self.services for rehearse in service.rehearsals]
        if rehearsals:
            self._wait_for(_REHEARSAL)
            complete(Message)
        for rehearse in rehearsals:
            try:
                async with asyncio.timeout(_REHEARSED_WITHIN):
                    await rehearse()
            except Exception as error:
                log.warning("not_rehearsed", extra={"work": _name_of(rehearse), "cause": redact_text(repr(error))})

    async def until_deaf(self) -> None:
        """Wait, without end unless the connection to the bus is one that only a new process brings back.

        Raises:
            Unavailable: it is.
        """
        while True:
            if self.client.is_deaf:
                raise Unavailable(f"{deaf(self.client)[0]}: this process ends, start it again")
            await asyncio.sleep(_LOOK_EVERY)

    async def stop(self) -> None:
        """Hear no new requests, finish what is under way, give back the rest, close the adapters."""
        if self._requests is not None:
            await self._requests.stop()
        await asyncio.gather(*(worker.stop() for worker in self.workers))
        await end(self._background)
        await self._stack.aclose()

    @property
    def troubles(self) -> list[str]:
        """What keeps services from doing their work, with their names."""
        said = ((service.name, service.trouble()) for service in self.services)
        return [*(f"{name}: {trouble}" for name, trouble in said if trouble), *self._probe.troubles]

    async def _servers(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """How to ask the stores in use here that are servers whether they answer."""
        asks: dict[str, Callable[[], Awaitable[object]]] = {}
        if "text" in self._opened and self.settings.text_store == "opensearch":
            asks["text store"] = (await self.text_store()).get_embedding_identity  # one small document
        if "vectors" in self._opened and self.settings.vector_store == "qdrant":
            index = await self.vector_index()
            assert index is not None
            asks["vector store"] = index.vectors.ping
        return asks

    @property
    def bus_address(self) -> str:
        """The servers of the bus as they may be shown."""
        return redact_address(self._nats_url)

    def memory(self) -> MemoryClient:
        """A client of memorybus: what this process answers itself it is asked without the bus between."""
        return MemoryClient(self.client, self._answering)

    def _answering(self, answer: Answer[Any, Any]) -> Answering | None:
        """What answers a request here; nothing does while the bus is away, as everywhere else."""
        if self._requests is None or not self.client.is_connected or answer.name not in self._requests.handled:
            return None
        return self._requests.handled[answer.name].answer_here

    async def text_store(self) -> TextStore:
        """The system of record."""
        store: TextStore = await self._once("text", partial(self._patiently, self._open_text_store))
        return store

    async def audit_trail(self) -> AuditTrail:
        """Where account is kept of what users and operators do."""
        if self._trail is None:
            key = self.settings.audit_key
            self._trail = AuditTrail(await self.text_store(), key.get_secret_value() if key else None)
        return self._trail

    async def vector_store(self) -> VectorStore | None:
        """The vectors, or None when memory is searched by words only.

        Raises:
            IdentityMismatch: the stored vectors are of another model.
        """
        index = await self.vector_index()
        return index.vectors if index else None

    async def embedder(self) -> Embedder | None:
        """The model that makes the vectors in use now, or None; it is opened together with them."""
        index = await self.vector_index()
        return index.current.embedder if index else None

    async def vector_index(self) -> SwappableIndex | None:
        """The vectors together with the model that makes them, or None; both may be changed while the process runs."""
        if self.settings.vector_store == "none" or self.settings.embedder == "none":
            return None
        index: SwappableIndex = await self._once("vectors", partial(self._patiently, self._open_index))
        return index

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

    def closes(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have something closed when this process stops that one service alone has opened."""
        self._stack.push_async_callback(close)

    async def close(self) -> None:
        """Close the adapters that were opened, and open no more."""
        await end([task for task in self._opened.values() if not task.done()])
        for task in reversed(self._opened.values()):
            if task.done() and not task.cancelled() and task.exception() is None:
                await task.result().close()

    async def _leave_bus(self) -> None:
        with suppress(OSError):  # the bus went before us
            await self.client.close()

    async def _patiently(self, opening: Callable[[], Awaitable[T]]) -> T:
        """Open what the start needs, trying for as long as this host has patience."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                opened = await opening()
                if self.waits_for is not None:  # it is starting
                    self._wait_for(_ALL)
                return opened
            except Unavailable as error:
                if time.monotonic() >= deadline or isinstance(error, UnusableAccess):
                    raise
                if self.waits_for != str(error):
                    log.warning("start_waits", extra={"for": str(error)})
                self._wait_for(str(error))
            await asyncio.sleep(_TRY_AGAIN)

    def _wait_for(self, what: str) -> None:
        self.waits_for = what

    async def _open_text_store(self) -> TextStore:
        if self.settings.text_store == "opensearch":
            return await open_opensearch(self.settings)
        make_folder(self.settings.data)
        check_not_emptied(self.settings.sqlite_path, self.settings.vectors_path)
        durability: Synchronous = "full" if self.settings.sync == "always" else "normal"
        return await SqliteTextStore.open(self.settings.sqlite_path, synchronous=durability)

    async def _open_index(self) -> SwappableIndex:
        """The vectors in use with the embedder that made them, which is opened anew for every process."""
        store = await self.text_store()
        settings = identities.chosen(self.settings, await store.get_embedding_identity())
        embedder = await open_embedder_of(settings)
        assert embedder is not None
        try:
            recorded = await check_identity(store, identities.recordable(embedder.identity, settings))
            return SwappableIndex(VectorIndex(recorded, embedder, await open_vectors(settings, recorded)))
        except BaseException:
            await embedder.close()
            raise

    async def _index_watcher(self) -> IndexWatcher:
        index = await self.vector_index()
        assert index is not None
        folders = VectorFolders(self.settings.vectors_path) if self.settings.vector_store == "edge" else None
        return IndexWatcher(index, await self.text_store(), partial(open_index, self.settings), folders)

    async def _open_annotator(self) -> Annotator:
        return SpacyAnnotator(processes=self.settings.ner_processes)


def complete(message: type[Message]) -> None:
    """Build how the messages of this kind are read and written, as the first of each would do."""
    for kind in message.__subclasses__():
        kind.model_rebuild()
        complete(kind)


def check_not_emptied(file: Path, vectors: Path) -> None:
    """Refuse a file of memories without a byte in it, where vectors of memories stand beside it.

    Raises:
        UnusableStore: it is one.
    """
    if file.exists() and not file.stat().st_size and vectors.is_dir() and any(vectors.iterdir()):
        raise UnusableStore(
            f"{file} is empty, but there are vectors of memories in {vectors}: restore a backup of the file, "
            "or move the vectors away to begin with no memories"
        )


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


async def open_qdrant(settings: Settings, identity: EmbeddingIdentity, *, in_use: bool = True) -> VectorStore:
    """The vector store of a cluster; only where it is in use its collection gets the alias.

    Raises:
        MissingExtra: its client library is not installed.
        UnusableStore: the server holds something else under the names that are needed.
    """
    need("qdrant_client")
    from services.shared.stores import qdrant

    return await qdrant.open_store(settings, identity, in_use=in_use)


async def drop_former(settings: Settings, identity: EmbeddingIdentity) -> None:
    """Remove the vectors on the Qdrant server that were in use before these."""
    from services.shared.stores import qdrant

    await qdrant.drop_former(settings, identity)


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
        reads=settings.reader != "none",
    )


async def open_index(settings: Settings, recorded: EmbeddingIdentity) -> VectorIndex:
    """The recorded vectors with their embedder, whatever embedder the settings choose.

    Raises:
        IdentityMismatch: the embedding server gives vectors of another kind now.
        EmbedderMisconfigured: the embedder needs something that the environment does not have.
        Unavailable: embedder or vectors cannot be opened now.
    """
    settings = identities.following(settings, recorded)
    embedder = await open_embedder_of(settings)
    assert embedder is not None
    try:
        identities.check_same(recorded, embedder.identity)
        return VectorIndex(recorded, embedder, await open_vectors(settings, recorded))
    except BaseException:
        await embedder.close()
        raise


async def open_vectors(settings: Settings, identity: EmbeddingIdentity, *, in_use: bool = True) -> VectorStore:
    """The vectors of a model and generation; not `in_use`, they are only being made.

    Raises:
        UnusableStore: what is there cannot be used; the text says what to do.
        Unavailable: it cannot be opened now.
    """
    if settings.vector_store == "qdrant":
        return await open_qdrant(settings, identity, in_use=in_use)
    if in_use:
        check_layout(settings.vectors_path)
    folder = VectorFolders(settings.vectors_path).of(identity)
    return await EdgeVectorStore.open(folder, dimensions=identity.dimensions, copies=settings.vectors_carry_entries)


async def _keep_running(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
            return
        except Unavailable as error:
            log.warning("background_work_waits", extra={"work": _name_of(work), "for": str(error)})
        except Exception:
            log.exception("background_work_failed", extra={"work": _name_of(work)})
        await asyncio.sleep(5.0)


def _name_of(work: Callable[[], Awaitable[None]]) -> str:
    return str(getattr(getattr(work, "func", work), "__qualname__", work))
