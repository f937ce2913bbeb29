"""curate: answers commands, keeps the stores in order, and sets stuck work going again.

memory.v1.entries.<verb>.<user> ◄──► curate
memory.v1.memory.<verb>.<user>  ◄──►
memory.v1.ops.<verb>            ◄──►
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from contracts import flow
from contracts.ports import TextStore
from contracts.v1.audit import AuditNoteReply, AuditNoteRequest, AuditReply, AuditRequest, OpsAuditRequest
from contracts.v1.cards import CardsReply, CardsRequest, NamesReply, NamesRequest
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    EraseReply,
    EraseRequest,
    GetRequest,
    ListReply,
    ListRequest,
    ReconcileReply,
    ReconcileRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.conflicts import ConflictsReply, ConflictsRequest, ResolveReply, ResolveRequest
from contracts.v1.control import (
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
)
from contracts.v1.loops import LoopsReply, LoopsRequest, SettleReply, SettleRequest
from contracts.v1.overview import (
    ExportReply,
    ExportRequest,
    SummaryReply,
    SummaryRequest,
    ThemeProposalsReply,
    ThemeProposalsRequest,
    ThemeRemoveReply,
    ThemeRemoveRequest,
    ThemeReply,
    ThemeSaveRequest,
    ThemesReply,
    ThemesRequest,
)
from contracts.v1.profile import ProfileReply, ProfileRequest, SeedReply, SeedRequest
from contracts.v1.sessions import SessionsReply, SessionsRequest
from services.curate import (
    audit,
    cards,
    chat_commands,
    commands,
    conflicts,
    control,
    loops,
    overview,
    reconcile,
    sessions,
)
from services.curate import profile as profiles
from services.curate import seed as seeding
from services.curate import themes as themes_proposed
from services.curate.edits import Editor, shorten_history
from services.curate.privacy import DataStores
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.shared.app import Host, Service
from services.shared.audit import AuditTrail
from services.shared.bus.in_flight import NatsInFlight
from services.shared.bus.requests import RequestHandler, time_left
from services.shared.client import MemoryClient
from services.shared.preferences import PreferenceReader


async def build(host: Host) -> Service:
    """Wire the commands, and the work in the background."""
    settings = CurateSettings()
    store, vectors = await host.text_store(), await host.vector_store()
    stores = DataStores(store, vectors, NatsInFlight(host.bus))
    compared = reconcile.Stores(store, vectors, host.bus.publish_events)
    scheduler = Scheduler(host, settings, stores, compared)
    longest = host.settings.max_text_bytes
    editor = Editor(stores, host.bus.publish_events, scheduler.finishing, settings.refuse_for, longest)
    preferences = PreferenceReader(store)
    enriches, at_once = host.settings.ner != "none", settings.max_concurrency

    async def create(request: CreateRequest) -> EntryReply:
        return await commands.create(request, store=store, publisher=host.bus, preferences=preferences, longest=longest)

    async def seed(request: SeedRequest) -> SeedReply:
        return await seeding.seed(request, create=create)

    async def get(request: GetRequest) -> EntryReply:
        return await commands.get(request, store=store)

    async def list_entries(request: ListRequest) -> ListReply:
        return await commands.list_entries(request, store=store)

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

    chat_actions = chat_commands.Actions(
        retrieve=MemoryClient(host.client).retrieve,
        forget=editor.forget,
        erase=erase,
        pin=editor.pin,
        unpin=editor.unpin,
        update=editor.update,
        settings=partial(control.settings, records=store, defaults=settings.of_a_space),
        incognito=partial(control.set_incognito, records=store, in_flight=stores.in_flight),
        conflicts=partial(conflicts.list_conflicts, store=store),
        resolve=partial(conflicts.resolve, stores=stores, say=host.bus.publish_events),
    )
    answers: tuple[RequestHandler[Any, Any], ...] = (
        RequestHandler(flow.CREATE, create, at_once, commands.shorten_entry),
        RequestHandler(flow.SEED, seed, at_once),
        RequestHandler(flow.GET, get, at_once, commands.shorten_entry),
        RequestHandler(flow.LIST, list_entries, at_once, partial(commands.shorten_list, store=store)),
        RequestHandler(flow.FORGET, editor.forget, at_once),
        RequestHandler(flow.UPDATE, editor.update, at_once, commands.shorten_entry),
        RequestHandler(flow.PIN, editor.pin, at_once, commands.shorten_entry),
        RequestHandler(flow.UNPIN, editor.unpin, at_once, commands.shorten_entry),
        RequestHandler(flow.HISTORY, editor.history, at_once, shorten_history),
        RequestHandler(flow.BULK, editor.bulk, at_once),
        *_about_the_whole(stores, at_once, settings.session_silence),
        *_cards(store, at_once),
        *_conflicts(stores, host.bus.publish_events, at_once),
        RequestHandler(flow.ERASE, erase, at_once),
        RequestHandler(flow.USER_STATUS, user_status, at_once),
        RequestHandler(flow.COMMANDS, do_as_said, at_once, chat_commands.shorten),
        RequestHandler(flow.STATUS, status, at_once),
        RequestHandler(flow.RECONCILE, compare, 1),
        *_control(stores, settings, scheduler),
        *_audit(store, await host.audit_trail(), at_once),
    )
    return Service("curate", answers=answers, background=scheduler.all)


def _about_the_whole(stores: DataStores, at_once: int, silence: timedelta) -> tuple[RequestHandler[Any, Any], ...]:
    """What answers for a user's memory as a whole."""
    store = stores.text

    async def themes(request: ThemesRequest) -> ThemesReply:
        return await overview.list_themes(request, store=store)

    async def save_theme(request: ThemeSaveRequest) -> ThemeReply:
        return await overview.save_theme(request, stores=stores)

    async def remove_theme(request: ThemeRemoveRequest) -> ThemeRemoveReply:
        return await overview.remove_theme(request, stores=stores)

    async def propose_themes(request: ThemeProposalsRequest) -> ThemeProposalsReply:
        return await themes_proposed.propose_themes(request, store=store, vectors=stores.vectors)

    async def summary(request: SummaryRequest) -> SummaryReply:
        return await overview.summarize(request, store=store)

    async def profile(request: ProfileRequest) -> ProfileReply:
        return await profiles.profile(request, store=store)

    async def list_sessions(request: SessionsRequest) -> SessionsReply:
        return await sessions.list_sessions(request, store=store, vectors=stores.vectors, silence=silence)

    async def export(request: ExportRequest) -> ExportReply:
        return await overview.export(request, store=store)

    return (
        RequestHandler(flow.THEMES, themes, at_once),
        RequestHandler(flow.THEME_SAVE, save_theme, at_once),
        RequestHandler(flow.THEME_REMOVE, remove_theme, at_once),
        RequestHandler(flow.THEME_PROPOSALS, propose_themes, at_once),
        RequestHandler(flow.SUMMARY, summary, at_once),
        RequestHandler(flow.PROFILE, profile, at_once, profiles.shorten_profile),
        RequestHandler(flow.SESSIONS, list_sessions, at_once),
        RequestHandler(flow.EXPORT, export, at_once, partial(overview.shorten_export, store=store)),
    )


def _cards(store: TextStore, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """Who and what is around a user, and what is to be done."""

    async def list_cards(request: CardsRequest) -> CardsReply:
        return await cards.cards(request, store=store)

    async def names(request: NamesRequest) -> NamesReply:
        return await cards.decide_names(request, store=store)

    async def list_loops(request: LoopsRequest) -> LoopsReply:
        return await loops.list_loops(request, store=store)

    async def settle(request: SettleRequest) -> SettleReply:
        return await loops.settle(request, store=store)

    yield RequestHandler(flow.LOOPS, list_loops, at_once, loops.shorten_loops)
    yield RequestHandler(flow.SETTLE, settle, at_once)
    yield RequestHandler(flow.CARDS, list_cards, at_once, cards.shorten_cards)
    yield RequestHandler(flow.NAMES, names, at_once)


def _conflicts(stores: DataStores, say: reconcile.Say, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """What contradicts each other."""

    async def list_conflicts(request: ConflictsRequest) -> ConflictsReply:
        return await conflicts.list_conflicts(request, store=stores.text)

    async def resolve(request: ResolveRequest) -> ResolveReply:
        return await conflicts.resolve(request, stores=stores, say=say)

    yield RequestHandler(flow.CONFLICTS, list_conflicts, at_once)
    yield RequestHandler(flow.RESOLVE, resolve, at_once)


def _control(stores: DataStores, settings: CurateSettings, scheduler: Scheduler) -> Iterator[RequestHandler[Any, Any]]:
    """What users decide about their memory."""

    async def space_settings(request: SettingsRequest) -> SettingsReply:
        reply = await control.settings(request, records=stores.text, defaults=settings.of_a_space)
        if control.sets_limits(request):
            scheduler.limit(request.user_id)
        return reply

    async def incognito(request: IncognitoStartRequest | IncognitoEndRequest) -> IncognitoReply:
        return await control.set_incognito(request, records=stores.text, in_flight=stores.in_flight)

    yield RequestHandler(flow.SETTINGS, space_settings, settings.max_concurrency)
    yield RequestHandler(flow.INCOGNITO_START, incognito, settings.max_concurrency)
    yield RequestHandler(flow.INCOGNITO_END, incognito, settings.max_concurrency)


def _audit(store: TextStore, trail: AuditTrail, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """What was done."""

    async def read(request: AuditRequest | OpsAuditRequest) -> AuditReply:
        return await audit.audit(request, records=store)

    async def note(request: AuditNoteRequest) -> AuditNoteReply:
        return await audit.note(request, trail=trail)

    shorten = partial(audit.shorten_audit, records=store)
    yield RequestHandler(flow.USER_AUDIT, read, at_once, shorten)
    yield RequestHandler(flow.AUDIT, read, at_once, shorten)
    yield RequestHandler(flow.AUDIT_NOTE, note, at_once)
