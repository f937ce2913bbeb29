"""curate: answers for what is stored, and sees to it that nothing stays stuck.

memory.v1.entries.<verb>.<user> ◄──► curate
memory.v1.memory.status.<user>  ◄──►
memory.v1.ops.status            ◄──►
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from faststream.nats import NatsRouter

from contracts import subjects
from contracts.ports import Stuck
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    GetRequest,
    ListReply,
    ListRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryEvent, EntryProposed
from services.curate import handler
from services.curate.settings import CurateSettings
from services.shared.app import Host, Service
from services.shared.requests import check_user

_STAGES: tuple[tuple[subjects.Consumer, Stuck, type[EntryEvent]], ...] = (
    (subjects.DEDUPE, "undecided", EntryProposed),
    (subjects.ENRICH, "unenriched", EntryAccepted),
    (subjects.EMBED, "unembedded", EntryEnriched),
)


async def build(host: Host) -> Service:
    """Wire the commands and the resuming."""
    settings = CurateSettings()
    store, vectors = await host.text_store(), await host.vector_store()
    enriches = host.settings.ner != "none"
    done_here = {"undecided"} | ({"unenriched"} if enriches else set()) | ({"unembedded"} if vectors else set())
    router = NatsRouter()
    queue, at_once = "curate", settings.max_concurrency

    @router.subscriber(f"{subjects.ENTRIES}.create.*", title="create", queue=queue, max_workers=at_once)
    async def on_create(request: CreateRequest) -> EntryReply:
        """Remember a text; the reply has the entry, or the one that already says the same."""
        check_user(request.user_id)
        longest = host.settings.max_text_bytes
        return await handler.create(request, store=store, publisher=host.bus, longest=longest)

    @router.subscriber(f"{subjects.ENTRIES}.get.*", title="get", queue=queue, max_workers=at_once)
    async def on_get(request: GetRequest) -> EntryReply:
        """Show one entry."""
        check_user(request.user_id)
        return await handler.get(request, store=store)

    @router.subscriber(f"{subjects.ENTRIES}.list.*", title="list", queue=queue, max_workers=at_once)
    async def on_list(request: ListRequest) -> ListReply:
        """Page through the entries."""
        check_user(request.user_id)
        return await handler.list_entries(request, store=store)

    @router.subscriber(f"{subjects.MEMORY}.status.*", title="status of a user", queue=queue, max_workers=at_once)
    async def on_user_status(request: UserStatusRequest) -> StatusReply:
        """Count what is stored for one user."""
        check_user(request.user_id)
        return await handler.status(request.user_id, store=store, vectors=vectors, enriches=enriches)

    @router.subscriber(subjects.STATUS, title="status", queue=queue, max_workers=at_once)
    async def on_status(request: StatusRequest) -> StatusReply:
        """Count what is stored over all users."""
        return await handler.status(None, store=store, vectors=vectors, enriches=enriches)

    async def keep_going() -> None:
        older_than = timedelta(seconds=settings.resume_after_seconds)
        while True:
            for consumer, lacking, event in _STAGES:
                if lacking in done_here and await host.bus.is_idle(consumer):
                    events = await handler.resume(event, lacking, store=store, older_than=older_than)
                    await host.bus.publish_events(events)
            await asyncio.sleep(settings.resume_every_seconds)

    return Service("curate", router=router, background=(keep_going,))
