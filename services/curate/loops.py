"""To-dos: read off the claims of entries; what the user decides is a record that goes with its entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from contracts.ports import Key, Selection, TextStore
from contracts.v1.entries import Entry
from contracts.v1.loops import LoopsReply, LoopsRequest, OpenLoop, SettleReply, SettleRequest, State
from contracts.v1.turns import EVERY_PERSONA
from services.curate.sessions import read_newest
from services.shared.decided import keep_settled, settled_of
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.knowledge.tasks import Task, closed_by, tasks_of
from services.shared.tasks import apart
from services.shared.told import as_told, read_told

_READ = 2000
"""Entries that are read at most, those said last."""


class Whose(NamedTuple):
    """The space and the persona in which something is to be done."""

    space: str
    persona_id: str | None


async def list_loops(request: LoopsRequest, *, store: TextStore, now: datetime | None = None) -> LoopsReply:
    """What is to be done, and what became of it."""
    persona = None if request.persona_id == EVERY_PERSONA else request.persona_id
    selection = Selection(request.user_id, space=request.space, persona_id=persona)
    entries, left_out = await read_newest(selection, store, _READ)
    entries = await _with_done(await read_told(entries, store), store)
    settled = await settled_of(request.user_id, store)
    today = (request.now or now or datetime.now(UTC)).date()
    found = await apart(_found, entries, settled, today)
    wanted = sorted((one for one in found if request.state in ("all", one.state)), key=_order)
    return LoopsReply(
        items=tuple(wanted[: request.limit]),
        total_count=len(wanted),
        left_out=left_out,
    )


async def _with_done(entries: Sequence[Entry], store: TextStore) -> list[Entry]:
    """These entries, with those that went out of use when what they said was to be done was done."""
    known = {entry.id for entry in entries}
    keys = [Key(user_id, id_) for user_id, id_ in closed_by(entries) if id_ not in known]
    found = await store.get(keys) if keys else {}
    return [*entries, *(one for one in found.values() if one.status == "superseded" and one.superseded_by in known)]


def _found(entries: Iterable[Entry], settled: Mapping[str, State], today: date) -> list[OpenLoop]:
    """What is to be done for each persona: what others are told closes it where it was said to none."""
    of: dict[Whose, list[Entry]] = {}
    for entry in entries:
        of.setdefault(Whose(entry.space, entry.persona_id), []).append(entry)
    found: list[OpenLoop] = []
    for whose, own in of.items():
        heard = own if whose.persona_id is None else [*own, *of.get(Whose(whose.space, None), [])]
        ids = {entry.id for entry in own}
        found += [_shown(one, whose, today) for one in tasks_of(heard, settled) if one.entry.id in ids]
    return found


def _shown(task: Task, whose: Whose, today: date) -> OpenLoop:
    due = task.due_on
    return OpenLoop(
        id=task.id,
        text=task.text,
        state=task.state,
        said_at=task.entry.last_said_at,
        due_on=due,
        overdue=task.is_open and due is not None and due < today,
        decided=task.decided,
        closed_by=task.closed_by.id if task.closed_by else None,
        entry_id=task.entry.id,
        conversation_id=task.entry.conversation_id,
        persona_id=whose.persona_id,
        space=whose.space,
    )


def _order(one: OpenLoop) -> tuple[bool, date, float, str]:
    return one.state != "open", one.due_on or date.max, -one.said_at.timestamp(), one.id


async def settle(request: SettleRequest, *, store: TextStore, now: datetime | None = None) -> SettleReply:
    """Keep what the user says became of something that was to be done.

    Raises:
        Rejected: there is no such thing to be done.
        Unavailable: others keep deciding it, or the user is being erased.
    """
    entry_id, _, sentence = request.id.rpartition(":")
    told = await _telling(Key(request.user_id, entry_id), store)
    if await is_hidden(store, request.user_id) or request.id not in {one.id for one in tasks_of(told)}:
        raise Rejected("not_found", f"there is nothing to be done of the id {request.id!r}: list them")
    entry, known = told[0], {one.id for one in told}
    await keep_settled(entry, sentence, request.state, store)
    selection = Selection(entry.user_id, space=entry.space, persona_id=entry.persona_id)
    entries, _ = await read_newest(selection, store, _READ)
    others = [one for one in await read_told(entries, store) if one.id not in known]
    found = _found([*others, *told], await settled_of(entry.user_id, store), (now or datetime.now(UTC)).date())
    loop = next(one for one in found if one.id == request.id)
    state = {} if request.state is None else {"state": request.state, "decided": True, "closed_by": None}
    return SettleReply(loop=loop.model_copy(update=state))


async def _telling(key: Key, store: TextStore) -> list[Entry]:
    """The entry, as it is in use or is told by a roll-up that is; one that went out of use when what it says was done
    as it was in use, with what closed it. Nothing where it tells nothing now."""
    told = await _told([key], store)
    if not told or told[0].status != "superseded" or told[0].superseded_by is None:
        return [one for one in told if one.status == "active"]
    by = await _told([Key(key.user_id, told[0].superseded_by)], store)
    return [told[0].model_copy(update={"status": "active"}), *by] if key in closed_by(by) else []


async def _told(keys: Sequence[Key], store: TextStore) -> list[Entry]:
    return [await as_told(one, store) for one in (await store.get(keys)).values()]
