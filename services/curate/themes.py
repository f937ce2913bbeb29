"""Themes: listed, described, taken away, and proposed from topics of entries that are filed under none. Ports only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from contracts.ports import Conversation, Key, Record, RecordKey, Selection, TextStore
from contracts.v1.control import EVERY_SPACE
from contracts.v1.entries import Entry
from contracts.v1.overview import (
    Theme,
    ThemeProposal,
    ThemeProposalsReply,
    ThemeProposalsRequest,
    ThemeRemoveReply,
    ThemeRemoveRequest,
    ThemeReply,
    ThemeSaveRequest,
    ThemesReply,
    ThemesRequest,
)
from services.curate.sessions import read_newest
from services.curate.stores import Stores
from services.shared.changes import change_entries, change_record
from services.shared.context.clusters import Topic, topics_of
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.lifecycle.editing import Edit, edited
from services.shared.preferences import PreferenceReader
from services.shared.tasks import apart

_PAGE = 200
_READ = 1000
"""Entries that are compared with each other at most, those said last."""

_IDS, _EXAMPLES, _LONGEST = 200, 3, 120


async def list_themes(request: ThemesRequest, *, store: TextStore) -> ThemesReply:
    """The themes that are described, and those that entries are filed under."""
    if await is_hidden(store, request.user_id):
        return ThemesReply(items=())
    counts = (await store.overview(request.user_id, request.space, request.persona_id)).themes
    described = {record.name: record for record in await store.records(request.user_id, "theme")}
    themes = [_theme(slug, described.get(slug), counts) for slug in {*described, *counts}]
    items = tuple(sorted(themes, key=lambda theme: (-theme.count, theme.slug)))
    return ThemesReply(items=items)


def _theme(slug: str, record: Record | None, counts: Mapping[str, int]) -> Theme:
    body = record.body if record else {"display_name": slug}
    return Theme(slug=slug, count=counts.get(slug, 0), **body)


async def save_theme(request: ThemeSaveRequest, *, stores: Stores) -> ThemeReply:
    """Describe a theme, and file entries under it; of those that are not there any more nothing is said.

    Raises:
        Rejected: memory is off wherever the user has any.
        Unavailable: others keep describing it, or the user is being erased.
    """
    store = stores.text
    if await is_off(request.user_id, store):
        raise Rejected("refused", "memory is off: turn it on with memory.settings, then save the theme again")
    body = {"display_name": request.display_name, "description": request.description}
    new = Record(request.user_id, "theme", request.slug, body, datetime.now(UTC))
    key = RecordKey(request.user_id, "theme", request.slug)
    record = await change_record(store, key, lambda held: None if held is not None and held.body == body else new)
    if request.ids and not await is_hidden(store, request.user_id):
        entries = await store.get([Key(request.user_id, id_) for id_ in dict.fromkeys(request.ids)])
        await _filed(entries.values(), stores, lambda themes: (*themes, request.slug))
    counts = (await store.overview(request.user_id)).themes
    return ThemeReply(theme=_theme(request.slug, record, counts))


async def is_off(user_id: str, store: TextStore) -> bool:
    """Whether memory is off in every space where a user has or decided anything, and in the default one.

    Raises:
        Unavailable: the store is away.
    """
    used = {one.space for one in await store.spaces(user_id)}
    decided = {record.name for record in await store.records(user_id, "settings")} - {EVERY_SPACE}
    places = [Conversation(user_id, space, "") for space in {"default", *used, *decided}]
    return all(one.refuse() for one in (await PreferenceReader(store).of(places)).values())


async def remove_theme(request: ThemeRemoveRequest, *, stores: Stores) -> ThemeRemoveReply:
    """Take a theme off its entries, and then its description. Broken off, the same request completes it.

    Raises:
        Rejected: the user has no such theme.
    """
    if await is_hidden(stores.text, request.user_id):
        raise _no_theme(request.slug)
    entries, selection = 0, Selection(request.user_id, theme=request.slug)
    while found := (await stores.text.page(selection, limit=_PAGE, cursor=None)).entries:
        entries += len(await _filed(found, stores, lambda themes: (one for one in themes if one != request.slug)))
    described = await stores.text.remove_records(request.user_id, "theme", [request.slug])
    if not entries and not described:
        raise _no_theme(request.slug)
    return ThemeRemoveReply(slug=request.slug, entries=entries)


async def _filed(
    entries: Iterable[Entry], stores: Stores, under: Callable[[tuple[str, ...]], Iterable[str]]
) -> list[Entry]:
    def changed(entry: Entry) -> Entry | None:
        themes = tuple(dict.fromkeys(under(entry.themes)))
        if entry.status != "active" or themes == entry.themes:
            return None
        return edited(entry, Edit(themes=themes), datetime.now(UTC))

    done = await change_entries(stores.text, entries, changed)
    await stores.refresh_vectors(done)
    return done


def _no_theme(slug: str) -> Rejected:
    return Rejected("not_found", f"there is no theme {slug!r}")


async def propose_themes(request: ThemeProposalsRequest, *, stores: Stores) -> ThemeProposalsReply:
    """The topics of a space that might be themes; none where there are no vectors.

    Raises:
        Unavailable: the vector store does not answer.
    """
    entries, _ = await read_newest(Selection(request.user_id, space=request.space), stores.text, _READ)
    unfiled = [one for one in entries if one.embedding_state == "ready" and one.role == "user" and not one.themes]
    held = await stores.vectors_of(unfiled)
    known = [entry for entry in unfiled if entry.id in held]
    topics = await apart(topics_of, known, [held[entry.id] for entry in known])
    once = {topic.slug: topic for topic in reversed(topics)}
    items = [_proposal(topic) for topic in topics if once[topic.slug] is topic]
    return ThemeProposalsReply(items=tuple(items[: request.limit]))


def _proposal(topic: Topic) -> ThemeProposal:
    return ThemeProposal(
        slug=topic.slug[:64],
        display_name=", ".join(topic.words).capitalize(),
        count=len(topic.entries),
        ids=tuple(entry.id for entry in topic.entries[:_IDS]),
        examples=tuple(entry.text[:_LONGEST] for entry in topic.entries[:_EXAMPLES]),
    )
