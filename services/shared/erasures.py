"""The rules of erasing: what is shown meanwhile, that nothing is logged behind it, and what is left to tell of it."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime
from hashlib import blake2b

from contracts.ports import Privacy, Record, RecordKey, UserRecords
from contracts.v1.audit import Action

SETTLING = 0.3
"""Seconds that an erasure leaves between its mark and the look at the text store that must find nothing."""

LANDS_WITHIN = 0.2
"""Seconds after a look for marks within which what is logged is surely there when an erasure looks for it."""

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def passed_seconds() -> float:
    """Seconds since some moment, also those in which this process was paused or its machine suspended."""
    return time.clock_gettime(_CLOCK)


async def is_hidden(store: Privacy, user_id: str) -> bool:
    """Whether everything stored of a user is about to be erased. Ask before reading: it may be gone afterwards.

    Raises:
        Unavailable: the store does not answer.
    """
    return any(not mark.cleared for mark in await store.erasures([user_id]))


def erased_key(user_id: str) -> RecordKey:
    """The record that says that a user was erased, under a hash: nothing else of them stays."""
    return RecordKey(_hashed(user_id), "action", "erased")


def kept_key(key: RecordKey) -> RecordKey:
    """Where a decision of a user stays when they are erased: under hashes of the user and of what it is about."""
    return RecordKey(_hashed(key.user_id), key.kind, _hashed(f"{key.user_id}\x1f{key.name}"))


def _hashed(words: str) -> str:
    return "#" + blake2b(words.encode(), digest_size=16).hexdigest()


async def erased_at(records: UserRecords, users: Collection[str]) -> dict[str, datetime]:
    """When each of the users was erased last; who never was is missing.

    Raises:
        Unavailable: the store does not answer.
    """
    found = await records.get_records([erased_key(user) for user in users])
    return {user: found[erased_key(user)].at for user in users if erased_key(user) in found}


def erased_record(user_id: str, at: datetime) -> Record:
    """The record of an erasure."""
    key = erased_key(user_id)
    body = Action(at=at, user_id=key.user_id, verb="memory.erase").model_dump(mode="json", exclude_defaults=True)
    return Record(key.user_id, key.kind, key.name, body, at)
