"""Control: what users decide about their memory, answered once every replica honours it. Stores and bus are ports."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from contracts.ports import InFlight, Record, RecordKey, UserRecords
from contracts.v1.control import (
    EVERY_SPACE,
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
    SpaceSettings,
)
from services.shared.changes import change_record
from services.shared.preferences import SETTLES, Mark, Marks, OwnSettings


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
        correlation_id=request.correlation_id,
    )


async def settings(request: SettingsRequest, *, records: UserRecords, defaults: SpaceSettings) -> SettingsReply:
    """The settings of a space, changed as asked; after a change once every replica honours it.

    Raises:
        Unavailable: the store does not answer; the change may or may not hold.
    """
    change = request.change.model_dump(exclude_none=True) if request.change else {}

    def changed(held: Record | None) -> Record:
        before = {name: value for name, value in (held.body if held else {}).items() if name not in request.reset}
        return Record(request.user_id, "settings", request.space, {**before, **change}, at=datetime.now(UTC))

    if change or request.reset:
        await change_record(records, RecordKey(request.user_id, "settings", request.space), changed)
        await asyncio.sleep(SETTLES)
    own = OwnSettings(await records.records(request.user_id, "settings", {EVERY_SPACE, request.space}))
    return SettingsReply(
        space=request.space,
        settings=own.of(request.space, defaults),
        own=own.alone(request.space),
        correlation_id=request.correlation_id,
    )


async def expire_incognito(*, records: UserRecords, in_flight: InFlight) -> int:
    """Remove what was decided about conversations and is over, also for the oldest turn that waits on the bus."""
    now = datetime.now(UTC)
    return await records.expire_records("incognito", before=min(now, await in_flight.oldest() or now))
