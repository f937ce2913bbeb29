"""What users decided about their memory, as every replica must honour it within a second.

A decision is a record of the text store. Readers keep one for `FRESH` seconds; a decision is answered after `SETTLES`,
when no reader can have an older one. From the answer on every turn that is published is judged by it.

That nothing is to be kept outlives an erase, under hashes: nobody is remembered again because they had themselves
erased.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from contracts.envelope import Message, Moment
from contracts.ports import Conversation, Privacy, Record, RecordKey, Unavailable, UserRecords
from contracts.v1.control import EVERY_SPACE, LIMITS, SettingName, SpaceSettings
from contracts.v1.entries import Entry
from services.shared.cache import Cache
from services.shared.erasures import is_hidden, kept_key, passed_seconds

FRESH = 0.4
SETTLES = 0.5
NOTES = "notes"
"""The conversation of what is saved on purpose, outside of any chat."""

_KNOWN = 20_000
_PATIENCE = 0.5
"""Seconds that a reader who may lag waits for the store; then what was known last holds until the next reader asks."""

_MOST_MARKS = 100
_CLOCKS_DIFFER = timedelta(minutes=5)
_NOW = sys.maxsize

_OUTLIVES: dict[SettingName, bool] = {"memory_enabled": False, "incognito_default": True}
"""Settings that stay when all else of their user is erased."""

Reason = Literal["incognito", "disabled"]
"""Why nothing is kept or answered: the conversation is incognito, or the memory of its space is off."""


class Mark(Message):
    """From a turn of the stream on, the last one when it was set, a conversation is incognito, or is not."""

    after: int
    incognito: bool
    at: Moment
    until: Moment


class Marks(Message):
    """The body of a conversation's record: its marks, the oldest first.

    Turns that waited on the bus meanwhile are judged by the mark that held when they were published.
    """

    marks: tuple[Mark, ...] = ()

    def with_one(self, mark: Mark) -> Marks:
        """These and a new one."""
        return Marks(marks=(*self.marks, mark)[-_MOST_MARKS:])

    def holds(self, number: int, at: datetime, *, default: bool) -> bool:
        """Whether the conversation was incognito for the turn of this number, which the bus took at this time."""
        for mark in reversed(self.marks):
            # A bus that was made anew counts from 1 again: then the time tells.
            if number > mark.after or at > mark.at + _CLOCKS_DIFFER:
                return mark.incognito if at < mark.until else default
        return default


@dataclass(frozen=True, slots=True)
class Preferences:
    """What holds in one conversation of a user."""

    settings: SpaceSettings
    marks: Marks
    is_chat: bool = True

    def refuse(self, number: int = _NOW, at: datetime | None = None, *, by_default: bool = True) -> Reason | None:
        """Why the turn of this number may not be kept; without a number, why nothing may be answered now."""
        default = by_default and self.is_chat and bool(self.settings.incognito_default)
        if self.marks.holds(number, at or datetime.now(UTC), default=default):
            return "incognito"
        return "disabled" if self.settings.memory_enabled is False else None


class OwnSettings:
    """The settings of one user: of all their spaces, and of some alone."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_space = {record.name: _settings(record) for record in records}

    def of(self, space: str, defaults: SpaceSettings) -> SpaceSettings:
        """What holds in a space."""
        own = (self._by_space.get(name, SpaceSettings()) for name in (EVERY_SPACE, space))
        return merged([defaults, *own])

    def alone(self, space: str) -> SpaceSettings:
        """What was decided for this space alone."""
        return self._by_space.get(space, SpaceSettings())

    def decides(self, *names: SettingName) -> bool:
        """Whether any of these is decided for any space."""
        return any(getattr(one, name) is not None for one in self._by_space.values() for name in names)


class PreferenceReader:
    """The preferences of users, each record read at most every `FRESH` seconds."""

    def __init__(self, records: UserRecords) -> None:
        self._records = records
        self._known: Cache[RecordKey, tuple[float, Record | None]] = Cache(_KNOWN)

    async def of(self, places: Collection[Conversation], *, may_lag: bool = False) -> dict[Conversation, Preferences]:
        """What holds in these conversations; one without an id is none, and only the settings of its space hold.

        With `may_lag`, while the store is away, as it was known last; what was never known is not decided.

        Raises:
            Unavailable: the store is away.
        """
        keys = {place: _keys_of(place) for place in places}
        found = await self._read({key for some in keys.values() for key in some}, may_lag)
        return {place: _preferences(place, [found[key] for key in some]) for place, some in keys.items()}

    async def anything_private(self, user_id: str, number: int, at: datetime) -> bool:
        """Whether a turn of this user that names no conversation may be one that nobody may keep."""
        for owner in (user_id, kept_key(RecordKey(user_id, "settings", EVERY_SPACE)).user_id):
            settings = map(_settings, await self._records.records(owner, "settings"))
            if any(one.memory_enabled is False or one.incognito_default for one in settings):
                return True
            marks = await self._records.records(owner, "incognito")
            if any(_marks(record).holds(number, at, default=False) for record in marks):
                return True
        return False

    async def _read(self, keys: Collection[RecordKey], may_lag: bool) -> Mapping[RecordKey, Record | None]:
        now = passed_seconds()
        held = {key: known for key in keys if (known := self._known.get(key)) is not None}
        stale = [key for key in keys if key not in held or now - held[key][0] >= FRESH]
        fresh = {key: record for key, (_, record) in held.items()}
        if not stale:
            return fresh
        try:
            async with asyncio.timeout(_PATIENCE if may_lag else None):
                found = await decisions(self._records, stale)
        except (Unavailable, TimeoutError):
            if not may_lag:
                raise
            found = {key: record for key in stale if (record := fresh.get(key)) is not None}
        for key in stale:
            fresh[key] = found.get(key)
            self._known.put(key, (now, fresh[key]))
        return fresh


async def is_private(entries: Sequence[Entry], preferences: PreferenceReader, store: Privacy) -> bool:
    """Whether the user of these entries does not want them kept by now, or is being erased: no model may read them.

    Raises:
        Unavailable: the store is away.
    """
    places = {Conversation(one.user_id, one.space, one.conversation_id or "") for one in entries}
    wanted = await preferences.of(places)
    is_refused = any(wanted[place].refuse() is not None for place in places)
    return is_refused or await is_hidden(store, entries[0].user_id)


async def decisions(records: UserRecords, keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
    """These decisions, each with what stayed of it when its user was erased.

    Raises:
        Unavailable: the store is away.
    """
    found = await records.get_records([*keys, *map(kept_key, keys)])
    both = {key: _together(key, found.get(kept_key(key)), found.get(key)) for key in keys}
    return {key: record for key, record in both.items() if record is not None}


def _together(key: RecordKey, kept: Record | None, own: Record | None) -> Record | None:
    if kept is None or own is None:
        return own or (kept and Record(*key, kept.body, kept.at))
    if key.kind == "incognito":
        return Record(*key, Marks(marks=(*_marks(kept).marks, *_marks(own).marks)).model_dump(mode="json"), own.at)
    return Record(*key, {**kept.body, **own.body}, own.at)


def outliving(decision: Record) -> Record | None:
    """What stays of a decision when its user is erased: that nothing is to be kept."""
    body = decision.body
    if decision.kind == "settings":
        body = {name: value for name, value in _OUTLIVES.items() if body.get(name) is value}
    return Record(*kept_key(decision.key), body, decision.at) if body else None


def limits_mark(settings: Record) -> Record | None:
    """What is kept beside settings that limit how much is kept: curate finds them without reading everybody's."""
    if settings.kind != "settings" or all(settings.body.get(name) is None for name in LIMITS):
        return None
    return Record(settings.user_id, "limits", settings.name, {}, settings.at)


def merged(layers: Sequence[SpaceSettings]) -> SpaceSettings:
    """One after the other, what a later one leaves undecided is as in those before it."""
    decided: dict[str, object] = {}
    for layer in (one for one in layers if one.model_fields_set):
        decided |= layer.model_dump(exclude_none=True)
    return SpaceSettings.model_validate(decided)


def _keys_of(place: Conversation) -> list[RecordKey]:
    spaces = [RecordKey(place.user_id, "settings", name) for name in (EVERY_SPACE, place.space)]
    if not place.conversation_id:
        return spaces
    return [*spaces, RecordKey(place.user_id, "incognito", place.conversation_id)]


def _preferences(place: Conversation, records: Sequence[Record | None]) -> Preferences:
    settings = OwnSettings(filter(None, records[:2])).of(place.space, SpaceSettings())
    marks = next((_marks(record) for record in records[2:] if record is not None), Marks())
    return Preferences(settings, marks, is_chat=bool(place.conversation_id))


def _settings(record: Record) -> SpaceSettings:
    return SpaceSettings.model_validate(record.body)


def _marks(record: Record) -> Marks:
    return Marks.model_validate(record.body)
