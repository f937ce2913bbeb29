"""A user's memory as a whole: a summary, an export page by page. The store is a port."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from contracts.ports import Overview, Place, TextStore
from contracts.v1.overview import ExportReply, ExportRequest, SummaryReply, SummaryRequest
from services.curate import sessions
from services.curate.summary_writer import SummaryWriter
from services.shared.commands import archive, transfer
from services.shared.commands.archive import Tally
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.lifecycle.fitting import how_many_fit, size_of

_NAMED = 3
_CURSOR = 2000
"""Bytes that a cursor may take."""


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
                return ExportReply(lines=tuple(lines), next_cursor=cursor)
    lines.append(_text(archive.End(end=tally)))
    return ExportReply(lines=tuple(lines))


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
