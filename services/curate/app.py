"""curate: answers commands, keeps the stores in order, and sets stuck work going again.

memory.v1.entries.<verb>.<user> ◄──► curate
memory.v1.memory.<verb>.<user>  ◄──►
memory.v1.ops.<verb>            ◄──►
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec

from contracts import flow
from contracts.flow import Answer, Q, R
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
    commands,
    conflicts,
    control,
    loops,
    overview,
    profile,
    reconcile,
    sessions,
    themes,
)
from services.curate.edits import Editor
from services.curate.privacy import until_heard
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.curate.stores import Stores
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

A = ParamSpec("A")
Handlers = Iterator[RequestHandler[Any, Any]]


async def build(host: Host) -> Service:
    """Wire the commands, and the work in the background."""
    settings = CurateSettings()
    stores = Stores(await host.text_store(), await host.vector_store(), NatsInFlight(host.bus), host.bus.publish_events)
    scheduler, preferences = Scheduler(host, settings, stores), PreferenceReader(stores.text)
    wants_reading = partial(_offer_to_read, host) if host.settings.extract_url is not None else None
    editor = Editor(stores, scheduler.finishing, settings.refuse_for, host.settings.max_text_bytes, wants_reading)
    writer = _summary_writer(host, settings, stores.text, preferences)
    commands_ = _Commands(host, settings, stores, scheduler, preferences, editor, writer)
    answers = (*commands_.about_entries(), *commands_.about_the_whole(), *commands_.about_control())
    answers += (*commands_.about_upkeep(await host.audit_trail()), commands_.said_in_a_chat(answers))
    return Service("curate", answers=answers, background=(*scheduler.all, *((writer.run,) if writer else ())))


@dataclass(frozen=True, slots=True)
class _Commands:
    """What answers each request, and who else hears of it."""

    host: Host
    settings: CurateSettings
    stores: Stores
    scheduler: Scheduler
    preferences: PreferenceReader
    editor: Editor
    writer: SummaryWriter | None

    def on(
        self,
        answer: Answer[Q, R],
        handle: Callable[[Q], Awaitable[R]],
        shorten: Callable[[Q, R, int], Awaitable[R]] | None = None,
    ) -> RequestHandler[Q, R]:
        shortened = None if shorten is None else _named(shorten)
        return RequestHandler(answer, _named(handle), self.settings.max_concurrency, shortened)

    def about_entries(self) -> Handlers:
        store, editor = self.stores.text, self.editor
        yield self.on(flow.CREATE, self.create, commands.shorten_entry)
        yield self.on(flow.SEED, partial(profile.seed, create=self.create))
        yield self.on(flow.GET, partial(commands.get, store=store), commands.shorten_entry)
        yield self.on(flow.LIST, self.list_entries, partial(commands.shorten_list, store=store))
        yield self.on(flow.FORGET, editor.forget)
        yield self.on(flow.UPDATE, self.update, commands.shorten_entry)
        yield self.on(flow.PIN, editor.pin, commands.shorten_entry)
        yield self.on(flow.UNPIN, editor.unpin, commands.shorten_entry)
        yield self.on(flow.HISTORY, editor.history, commands.shorten_items)
        yield self.on(flow.BULK, editor.bulk)
        yield self.on(flow.CONFLICTS, partial(conflicts.list_conflicts, store=store))
        yield self.on(flow.RESOLVE, partial(conflicts.resolve, stores=self.stores))

    def about_the_whole(self) -> Handlers:
        store, writer, silence = self.stores.text, self.writer, self.settings.session_silence
        list_sessions = partial(sessions.list_sessions, store=store, silence=silence, writer=writer)
        yield self.on(flow.THEMES, partial(themes.list_themes, store=store))
        yield self.on(flow.THEME_SAVE, partial(themes.save_theme, stores=self.stores))
        yield self.on(flow.THEME_REMOVE, partial(themes.remove_theme, stores=self.stores))
        yield self.on(flow.THEME_PROPOSALS, partial(themes.propose_themes, stores=self.stores))
        yield self.on(flow.SUMMARY, partial(overview.summarize, store=store, writer=writer))
        yield self.on(flow.SESSIONS, list_sessions)
        yield self.on(flow.PROFILE, partial(profile.profile, store=store), profile.shorten_profile)
        yield self.on(flow.DECIDE, partial(profile.decide, store=store))
        yield self.on(flow.CARDS, partial(cards.cards, store=store), commands.shorten_items)
        yield self.on(flow.NAMES, partial(cards.decide_names, store=store))
        yield self.on(flow.LOOPS, partial(loops.list_loops, store=store), commands.shorten_items)
        yield self.on(flow.SETTLE, partial(loops.settle, store=store))
        yield self.on(flow.EXPORT, partial(overview.export, store=store), partial(overview.shorten_export, store=store))

    def about_control(self) -> Handlers:
        made = self.scheduler.roll_ups
        incognito = partial(control.set_incognito, records=self.stores.text, in_flight=self.stores.in_flight)
        yield self.on(flow.SETTINGS, self.space_settings)
        yield self.on(flow.INCOGNITO_START, incognito)
        yield self.on(flow.INCOGNITO_END, incognito)
        yield self.on(flow.ERASE, self.erase)
        yield self.on(flow.ROLL_UP, partial(ageing.roll_up, made=made))
        yield self.on(flow.ROLL_UPS, partial(ageing.list_roll_ups, made=made))
        yield self.on(flow.ROLL_UP_UNDO, partial(ageing.undo, made=made))

    def about_upkeep(self, trail: AuditTrail) -> Handlers:
        store = self.stores.text
        read = partial(audit.audit, records=store)
        shorten = partial(commands.shorten_page, ask=read)
        yield self.on(flow.USER_STATUS, self.status)
        yield self.on(flow.STATUS, self.status)
        yield self.on(flow.USER_AUDIT, read, shorten)
        yield self.on(flow.AUDIT, read, shorten)
        yield self.on(flow.AUDIT_NOTE, partial(audit.note, trail=trail))
        yield RequestHandler(flow.RECONCILE, _named(partial(reconcile.reconcile, stores=self.stores)), 1)

    def said_in_a_chat(self, answers: Iterable[RequestHandler[Any, Any]]) -> RequestHandler[Any, Any]:
        asked: dict[Answer[Any, Any], Callable[[Any], Awaitable[Any]]] = {one.answer: one.handle for one in answers}
        asked |= {flow.RETRIEVE: self.host.memory().retrieve, flow.UPDATE: self.editor.update}

        async def ask(answer: Answer[Q, R], request: Q) -> R:
            reply: R = await asked[answer](request)
            return reply

        heard = partial(until_heard, stores=self.stores)
        said = partial(chat_commands.answer, store=self.stores.text, ask=ask, until_heard=heard)
        return self.on(flow.COMMANDS, said, chat_commands.shorten)

    async def create(self, request: CreateRequest) -> EntryReply:
        store, longest = self.stores.text, self.host.settings.max_text_bytes
        preferences = self.preferences
        reply = await commands.create(
            request, store=store, publisher=self.host.bus, preferences=preferences, longest=longest
        )
        return await self.once_embedded(reply)

    async def update(self, request: UpdateRequest) -> EntryReply:
        return await self.once_embedded(await self.editor.update(request))

    async def once_embedded(self, reply: EntryReply) -> EntryReply:
        within = min(commands.MOST_EMBEDDING, time_left() / 2)
        if self.stores.vectors is None:
            return reply
        return await commands.once_embedded(reply, store=self.stores.text, within=within)

    async def list_entries(self, request: ListRequest) -> ListReply:
        if request.settled:
            await until_heard(request.user_id, self.stores)
        return await commands.list_entries(request, store=self.stores.text)

    async def erase(self, request: EraseRequest) -> EraseReply:
        if self.writer is not None:
            self.writer.forget(request.user_id)
        return await self.scheduler.eraser.erase(request, within=time_left())

    async def space_settings(self, request: SettingsRequest) -> SettingsReply:
        defaults = self.settings.of_a_space
        reply = await control.settings(request, records=self.stores.text, defaults=defaults)
        if control.sets_limits(request):
            self.scheduler.limit(request.user_id)
        return reply

    async def status(self, request: StatusRequest | UserStatusRequest) -> StatusReply:
        user_id = request.user_id if isinstance(request, UserStatusRequest) else None
        enriches, embedder = self.host.settings.ner != "none", await self.host.embedder()
        return await commands.status(user_id, stores=self.stores, enriches=enriches, embedder=embedder)


def _named(handle: Callable[Concatenate[Q, A], Awaitable[R]]) -> Callable[Concatenate[Q, A], Awaitable[R]]:
    """The same, with replies that name the request which they answer."""

    async def handled(request: Q, /, *args: A.args, **more: A.kwargs) -> R:
        reply = await handle(request, *args, **more)
        return reply.model_copy(update={"correlation_id": getattr(request, "correlation_id", None)})

    return handled


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


async def _offer_to_read(host: Host, entry: Entry) -> None:
    """Have a language model read what an entry says now."""
    await offer_to_read([EntryRef(user_id=entry.user_id, id=entry.id)], host.bus, cause=f"version {entry.version}")
