"""curate: answers commands, keeps the stores in order, and sets stuck work going again.

memory.v1.entries.<verb>.<user> ◄──► curate
memory.v1.memory.<verb>.<user>  ◄──►
memory.v1.ops.<verb>            ◄──►
"""

from __future__ import annotations

from functools import partial

from contracts import flow
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    EraseReply,
    EraseRequest,
    ForgetReply,
    ForgetRequest,
    GetRequest,
    ListReply,
    ListRequest,
    ReconcileReply,
    ReconcileRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from services.curate import chat_commands, commands, privacy, reconcile
from services.curate.privacy import DataStores
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.shared.app import Host, Service
from services.shared.bus.in_flight import NatsInFlight
from services.shared.bus.requests import RequestHandler, time_left
from services.shared.client import MemoryClient


async def build(host: Host) -> Service:
    """Wire the commands, and the work in the background."""
    settings = CurateSettings()
    store, vectors = await host.text_store(), await host.vector_store()
    stores = DataStores(store, vectors, NatsInFlight(host.bus))
    compared = reconcile.Stores(store, vectors, host.bus.publish_events)
    scheduler = Scheduler(host, settings, stores, compared)
    enriches, at_once = host.settings.ner != "none", settings.max_concurrency

    async def create(request: CreateRequest) -> EntryReply:
        longest = host.settings.max_text_bytes
        return await commands.create(request, store=store, publisher=host.bus, longest=longest)

    async def get(request: GetRequest) -> EntryReply:
        return await commands.get(request, store=store)

    async def list_entries(request: ListRequest) -> ListReply:
        return await commands.list_entries(request, store=store)

    async def forget(request: ForgetRequest) -> ForgetReply:
        id_ = await commands.whole_id(request.user_id, request.id, store)
        request = request.model_copy(update={"id": id_})
        with scheduler.finishing(request):
            return await privacy.forget(request, stores=stores, refuse_for=settings.refuse_for)

    async def erase(request: EraseRequest) -> EraseReply:
        return await scheduler.eraser.erase(request, within=time_left())

    async def user_status(request: UserStatusRequest) -> StatusReply:
        return await commands.status(request.user_id, store=store, vectors=vectors, enriches=enriches)

    async def status(_: StatusRequest) -> StatusReply:
        return await commands.status(None, store=store, vectors=vectors, enriches=enriches)

    async def do_as_said(request: CommandRequest) -> CommandReply:
        return await chat_commands.answer(request, store=store, actions=chat_actions)

    async def compare(request: ReconcileRequest) -> ReconcileReply:
        return await reconcile.reconcile(request, compared)

    chat_actions = chat_commands.Actions(MemoryClient(host.client).retrieve, forget, erase)
    answers = (
        RequestHandler(flow.CREATE, create, at_once, commands.shorten_entry),
        RequestHandler(flow.GET, get, at_once, commands.shorten_entry),
        RequestHandler(flow.LIST, list_entries, at_once, partial(commands.shorten_list, store=store)),
        RequestHandler(flow.FORGET, forget, at_once),
        RequestHandler(flow.ERASE, erase, at_once),
        RequestHandler(flow.USER_STATUS, user_status, at_once),
        RequestHandler(flow.COMMANDS, do_as_said, at_once, chat_commands.shorten),
        RequestHandler(flow.STATUS, status, at_once),
        RequestHandler(flow.RECONCILE, compare, 1),
    )
    return Service("curate", answers=answers, background=scheduler.all)
