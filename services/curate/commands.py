"""Commands: create, get and list entries, count what is stored. Stores and bus are ports."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import uuid4, uuid5

from contracts.envelope import NAMESPACE, Request
from contracts.errors import TextRefused, Unavailable
from contracts.flow import Q
from contracts.ports import Conversation, Embedder, Key, Outcome, Selection, TextStore, TurnPublisher, VectorStore
from contracts.v1.audit import AuditReply
from contracts.v1.cards import CardsReply
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    GetRequest,
    ListReply,
    ListRequest,
    StatusReply,
)
from contracts.v1.edits import HistoryReply
from contracts.v1.entries import Entry
from contracts.v1.loops import LoopsReply
from contracts.v1.turns import EVERY_PERSONA, NO_PERSONA, Turn, entry_id
from services.curate.stores import Stores, asked_for
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.language.text import why_unfit
from services.shared.lifecycle.fitting import cut, how_many_fit, size_of
from services.shared.preferences import NOTES, PreferenceReader

Items = TypeVar("Items", CardsReply, HistoryReply, LoopsReply)
Pages = TypeVar("Pages", AuditReply, ListReply)

_LOOK_EVERY = 0.005
_DECIDING = 10.0
MOST_EMBEDDING = 0.5
"""Seconds that an answer waits until its entry is found by its meaning."""

_COUNTING = 1.0
_EMBEDDING = 3.0
_OFF = {
    "disabled": "memory is off in this space: turn it on with memory.settings, then save it again",
    "incognito": "the conversation 'notes', where it would be kept, is incognito, as all are by default if you say so: "
    "end that with memory.incognito-end, then save it again",
}
_BEGINNING = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,27}")
_SHORTEST = 8
"""Of an id: eight characters, as the context block shows them, or more."""

_NAMED = 5
_OF_THE_PAGE = {"q", "limit", "cursor", "settled", "correlation_id"}
_CURSOR = 1500
"""Bytes that a cursor may take: it may name a user and a record."""


async def create(
    request: CreateRequest,
    *,
    store: TextStore,
    publisher: TurnPublisher,
    preferences: PreferenceReader,
    longest: int,
) -> EntryReply:
    """Publish the text as a turn of its own and wait until dedupe has decided: there is one way into memory.

    Raises:
        Rejected: the text is blank or too long, the persona cannot be, memory is off, or it was refused.
        Unavailable: it was not decided within 10 s.
    """
    turn = turn_of(request, longest)
    notes = Conversation(turn.user_id, turn.space, NOTES)
    if (why := (await preferences.of([notes]))[notes].refuse()) is not None:
        raise Rejected("refused", _OFF[why])
    await publisher.publish_turn(turn)
    entry = await _wait_for_entry(Key(turn.user_id, entry_id(turn.user_id, turn.space, turn.turn_id or "")), store)
    return EntryReply(entry=shown(entry))


def turn_of(request: CreateRequest, longest: int) -> Turn:
    """The turn that a create request becomes."""
    if why := why_unfit(request.text, longest):
        raise Rejected("invalid_request", why)
    if request.persona_id == EVERY_PERSONA:
        raise Rejected("invalid_request", NO_PERSONA)
    said = {"role": "user", "conversation_id": NOTES, "created_at": datetime.now(UTC), "turn_id": _turn_id(request)}
    return Turn.model_validate({**request.model_dump(), **said})


def _turn_id(request: CreateRequest) -> str:
    """With a correlation id the same request sent again is the same turn; without one every request is its own."""
    if request.correlation_id is None:
        return str(uuid4())
    return str(uuid5(NAMESPACE, f"create\x1f{request.model_dump_json(exclude_defaults=True)}"))


async def _wait_for_entry(proposal: Key, store: TextStore) -> Entry:
    """Look until the proposal is decided, within the caller's deadline and not for ever."""
    try:
        async with asyncio.timeout(_DECIDING):
            outcome = await _outcome(proposal, store)
    except TimeoutError as error:
        raise Unavailable("it waits behind others, and will be remembered when its turn has come") from error
    if outcome.entry_id is None:
        raise Rejected("refused", outcome.reason or "the entry was refused")
    return (await store.get([Key(proposal.user_id, outcome.entry_id)]))[outcome.entry_id]


async def _outcome(proposal: Key, store: TextStore) -> Outcome:
    while True:
        record = (await store.pending([proposal])).get(proposal.id)
        if record is not None and record.outcome is not None:
            return record.outcome
        await asyncio.sleep(_LOOK_EVERY)


async def once_embedded(reply: EntryReply, *, store: TextStore, within: float) -> EntryReply:
    """The reply with its entry once that is found by its meaning, or as it is by then: embed may be busy or away."""
    entry = reply.entry
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            while entry.status == "active" and entry.embedding_state == "pending":
                await asyncio.sleep(_LOOK_EVERY)
                entry = (await store.get([Key(entry.user_id, entry.id)])).get(entry.id, entry)
    return reply.model_copy(update={"entry": shown(entry)})


def no_entry(id_: str) -> Rejected:
    """The error that says that the user has no entry of this id."""
    hint = "" if len(id_) >= _SHORTEST else f": give at least the first {_SHORTEST} characters of its id"
    return Rejected("not_found", f"there is no entry {id_!r}{hint}")


async def whole_id(user_id: str, id_: str, store: TextStore) -> str:
    """The id of the entry that is meant: as it is, or the only one of the user's that begins so.

    Raises:
        Rejected: several begin so; the message names them.
    """
    if not _BEGINNING.fullmatch(id_):
        return id_
    found = await store.ids_beginning(user_id, id_, limit=_NAMED + 1)
    if len(found) > 1:
        some = ", ".join(found[:_NAMED]) + (" and more" if len(found) > _NAMED else "")
        raise Rejected("conflict", f"several entries begin with {id_!r}: {some}; give more of the id")
    return found[0] if found else id_


async def entry_meant(user_id: str, given: str, store: TextStore) -> Entry:
    """The entry of the user that is meant by its id or a beginning of it.

    Raises:
        Rejected: there is none of this id; another user's entry is none, and who is being erased has none.
    """
    if await is_hidden(store, user_id):
        raise no_entry(given)
    id_ = await whole_id(user_id, given, store)
    entry = (await store.get([Key(user_id, id_)])).get(id_)
    if entry is None or entry.status == "forgotten":
        raise no_entry(given)
    return entry


def shown(entry: Entry) -> Entry:
    """The entry as replies have it: what it said before is told by its history alone."""
    return entry.model_copy(update={"revisions": ()}) if entry.revisions else entry


async def get(request: GetRequest, *, store: TextStore) -> EntryReply:
    """One entry of the user; see `entry_meant`."""
    return EntryReply(entry=shown(await entry_meant(request.user_id, request.id, store)))


async def list_entries(request: ListRequest, *, store: TextStore) -> ListReply:
    """One page of the user's entries, those said last first.

    Raises:
        Rejected: the cursor is not one of ours, or inactive entries are looked for by words.
    """
    if request.q is not None and request.status != "active":
        raise Rejected("invalid_request", "q: only active entries can be looked for by their words")
    if await is_hidden(store, request.user_id):
        return ListReply(items=(), next_cursor=None, total_count=0)
    selection = Selection(words=request.q, **request.model_dump(exclude=_OF_THE_PAGE))
    page = await asked_for(store.page(selection, limit=request.limit, cursor=request.cursor))
    return ListReply(items=tuple(map(shown, page.entries)), next_cursor=page.cursor, total_count=page.total)


async def shorten_page(request: Q, reply: Pages, room: int, *, ask: Callable[[Q], Awaitable[Pages]]) -> Pages:
    """The page with as many items as fit into so many bytes, one at least."""
    fitting = how_many_fit([size_of(one) for one in reply.items], _room_for_items(reply, room))
    return await ask(request.model_copy(update={"limit": max(1, fitting)}))


async def shorten_list(request: ListRequest, reply: ListReply, room: int, *, store: TextStore) -> ListReply:
    """The page with as many entries as fit into so many bytes; of one that does not fit alone, a part."""
    shorter = await shorten_page(request, reply, room, ask=partial(list_entries, store=store))
    if len(shorter.items) != 1 or size_of(shorter) <= room:
        return shorter
    (entry,) = shorter.items
    return shorter.model_copy(update={"items": (cut(entry, _room_for_items(shorter, room)),), "truncated": True})


def _room_for_items(reply: Pages, room: int) -> int:
    return room - size_of(reply.model_copy(update={"items": ()})) - _CURSOR


async def shorten_items(request: Request, reply: Items, room: int) -> Items:
    """The reply with as many of its items, from the first on, as fit into so many bytes."""
    room -= size_of(reply.model_copy(update={"items": (), "truncated": True}))
    items = reply.items[: how_many_fit([size_of(item) for item in reply.items], room)]
    return reply.model_copy(update={"items": items, "truncated": True})


async def shorten_entry(request: Request, reply: EntryReply, room: int) -> EntryReply:
    """The entry in so many bytes: its texts and lists are not whole."""
    entry = cut(reply.entry, room - size_of(reply) + size_of(reply.entry))
    return reply.model_copy(update={"entry": entry, "truncated": True})


async def status(
    user_id: str | None, *, stores: Stores, enriches: bool, embedder: Embedder | None = None
) -> StatusReply:
    """Count turns, entries and vectors, of one user or of all. Work that this profile never does is not pending.

    While anything waits for its vector the model is asked for one, as nobody else here may have noticed that it is
    away.
    """
    counts = await stores.text.counts(user_id)
    found, degraded = await _vectors(stores.vectors, user_id)
    unenriched = counts.unenriched if enriches else 0
    unembedded = counts.unembedded if stores.vectors is not None else 0
    if unembedded and embedder is not None and not degraded:
        degraded = await _missing_model(embedder)
    return StatusReply(
        turns=counts.turns,
        entries=counts.entries,
        inactive=counts.inactive,
        merged=counts.merged,
        refused=counts.refused,
        vectors=found,
        pending=counts.undecided + unenriched + unembedded,
        unembeddable=counts.unembeddable,
        degraded=degraded,
    )


async def _missing_model(embedder: Embedder) -> tuple[str, ...]:
    try:
        async with asyncio.timeout(_EMBEDDING):
            await embedder.embed(["Is anybody there?"])
    except (Unavailable, TimeoutError):
        return ("semantic",)
    except TextRefused:
        pass
    return ()


async def _vectors(vectors: VectorStore | None, user_id: str | None) -> tuple[int, tuple[str, ...]]:
    """How many vectors there are; a store that is away is named instead of raising."""
    try:
        async with asyncio.timeout(_COUNTING):
            return (await vectors.count(user_id) if vectors is not None else 0), ()
    except (Unavailable, TimeoutError):
        return 0, ("semantic",)
