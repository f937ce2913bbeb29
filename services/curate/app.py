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
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    EraseReply,
    EraseRequest,
    ListReply,
    ListRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.control import SettingsReply, SettingsRequest
from contracts.v1.edits import UpdateRequest
from contracts.v1.entries import Entry, EntryRef
from services.curate import (
    ageing,
    audit,
    cards,
    chat_commands,
    claims,
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
from services.curate.edits import Editor
from services.curate.privacy import DataStores, until_heard
from services.curate.rollups import RollUps
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.curate.summary_writer import SummaryWriter
from services.shared import telemetry
from services.shared.app import Host, Service
from services.shared.audit import AuditTrail
from services.shared.bus.extraction import offer_to_read
from services.shared.bus.in_flight import NatsInFlight
from services.shared.bus.requests import RequestHandler, time_left
from services.shared.llm.budget import Budget
from services.shared.llm.configured import configured_model
from services.shared.preferences import PreferenceReader

_MOST_TOKENS = 1600
"""Of an answer with a summary: all of its sentences, with room to spare."""


async def build(host: Host) -> Service:
    """Wire the commands, and the work in the background."""
    settings = CurateSettings()
    store, vectors = await host.text_store(), await host.vector_store()
    stores = DataStores(store, vectors, NatsInFlight(host.bus))
    compared = reconcile.Stores(store, vectors, host.bus.publish_events)
    scheduler = Scheduler(host, settings, stores, compared)
    longest = host.settings.max_text_bytes
    wants_reading = partial(_offer_to_read, host) if host.settings.extract_url is not None else None
    editor = Editor(stores, host.bus.publish_events, scheduler.finishing, settings.refuse_for, longest, wants_reading)
    preferences = PreferenceReader(store)
    writer = _summary_writer(host, settings, store, preferences)
    enriches, at_once = host.settings.ner != "none", settings.max_concurrency
    decide = partial(commands.create, store=store, publisher=host.bus, preferences=preferences, longest=longest)

    counted = partial(commands.status, store=store, vectors=vectors, enriches=enriches)

    async def create(request: CreateRequest) -> EntryReply:
        return await answered(await decide(request))

    async def update(request: UpdateRequest) -> EntryReply:
        return await answered(await editor.update(request))

    async def answered(reply: EntryReply) -> EntryReply:
        within = min(commands.MOST_EMBEDDING, time_left() / 2)
        return reply if vectors is None else await commands.once_embedded(reply, store=store, within=within)

    async def erase(request: EraseRequest) -> EraseReply:
        if writer is not None:
            writer.forget(request.user_id)
        return await scheduler.eraser.erase(request, within=time_left())

    async def user_status(request: UserStatusRequest) -> StatusReply:
        return await counted(request.user_id, embedder=await host.embedder())

    async def status(_: StatusRequest) -> StatusReply:
        return await counted(None, embedder=await host.embedder())

    chat_actions = chat_commands.Actions(
        retrieve=host.memory().retrieve,
        forget=editor.forget,
        erase=erase,
        pin=editor.pin,
        unpin=editor.unpin,
        update=editor.update,
        settings=partial(control.settings, records=store, defaults=settings.of_a_space),
        incognito=partial(control.set_incognito, records=store, in_flight=stores.in_flight),
        conflicts=partial(conflicts.list_conflicts, store=store),
        resolve=partial(conflicts.resolve, stores=stores, say=host.bus.publish_events),
        until_heard=partial(until_heard, stores=stores),
    )

    answers: tuple[RequestHandler[Any, Any], ...] = (
        RequestHandler(flow.CREATE, create, at_once, commands.shorten_entry),
        RequestHandler(flow.SEED, partial(seeding.seed, create=create), at_once),
        RequestHandler(flow.GET, partial(commands.get, store=store), at_once, commands.shorten_entry),
        RequestHandler(
            flow.LIST,
            partial(_list_entries, stores=stores),
            at_once,
            partial(commands.shorten_list, store=store),
        ),
        RequestHandler(flow.FORGET, editor.forget, at_once),
        RequestHandler(flow.UPDATE, update, at_once, commands.shorten_entry),
        RequestHandler(flow.PIN, editor.pin, at_once, commands.shorten_entry),
        RequestHandler(flow.UNPIN, editor.unpin, at_once, commands.shorten_entry),
        RequestHandler(flow.HISTORY, editor.history, at_once, commands.shorten_items),
        RequestHandler(flow.BULK, editor.bulk, at_once),
        *_about_the_whole(stores, at_once, settings.session_silence, writer),
        *_cards(store, at_once),
        *_conflicts(stores, host.bus.publish_events, at_once),
        *_roll_ups(scheduler.roll_ups, at_once),
        RequestHandler(flow.ERASE, erase, at_once),
        RequestHandler(flow.USER_STATUS, user_status, at_once),
        RequestHandler(
            flow.COMMANDS,
            partial(chat_commands.answer, store=store, actions=chat_actions),
            at_once,
            chat_commands.shorten,
        ),
        RequestHandler(flow.STATUS, status, at_once),
        RequestHandler(flow.RECONCILE, partial(reconcile.reconcile, stores=compared), 1),
        *_control(stores, settings, scheduler),
        *_audit(store, await host.audit_trail(), at_once),
    )
    return Service("curate", answers=answers, background=(*scheduler.all, *((writer.run,) if writer else ())))


def _summary_writer(
    host: Host, settings: CurateSettings, store: TextStore, preferences: PreferenceReader
) -> SummaryWriter | None:
    """Who has summaries written; None where there is no language model for it."""
    told = telemetry.SUMMARIES_PAUSED.set
    within = settings.summary_timeout_seconds
    model = configured_model(host.settings, answer_within=within, most_tokens=_MOST_TOKENS, told=told)
    if model is None or not settings.summary_user_budget:
        return None
    host.closes(model.close)
    budget = Budget(store, of_user=settings.summary_user_budget, of_all=settings.summary_budget)
    return SummaryWriter(store, model, preferences=preferences, budget=budget)


async def _list_entries(request: ListRequest, *, stores: DataStores) -> ListReply:
    if request.settled:
        await until_heard(request.user_id, stores)
    return await commands.list_entries(request, store=stores.text)


async def _offer_to_read(host: Host, entry: Entry) -> None:
    """Have a language model read what an entry says now."""
    await offer_to_read([EntryRef(user_id=entry.user_id, id=entry.id)], host.bus, cause=f"version {entry.version}")


def _about_the_whole(
    stores: DataStores, at_once: int, silence: timedelta, writer: SummaryWriter | None
) -> Iterator[RequestHandler[Any, Any]]:
    """What answers for a user's memory as a whole."""
    store, vectors = stores.text, stores.vectors
    export, shorten = partial(overview.export, store=store), partial(overview.shorten_export, store=store)
    list_sessions = partial(sessions.list_sessions, store=store, silence=silence, writer=writer)
    propose = partial(themes_proposed.propose_themes, store=store, vectors=vectors)
    yield RequestHandler(flow.THEMES, partial(overview.list_themes, store=store), at_once)
    yield RequestHandler(flow.THEME_SAVE, partial(overview.save_theme, stores=stores), at_once)
    yield RequestHandler(flow.THEME_REMOVE, partial(overview.remove_theme, stores=stores), at_once)
    yield RequestHandler(flow.THEME_PROPOSALS, propose, at_once)
    yield RequestHandler(flow.SUMMARY, partial(overview.summarize, store=store, writer=writer), at_once)
    yield RequestHandler(flow.PROFILE, partial(profiles.profile, store=store), at_once, profiles.shorten_profile)
    yield RequestHandler(flow.DECIDE, partial(claims.decide, store=store), at_once)
    yield RequestHandler(flow.SESSIONS, list_sessions, at_once)
    yield RequestHandler(flow.EXPORT, export, at_once, shorten)


def _cards(store: TextStore, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """Who and what is around a user, and what is to be done."""
    yield RequestHandler(flow.LOOPS, partial(loops.list_loops, store=store), at_once, commands.shorten_items)
    yield RequestHandler(flow.SETTLE, partial(loops.settle, store=store), at_once)
    yield RequestHandler(flow.CARDS, partial(cards.cards, store=store), at_once, commands.shorten_items)
    yield RequestHandler(flow.NAMES, partial(cards.decide_names, store=store), at_once)


def _conflicts(stores: DataStores, say: reconcile.Say, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """What contradicts each other."""
    yield RequestHandler(flow.CONFLICTS, partial(conflicts.list_conflicts, store=stores.text), at_once)
    yield RequestHandler(flow.RESOLVE, partial(conflicts.resolve, stores=stores, say=say), at_once)


def _roll_ups(made: RollUps, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """What is old and of one topic, in a few lines."""
    yield RequestHandler(flow.ROLL_UP, partial(ageing.roll_up, made=made), at_once)
    yield RequestHandler(flow.ROLL_UPS, partial(ageing.list_roll_ups, made=made), at_once)
    yield RequestHandler(flow.ROLL_UP_UNDO, partial(ageing.undo, made=made), at_once)


def _control(stores: DataStores, settings: CurateSettings, scheduler: Scheduler) -> Iterator[RequestHandler[Any, Any]]:
    """What users decide about their memory."""

    async def space_settings(request: SettingsRequest) -> SettingsReply:
        reply = await control.settings(request, records=stores.text, defaults=settings.of_a_space)
        if control.sets_limits(request):
            scheduler.limit(request.user_id)
        return reply

    incognito = partial(control.set_incognito, records=stores.text, in_flight=stores.in_flight)
    yield RequestHandler(flow.SETTINGS, space_settings, settings.max_concurrency)
    yield RequestHandler(flow.INCOGNITO_START, incognito, settings.max_concurrency)
    yield RequestHandler(flow.INCOGNITO_END, incognito, settings.max_concurrency)


def _audit(store: TextStore, trail: AuditTrail, at_once: int) -> Iterator[RequestHandler[Any, Any]]:
    """What was done."""
    read, shorten = partial(audit.audit, records=store), partial(audit.shorten_audit, records=store)
    yield RequestHandler(flow.USER_AUDIT, read, at_once, shorten)
    yield RequestHandler(flow.AUDIT, read, at_once, shorten)
    yield RequestHandler(flow.AUDIT_NOTE, partial(audit.note, trail=trail), at_once)
