"""Control: what users decide about their memory, answered once every replica honours it. Stores and bus are ports."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.ports import Conversation, InFlight, Record, RecordKey, UserRecords
from contracts.v1.control import (
    EVERY_SPACE,
    LIMITS,
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
    SpaceSettings,
)
from services.shared.changes import change_record
from services.shared.erasures import kept_key
from services.shared.preferences import SETTLES, Mark, Marks, OwnSettings, PreferenceReader, decisions, limits_mark


async def set_incognito(
    request: IncognitoStartRequest | IncognitoEndRequest, *, records: UserRecords, in_flight: InFlight
) -> IncognitoReply:
    """Begin or end incognito in a conversation: every turn after the last one that the bus holds now is judged by it.

    Raises:
        Unavailable: store or bus do not answer; it may or may not hold.
    """
    now = datetime.now(UTC)
    mark = Mark(
        after=await in_flight.last(),
        incognito=isinstance(request, IncognitoStartRequest),
        at=now,
        until=now + timedelta(hours=request.hours),
    )

    def with_mark(held: Record | None) -> Record:
        marks = Marks.model_validate(held.body if held else {}).with_one(mark)
        lasts_until = max(one.until for one in marks.marks)
        body = marks.model_dump(mode="json")
        return Record(request.user_id, "incognito", request.conversation_id, body, at=lasts_until)

    await change_record(records, RecordKey(request.user_id, "incognito", request.conversation_id), with_mark)
    await asyncio.sleep(SETTLES)
    return IncognitoReply(
        conversation_id=request.conversation_id,
        incognito=mark.incognito,
        until=mark.until,
    )


async def settings(request: SettingsRequest, *, records: UserRecords, defaults: SpaceSettings) -> SettingsReply:
    """The settings of a space, changed as asked; after a change once every replica honours it.

    Raises:
        Unavailable: the store does not answer; the change may or may not hold.
    """
    change = request.change.model_dump(exclude_none=True) if request.change else {}
    key = RecordKey(request.user_id, "settings", request.space)
    if change or request.reset:
        await _change(key, change, request.reset, records)
        await asyncio.sleep(SETTLES)
    chat = request.conversation_id and Conversation(request.user_id, request.space, request.conversation_id)
    own = OwnSettings((await decisions(records, {key, key._replace(name=EVERY_SPACE)})).values())
    return SettingsReply(
        space=request.space,
        settings=own.of(request.space, defaults),
        own=own.alone(request.space),
        refuses=(await PreferenceReader(records).of([chat]))[chat].refuse() if chat else None,
    )


async def _change(key: RecordKey, change: Mapping[str, Any], reset: Collection[str], records: UserRecords) -> None:
    """Change a decision; one of before an erase is the user's own again, and changed with it."""
    kept = (await records.get_records([kept_key(key)])).get(kept_key(key))

    def changed(held: Record | None) -> Record:
        before = {**(kept.body if kept else {}), **(held.body if held else {})}
        body = {name: value for name, value in before.items() if name not in reset}
        return Record(*key, {**body, **change}, at=datetime.now(UTC))

    if (mark := limits_mark(Record(*key, change, at=datetime.now(UTC)))) is not None:
        await records.add_records([mark])
    await change_record(records, key, changed)
    if kept is not None:
        await records.remove_records(kept.user_id, kept.kind, [kept.name])


def sets_limits(request: SettingsRequest) -> bool:
    """Whether it changes how much is kept, or for how long."""
    changed = {*(request.change.model_fields_set if request.change else ()), *request.reset}
    return not changed.isdisjoint(LIMITS)


async def expire_incognito(*, records: UserRecords, in_flight: InFlight) -> int:
    """Remove what was decided about conversations and is over, also for the oldest turn that waits on the bus."""
    now = datetime.now(UTC)
    return await records.expire_records("incognito", before=min(now, await in_flight.oldest() or now))
