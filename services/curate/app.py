"""curate: answers for what is stored, and sees to it that nothing stays stuck.

memory.v1.entries.<verb>.<user> ◄──► curate
memory.v1.memory.status.<user>  ◄──►
memory.v1.ops.status            ◄──►
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from contracts import flow, subjects
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
from services.shared.bus.requests import Answering

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
    at_once = settings.max_concurrency

    async def create(request: CreateRequest) -> EntryReply:
        longest = host.settings.max_text_bytes
        return await handler.create(request, store=store, publisher=host.bus, longest=longest)

    async def get(request: GetRequest) -> EntryReply:
        return await handler.get(request, store=store)

    async def list_entries(request: ListRequest) -> ListReply:
        return await handler.list_entries(request, store=store)

    async def user_status(request: UserStatusRequest) -> StatusReply:
        return await handler.status(request.user_id, store=store, vectors=vectors, enriches=enriches)

    async def status(_: StatusRequest) -> StatusReply:
        return await handler.status(None, store=store, vectors=vectors, enriches=enriches)

    async def keep_going() -> None:
        older_than = timedelta(0)  # at the start: whatever an earlier process or an import left unfinished
        while True:
            for consumer, lacking, event in _STAGES:
                if lacking in done_here and await host.bus.is_idle(consumer):
                    events = await handler.resume(event, lacking, store=store, older_than=older_than)
                    await host.bus.publish_events(events)
            older_than = timedelta(seconds=settings.resume_after_seconds)
            await asyncio.sleep(settings.resume_every_seconds)

    answers = (
        Answering(flow.CREATE, create, at_once),
        Answering(flow.GET, get, at_once),
        Answering(flow.LIST, list_entries, at_once),
        Answering(flow.USER_STATUS, user_status, at_once),
        Answering(flow.STATUS, status, at_once),
    )
    return Service("curate", answers=answers, background=(keep_going,))
