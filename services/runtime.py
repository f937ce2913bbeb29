"""Runs services in this process: folder, bus, adapters, stages, HTTP; in this order up, in reverse down."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from services.curate.app import build as build_curate
from services.dedupe.app import build as build_dedupe
from services.embed.app import build as build_embed
from services.enrich.app import build as build_enrich
from services.gateway.app import build as build_gateway
from services.gateway.settings import refuse_exposure
from services.ingest.app import build as build_ingest
from services.retrieve.app import build as build_retrieve
from services.shared import tracing
from services.shared.app import START_PATIENCE, Builder, Host
from services.shared.bus.server import NatsServer
from services.shared.http import HttpServer, listen
from services.shared.instance import FolderLock, Instance
from services.shared.redaction import redact_address
from services.shared.settings import Settings, UnusableSetting

SERVICES: dict[str, Builder] = {
    "ingest": build_ingest,
    "dedupe": build_dedupe,
    "enrich": build_enrich,
    "embed": build_embed,
    "retrieve": build_retrieve,
    "curate": build_curate,
    "gateway": build_gateway,
}

_ROOM = 16 * 1024 * 1024
"""Bytes that must be left on the disk at a start: who maps files into memory dies without a word where none are."""


_USE_TEXT = frozenset(SERVICES) - {"gateway"}
_USE_VECTORS = frozenset({"embed", "retrieve", "curate"})
_OWN_TEXT = (
    "{} would keep what it is told in a file of its own in {}, of which other processes know nothing: set "
    "MEMORYBUS_TEXT_STORE=opensearch, as everywhere on this bus; or =sqlite, where all of them use this very folder"
)
_OWN_VECTORS = (
    "{} would keep vectors in a folder of its own, {}, which is for one process, and others on this bus use "
    "vectors, too: set MEMORYBUS_VECTOR_STORE=qdrant, as everywhere; or =none, to search by words only"
)


@dataclass(frozen=True, slots=True)
class Running:
    """A process that answers."""

    nats: str
    http: str
    host: Host


@asynccontextmanager
async def running(settings: Settings, only: Sequence[str] = ()) -> AsyncIterator[Running]:
    """Run all services, or only the named ones, until the block ends.

    Raises:
        FolderInUse, PortTaken, BusNotStarted, Unavailable, IdentityMismatch, MissingExtra, UnusableSetting: each says
            what to do.
    """
    if not only or "gateway" in only:
        refuse_exposure(settings.http_host)
    if settings.nats_url:
        refuse_unshared_stores(settings, only)
    async with AsyncExitStack() as stack:
        if tracing.is_wanted():
            stack.push_async_callback(asyncio.to_thread, tracing.begin("-".join(["memorybus", *only])))
        lock = _take_folder(stack, settings) if not only else None
        listening = listen(settings.http_host, settings.http_port)
        stack.callback(listening.close)
        nats_url = settings.nats_url or await _start_bus(stack, settings)
        patience = settings.start_patience_seconds
        if patience is None:
            patience = math.inf if only else START_PATIENCE
        host = Host(settings, nats_url, was_clean=lock is None or lock.was_clean, patience=patience)
        http = await _serve(stack, host, listening)  # first, so that probes see what the start waits for
        stack.push_async_callback(host.stop)
        await host.start([SERVICES[name] for name in only or SERVICES])
        # A bus of our own is for who may read the folder; the password of another one is known to who named it.
        shown = redact_address(nats_url) if settings.nats_url else nats_url
        if lock is not None:
            lock.announce(Instance(pid=lock.pid, nats=shown, http=http.url))
        yield Running(nats=shown, http=http.url, host=host)


def refuse_unshared_stores(settings: Settings, only: Sequence[str]) -> None:
    """Refuse the stores that one process of many gets by default: they are its own, and elsewhere others are used.

    Raises:
        UnusableSetting: a store is meant for one process that does all, and others are on the bus.
    """
    names = ", ".join(only)
    if "text_store" not in settings.model_fields_set and _is_part(only, _USE_TEXT):
        raise UnusableSetting(_OWN_TEXT.format(names, settings.data))
    has_vectors = settings.vector_store == "edge" and settings.embedder != "none"
    if has_vectors and _is_part(only, _USE_VECTORS):
        raise UnusableSetting(_OWN_VECTORS.format(names, settings.vectors_path))


def _is_part(only: Sequence[str], users: frozenset[str]) -> bool:
    """Whether some of those that use a store run here, and others elsewhere."""
    return bool(users & set(only)) and not users <= set(only)


def _take_folder(stack: AsyncExitStack, settings: Settings) -> FolderLock:
    lock = FolderLock(settings.data)
    lock.acquire(room=_ROOM)
    stack.callback(lock.release)
    return lock


async def _start_bus(stack: AsyncExitStack, settings: Settings) -> str:
    server = NatsServer(settings.data / "nats", port=settings.nats_port, sync=settings.sync)
    stack.push_async_callback(server.stop)
    await server.start()
    return server.url


async def _serve(stack: AsyncExitStack, host: Host, listening: socket.socket) -> HttpServer:
    http = HttpServer(host.site, listening)
    stack.push_async_callback(http.stop)
    await http.start()
    return http
