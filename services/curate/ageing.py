"""What is old is rolled up by topic: on request, and by itself where somebody wants it. Stores are ports.

One process at a time looks through a space: it takes the record of that space first, until a moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from contracts.ports import Key, Record, RecordKey, Selection, TextStore, Vector
from contracts.v1.entries import Entry
from contracts.v1.rollups import (
    RollUp,
    RollUpReply,
    RollUpRequest,
    RollUpsReply,
    RollUpsRequest,
    RollUpUndoReply,
    RollUpUndoRequest,
)
from contracts.v1.sessions import Extract
from services.curate.commands import whole_id
from services.curate.rollups import RollUps, made_at, state_of
from services.curate.stores import Pause, asked_for, at_once, entries_in, pause_after, timed
from services.shared.changes import change_record
from services.shared.context import clusters
from services.shared.context.rollups import Draft, drafts, may_age, may_be_rolled_up, voices
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected

_READ = 1000
"""Entries that are compared with each other at most, the oldest of those that may go."""

_AT_ONCE = 20
"""Roll-ups that one look makes: what is left then comes with the next."""

_WORKING = timedelta(minutes=10)
"""For so long a process has a space to itself, unless it is done before."""


class Ages(NamedTuple):
    """After how many days something is rolled up, and how many later its originals lose their words; 0: never."""

    roll_up_after: float = 0
    originals_kept: float = 0


async def roll_up(request: RollUpRequest, *, made: RollUps, now: datetime | None = None) -> RollUpReply:
    """Roll up what is said of a topic, or show what would be.

    Raises:
        Rejected: all of the user is being erased.
        Unavailable: a store does not answer; what was begun is completed later.
    """
    user_id, at = request.user_id, now or datetime.now(UTC)
    if await is_hidden(made.stores.text, user_id):
        return RollUpReply(items=())
    found = await _asked_for(request, made, at)
    wanted, left = found[: request.limit], max(0, len(found) - request.limit)
    items = [_previewed(one) for one in wanted] if request.preview else await _made(wanted, made)
    return RollUpReply(items=tuple(items), left=left)


async def _made(wanted: Iterable[Draft], made: RollUps) -> list[RollUp]:
    entries = [entry for one in wanted if (entry := await made.make(one)) is not None]
    keys = {one.id: RecordKey(one.user_id, "rollup", one.id) for one in entries}
    records = await made.stores.text.get_records(list(keys.values()))
    return [_shown(one, records[keys[one.id]]) for one in entries if keys[one.id] in records]


async def _asked_for(request: RollUpRequest, made: RollUps, now: datetime) -> list[Draft]:
    before = now - timedelta(days=request.older_than_days) if request.older_than_days else None
    if request.topic is None and request.theme is None:
        return await topics(request.user_id, request.space, before or now, made=made)
    selection = Selection(request.user_id, request.space, words=request.topic, theme=request.theme)
    entries = await _oldest(selection, made.stores.text, lambda one: may_be_rolled_up(one, before))
    return await asyncio.to_thread(_by_voice, entries)


def _by_voice(entries: Iterable[Entry]) -> list[Draft]:
    return [one for said in voices(entries).values() for one in drafts(said)]


async def topics(
    user_id: str, space: str, before: datetime, *, made: RollUps, but: Collection[str] = (), pause: Pause = at_once
) -> list[Draft]:
    """The topics of what was last used before a moment, without the entries `but`; none where there are no vectors."""

    def may_go(entry: Entry) -> bool:
        return may_age(entry, before) and entry.embedding_state == "ready" and entry.id not in but

    entries = await _oldest(Selection(user_id, space), made.stores.text, may_go, pause)
    vectors = await made.stores.vectors_of(entries)
    known = [one for one in entries if one.id in vectors]
    return await asyncio.to_thread(_of_topics, known, vectors)


def _of_topics(entries: Sequence[Entry], vectors: dict[str, Vector]) -> list[Draft]:
    said = voices(entries).values()
    found = [topic for its in said for topic in clusters.topics_of(its, [vectors[one.id] for one in its])]
    return [one for topic in found for one in drafts(topic.entries)]


async def _oldest(
    selection: Selection, store: TextStore, may_go: Callable[[Entry], bool], pause: Pause = at_once
) -> list[Entry]:
    """The oldest entries that may go."""
    found: deque[Entry] = deque(maxlen=_READ)
    async for entries in entries_in(selection, store, pause):
        found.extend(filter(may_go, entries))
    return list(found)


async def list_roll_ups(request: RollUpsRequest, *, made: RollUps) -> RollUpsReply:
    """The roll-ups of a user, those made last first.

    Raises:
        Rejected: the cursor is not one of ours.
    """
    store = made.stores.text
    if await is_hidden(store, request.user_id):
        return RollUpsReply(items=())
    read = store.page_records("rollup", user_id=request.user_id, limit=request.limit, cursor=request.cursor)
    page = await asked_for(read)
    records = [one for one in page.records if request.space in (None, one.body["space"])]
    entries = await store.get([Key(request.user_id, one.name) for one in records])
    items = tuple(_shown(entries[one.name], one) for one in records if one.name in entries)
    return RollUpsReply(items=items, next_cursor=page.cursor)


async def undo(request: RollUpUndoRequest, *, made: RollUps) -> RollUpUndoReply:
    """Take back a roll-up.

    Raises:
        Rejected: there is none of this id, or the words of its originals are gone.
    """
    id_ = await whole_id(request.user_id, request.id, made.stores.text)
    if await is_hidden(made.stores.text, request.user_id):
        raise Rejected("not_found", f"there is no roll-up {request.id!r}")
    restored = await made.undo(request.user_id, id_)
    return RollUpUndoReply(id=id_, restored=restored)


def _shown(entry: Entry, record: Record) -> RollUp:
    """A roll-up as it is recorded, with what its entry says; of one that is gone that is nothing."""
    lines = zip(entry.text.split("\n"), entry.line_sources, strict=False)
    return RollUp(
        id=record.name,
        space=record.body["space"],
        state=state_of(record) or "done",
        at=made_at(record),
        sentences=tuple(_extract(line, ids, entry) for line, ids in lines),
        source_ids=tuple(record.body["sources"]),
    )


def _extract(line: str, ids: tuple[str, ...], entry: Entry) -> Extract:
    return Extract(text=line, source_ids=ids, role=entry.role, said_at=entry.created_at)


def _previewed(draft: Draft) -> RollUp:
    first = draft.entries[0]
    sentences = tuple(Extract(**asdict(one)) for one in draft.sentences)
    ids = tuple(one.id for one in draft.entries)
    return RollUp(space=first.space, state="preview", sentences=sentences, source_ids=ids)


async def age(
    user_id: str,
    space: str,
    ages: Ages,
    *,
    made: RollUps,
    every: timedelta,
    now: datetime | None = None,
    pause: Pause = pause_after,
) -> int:
    """Roll up what is old in a space by topic, and empty originals whose time is over; how many of both.

    It does nothing while another process does, and when it was done with the same `ages` less than `every` ago.
    """
    at = now or datetime.now(UTC)
    key = RecordKey(user_id, "ageing", space)
    if not (ages.roll_up_after or ages.originals_kept) or not await _take(key, ages, at, made.stores.text):
        return 0
    done = await _empty(user_id, space, ages, made, at)
    found: list[Draft] = []
    if ages.roll_up_after:
        before = at - timedelta(days=ages.roll_up_after)
        but = await _taken_back(user_id, made.stores.text)
        found = await topics(user_id, space, before, made=made, but=but, pause=pause)
        for one in found[:_AT_ONCE]:
            done += await timed(made.make(one), pause) is not None
    next_at = at if len(found) > _AT_ONCE else at + every
    looked = _look(key, ages, next_at, working=False)
    await change_record(made.stores.text, key, lambda held: looked if held is not None else None)
    return done


async def _empty(user_id: str, space: str, ages: Ages, made: RollUps, now: datetime) -> int:
    if not ages.originals_kept:
        return 0
    before = now - timedelta(days=ages.originals_kept)
    records = await made.stores.text.records(user_id, "rollup")
    old = [one for one in records if state_of(one) == "done" and one.body["space"] == space and made_at(one) < before]
    for one in old:
        await made.empty(one.key)
    return len(old)


async def _taken_back(user_id: str, store: TextStore) -> set[str]:
    """What the user did not want to be rolled up."""
    records = await store.records(user_id, "rollup")
    return {id_ for one in records if state_of(one) == "undone" for id_ in one.body["sources"]}


async def _take(key: RecordKey, ages: Ages, now: datetime, store: TextStore) -> bool:
    """Have a space to oneself for a while; False where another process has it, or nothing is to be done yet."""
    held = (await store.get_records([key])).get(key)
    is_early = held is not None and datetime.fromisoformat(held.body["until"]) > now
    if held is not None and is_early and (held.body["working"] or held.body["ages"] == [*ages]):
        return False
    return await store.put_record(_look(key, ages, now + _WORKING, working=True), held=held.version if held else None)


def _look(key: RecordKey, ages: Ages, until: datetime, *, working: bool) -> Record:
    """What says that a space is looked through, or was, and that this is not to be done again until a moment."""
    return Record(*key, {"until": until.isoformat(), "working": working, "ages": [*ages]}, datetime.now(UTC))
