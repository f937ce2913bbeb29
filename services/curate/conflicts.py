"""Conflicts: listed as questions, and resolved as the user decides. Stores and bus are ports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from contracts.ports import Key, Record, Scope, TextStore
from contracts.v1.conflicts import (
    Conflict,
    ConflictsReply,
    ConflictsRequest,
    ResolveReply,
    ResolveRequest,
    Statement,
)
from contracts.v1.entries import Entry, EntryAccepted
from contracts.v1.turns import EVERY_PERSONA
from services.curate.commands import entry_meant
from services.curate.stores import Stores, asked_for
from services.shared.changes import change_entries, change_record
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.knowledge.changes import effect, outdated_by
from services.shared.lifecycle.lineage import (
    changed_in_part_by,
    conflict_key,
    restored,
    superseded_if_active,
    superseded_in_part,
)

_Now = Literal["over", "beside", "at odds"]
"""What a statement that holds is to the other one."""

_LONGEST_TEXT = 500  # characters
_PAGE = 50


async def list_conflicts(request: ConflictsRequest, *, store: TextStore) -> ConflictsReply:
    """The conflicts of a user of which both statements are still in use, and nothing is decided.

    Raises:
        Rejected: the cursor is not one of ours.
    """
    if await is_hidden(store, request.user_id):
        return ConflictsReply(items=())
    items: list[Conflict] = []
    cursor = request.cursor
    while True:
        room = min(_PAGE, request.limit - len(items))
        page = await asked_for(store.page_records("conflict", user_id=request.user_id, limit=room, cursor=cursor))
        open_ = [record for record in page.records if _is_open(record, request.space)]
        items += await _shown(request, open_, store)
        cursor = page.cursor
        if cursor is None or len(items) >= request.limit:
            return ConflictsReply(items=tuple(items), next_cursor=cursor)


def _is_open(record: Record, space: str | None) -> bool:
    return not record.body.get("kept") and space in (None, record.body["space"])


async def _shown(request: ConflictsRequest, records: list[Record], store: TextStore) -> list[Conflict]:
    ids = {id_ for record in records for id_ in (record.body["newer"], record.body["older"])}
    entries = await store.get([Key(request.user_id, id_) for id_ in sorted(ids)])
    persona = EVERY_PERSONA if request.persona_id is None else request.persona_id
    told = [one for one in entries.values() if Scope(one.user_id, one.space, persona).sees(one)]
    in_use = {entry.id: entry for entry in told if entry.status == "active"}
    pairs = [(in_use.get(record.body["newer"]), in_use.get(record.body["older"])) for record in records]
    return [_conflict(newer, older) for newer, older in pairs if newer is not None and older is not None]


def _conflict(newer: Entry, older: Entry) -> Conflict:
    one, other = _statement(newer), _statement(older)
    question = f"On {one.said_at:%d %B %Y} you said “{one.text}”, before that “{other.text}”. Which one is true now?"
    return Conflict(space=newer.space, newer=one, older=other, question=question)


def _statement(entry: Entry) -> Statement:
    return Statement(id=entry.id, text=entry.text[:_LONGEST_TEXT], said_at=entry.last_said_at, status=entry.status)


async def resolve(request: ResolveRequest, *, stores: Stores) -> ResolveReply:
    """Keep what the user decides. Broken off, the same request completes it.

    Raises:
        Rejected: there is no conflict between these entries, and the newer one did not supersede the older one; or
            several begin as an id does that was given.
    """
    newer, older = await _pair(request, stores.text)
    await _decide(request, newer, older, stores.text)
    holds = {"new": (newer,), "old": (older,)}.get(request.keep, (newer, older))
    now: _Now = "at odds" if request.keep == "open" else "beside" if len(holds) > 1 else "over"
    for one, other in ((newer, older), (older, newer)):
        if one in holds:
            await _keep(one, other, stores, now)
    for one, other in ((newer, older), (older, newer)):
        if one not in holds:
            await _put_away(one, other, stores)
    read = await stores.text.get([newer, older])
    sides = [_statement(read[entry.id]) for entry in (newer, older)]
    return ResolveReply(newer=sides[0], older=sides[1])


async def _pair(request: ResolveRequest, store: TextStore) -> tuple[Entry, Entry]:
    newer, older = [await entry_meant(request.user_id, id_, store) for id_ in (request.newer, request.older)]
    key = conflict_key(newer, older.id)
    if older.superseded_by != newer.id and key not in await store.get_records([key]):
        raise Rejected("not_found", f"there is no conflict between {newer.id} and {older.id}")
    return newer, older


async def _decide(request: ResolveRequest, newer: Entry, older: Entry, store: TextStore) -> None:
    """Note it first: the rules leave alone what the user decided."""
    kept = {} if request.keep == "open" else {"kept": request.keep}
    body = {"space": newer.space, "newer": newer.id, "older": older.id, **kept}
    key = conflict_key(newer, older.id)
    record = Record(request.user_id, "conflict", key.name, body, datetime.now(UTC))
    await change_record(store, key, lambda held: None if held is not None and held.body == body else record)


async def _keep(one: Entry, other: Entry, stores: Stores, now: _Now) -> None:
    """Have an entry in use, in place of the other one, beside it, or as what it cannot be true with; found by its
    meaning again once it is embedded."""

    def kept(entry: Entry) -> Entry | None:
        new = restored(entry) if entry.superseded_by == other.id else entry
        without: dict[str, Any] = {
            "supersedes": tuple(id_ for id_ in entry.supersedes if id_ != other.id),
            "conflicts_with": tuple(id_ for id_ in entry.conflicts_with if id_ != other.id),
        }
        if now != "beside":
            field = "supersedes" if now == "over" else "conflicts_with"
            without[field] = (*without[field], other.id)
        new = new.model_copy(update=without)
        return new if new != entry else None

    (changed,) = await change_entries(stores.text, [one], kept) or [one]
    if changed.status == "active" and changed.embedding_state == "pending":
        await stores.tell(EntryAccepted, [changed], cause=f"version {changed.version}")


async def _put_away(one: Entry, other: Entry, stores: Stores) -> None:
    """Have an entry out of use; where the other one says which part of it has ended, that part alone."""
    (changed,) = await change_entries(stores.text, [one], lambda entry: _without_what(entry, other)) or [one]
    if changed.status != "active":
        await stores.remove_vectors([one.id])


def _without_what(entry: Entry, by: Entry) -> Entry | None:
    """An entry in use without what another one changes, which it is in conflict with no more."""
    changes = [change for change in by.changes if change.entry_id == entry.id]
    if changed_in_part_by(entry) != by.id and effect(entry, changes) != "in part":
        return superseded_if_active(entry, by)
    new = superseded_in_part(entry, by, outdated_by(entry, changes)) or entry
    new = new.model_copy(update={"conflicts_with": tuple(id_ for id_ in new.conflicts_with if id_ != by.id)})
    return new if new != entry else None
