"""A user's memory as a whole: themes, a summary, an export page by page. Stores are ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from contracts.ports import Conversation, Key, Overview, Place, Record, RecordKey, Selection, TextStore
from contracts.v1.control import EVERY_SPACE
from contracts.v1.entries import Entry
from contracts.v1.overview import (
    ExportReply,
    ExportRequest,
    SummaryReply,
    SummaryRequest,
    Theme,
    ThemeRemoveReply,
    ThemeRemoveRequest,
    ThemeReply,
    ThemeSaveRequest,
    ThemesReply,
    ThemesRequest,
)
from services.curate import sessions
from services.curate.privacy import DataStores
from services.curate.summary_writer import SummaryWriter
from services.shared.changes import change_entries, change_record
from services.shared.commands import archive, transfer
from services.shared.commands.archive import Tally
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.fitting import how_many_fit, size_of
from services.shared.preferences import PreferenceReader

_PAGE = 200
_NAMED = 3
_CURSOR = 2000
"""Bytes that a cursor may take."""


async def list_themes(request: ThemesRequest, *, store: TextStore) -> ThemesReply:
    """The themes that are described, and those that entries are filed under."""
    if await is_hidden(store, request.user_id):
        return ThemesReply(items=(), correlation_id=request.correlation_id)
    counts = (await store.overview(request.user_id, request.space, request.persona_id)).themes
    described = {record.name: record for record in await store.records(request.user_id, "theme")}
    themes = [_theme(slug, described.get(slug), counts) for slug in {*described, *counts}]
    items = tuple(sorted(themes, key=lambda theme: (-theme.count, theme.slug)))
    return ThemesReply(items=items, correlation_id=request.correlation_id)


def _theme(slug: str, record: Record | None, counts: Mapping[str, int]) -> Theme:
    body = record.body if record else {"display_name": slug}
    return Theme(slug=slug, count=counts.get(slug, 0), **body)


async def save_theme(request: ThemeSaveRequest, *, stores: DataStores) -> ThemeReply:
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
        await _filed(tuple(entries.values()), stores, lambda themes: (*themes, request.slug))
    counts = (await store.overview(request.user_id)).themes
    return ThemeReply(theme=_theme(request.slug, record, counts), correlation_id=request.correlation_id)


async def is_off(user_id: str, store: TextStore) -> bool:
    """Whether memory is off in every space where a user has or decided anything, and in the default one.

    Raises:
        Unavailable: the store is away.
    """
    used = {one.space for one in await store.spaces(user_id)}
    decided = {record.name for record in await store.records(user_id, "settings")} - {EVERY_SPACE}
    places = [Conversation(user_id, space, "") for space in {"default", *used, *decided}]
    return all(one.refuse() for one in (await PreferenceReader(store).of(places)).values())


async def remove_theme(request: ThemeRemoveRequest, *, stores: DataStores) -> ThemeRemoveReply:
    """Take a theme off its entries, and then its description. Broken off, the same request completes it.

    Raises:
        Rejected: the user has no such theme.
    """
    if await is_hidden(stores.text, request.user_id):
        raise _no_theme(request.slug)
    entries, selection = 0, Selection(request.user_id, theme=request.slug)
    while found := (await stores.text.page(selection, limit=_PAGE, cursor=None)).entries:
        entries += len(await _take_off(request.slug, found, stores))
    described = await stores.text.remove_records(request.user_id, "theme", [request.slug])
    if not entries and not described:
        raise _no_theme(request.slug)
    return ThemeRemoveReply(slug=request.slug, entries=entries, correlation_id=request.correlation_id)


async def _take_off(slug: str, entries: tuple[Entry, ...], stores: DataStores) -> list[Entry]:
    return await _filed(entries, stores, lambda themes: tuple(theme for theme in themes if theme != slug))


async def _filed(
    entries: tuple[Entry, ...], stores: DataStores, under: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> list[Entry]:
    def changed(entry: Entry) -> Entry | None:
        themes = tuple(dict.fromkeys(under(entry.themes)))
        if entry.status != "active" or themes == entry.themes:
            return None
        return edited(entry, Edit(themes=themes), datetime.now(UTC))

    done = await change_entries(stores.text, entries, changed)
    if stores.vectors is not None:
        await stores.vectors.refresh([entry for entry in done if entry.embedding_state == "ready"])
    return done


def _no_theme(slug: str) -> Rejected:
    return Rejected("not_found", f"there is no theme {slug!r}")


async def summarize(request: SummaryRequest, *, store: TextStore, writer: SummaryWriter | None = None) -> SummaryReply:
    """What there is in a space, in numbers and words."""
    hidden = await is_hidden(store, request.user_id)
    persona = request.persona_id or ""
    found = Overview() if hidden else await store.overview(request.user_id, request.space, persona)
    names = {record.name: record.body["display_name"] for record in await store.records(request.user_id, "theme")}
    return SummaryReply(
        text=describe(found, request.space, names),
        entries=found.entries,
        pinned=found.pinned,
        manually_saved=found.manually_saved,
        types=_most_first(found.types),
        themes=_most_first(found.themes),
        states=_most_first(found.states),
        latest=found.latest,
        spine=await sessions.spine(request.user_id, request.space, persona, store=store, writer=writer),
        correlation_id=request.correlation_id,
    )


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def describe(found: Overview, space: str | None, names: Mapping[str, str]) -> str:
    """An overview in a few sentences; themes are called by their names."""
    where = "" if space is None else f" in the space “{space}”"
    if not found.entries:
        return f"Nothing is remembered{where}."
    kinds = [_plural(count, kind) for kind, count in _most_first(found.types).items()]
    sentences = [f"{_plural(found.entries, 'memory')}{where}: {_listed(kinds)}."]
    if kept := [f"{n} {how}" for n, how in ((found.pinned, "pinned"), (found.manually_saved, "saved")) if n]:
        sentences.append(f"{_listed(kept).capitalize()}.")
    if found.themes:
        themes = list(_most_first(found.themes).items())
        named = [f"{names.get(slug, slug)} ({count})" for slug, count in themes[:_NAMED]]
        more = [f"{len(themes) - _NAMED} more"] if len(themes) > _NAMED else []
        sentences.append(f"Themes: {_listed([*named, *more])}.")
    if found.latest is not None:
        sentences.append(f"The latest is of {found.latest:%d %B %Y}.".replace("of 0", "of "))
    if waiting := found.entries - found.states.get("ready", 0):
        sentences.append(f"{waiting} found by words alone so far.")
    return " ".join(sentences)


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    ending = noun.removesuffix("y") + "ies" if noun.endswith(("ry",)) else f"{noun}s"
    return f"{count:,} {ending}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


class _LeftOff(BaseModel, frozen=True):
    """Where a page of an export ended, and what was counted up to there."""

    section: transfer.Section = "entries"
    place: tuple[datetime, str, str] | None = None
    tally: Tally = Tally()


async def export(request: ExportRequest, *, store: TextStore) -> ExportReply:
    """The next lines of an export of the user.

    Raises:
        Rejected: the cursor is not one of ours.
    """
    left_off = _left_off(request.cursor)
    lines = [_text(archive.Header(user=request.user_id))] if request.cursor is None else []
    tally, place = left_off.tally, Place(*left_off.place) if left_off.place else None
    if not await is_hidden(store, request.user_id):
        found = transfer.lines_of(store, request.user_id, left_off.section, place, together=request.limit)
        async for line in found:
            lines.append(_text(line))
            tally = tally.plus(line)
            if len(lines) >= request.limit:
                cursor = _cursor(line, tally)
                return ExportReply(lines=tuple(lines), next_cursor=cursor, correlation_id=request.correlation_id)
    lines.append(_text(archive.End(end=tally)))
    return ExportReply(lines=tuple(lines), correlation_id=request.correlation_id)


def _text(line: archive.Line) -> str:
    return archive.encode(line).decode().rstrip("\n")


def _cursor(line: archive.Said, tally: Tally) -> str:
    section, place = transfer.section_of(line)
    return _LeftOff(section=section, place=place, tally=tally).model_dump_json()


def _left_off(cursor: str | None) -> _LeftOff:
    try:
        return _LeftOff.model_validate_json(cursor) if cursor is not None else _LeftOff()
    except ValidationError as error:
        raise Rejected("invalid_request", "cursor: not one of an export: use that of the page before") from error


async def shorten_export(request: ExportRequest, reply: ExportReply, room: int, *, store: TextStore) -> ExportReply:
    """As many of the lines as fit into so many bytes.

    Raises:
        Rejected: not even one does.
    """
    room -= size_of(reply.model_copy(update={"lines": ()})) + _CURSOR
    fitting = how_many_fit([len(to_json(line)) for line in reply.lines], room)
    if not fitting:
        raise Rejected("invalid_request", "a line is longer than the bus takes: use `memorybus export`")
    return await export(request.model_copy(update={"limit": fitting}), store=store)
