"""Changing entries and records of the text store, again with what others have stored meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from contracts.errors import Unavailable
from contracts.ports import Change, EntryStore, Record, RecordKey, UserRecords
from contracts.v1.entries import Entry
from services.shared.backoff import backoff_seconds

T = TypeVar("T")

_ATTEMPTS = 100
_LONGEST_PAUSE = 0.05  # seconds


async def change_entries(
    store: EntryStore, entries: Iterable[Entry], change: Callable[[Entry], Entry | None]
) -> list[Entry]:
    """Replace each entry by `change(entry)` unless that is None; the ones replaced, in the order given.

    What was changed by others meanwhile is read again, and so is changed as it is then; what is gone is left out.

    Raises:
        Unavailable: others keep changing the same entries, or the store cannot be written now.
    """
    given = {entry.id: entry for entry in entries}
    replaced, conflicts = dict[str, Entry](), set[str]()

    async def changed() -> list[Entry] | None:
        nonlocal conflicts
        left = await store.get([given[id_] for id_ in conflicts]) if conflicts else given
        changes = [Change(entry, new) for entry in left.values() if (new := change(entry)) is not None]
        conflicts = await store.replace(changes) if changes else set()
        replaced.update((one.new.id, one.new) for one in changes if one.new.id not in conflicts)
        return None if conflicts else [replaced[id_] for id_ in given if id_ in replaced]

    return await until_done(changed, "entries")


async def change_record(
    records: UserRecords, key: RecordKey, change: Callable[[Record | None], Record | None]
) -> Record | None:
    """Store the changed record in place of what is there, unless that is None; the one that is stored then.

    Raises:
        Unavailable: others keep changing it, or the store is away.
    """

    async def changed() -> tuple[Record | None] | None:
        held = (await records.get_records([key])).get(key)
        new = change(held)
        if new is None or await records.put_record(new, held=held.version if held else None):
            return (new or held,)
        return None

    (stored,) = await until_done(changed, "record")
    return stored


async def until_done(step: Callable[[], Awaitable[T | None]], what: str) -> T:
    """What a step gives once nobody comes between.

    Raises:
        Unavailable: others keep changing what it is about.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        if (done := await step()) is not None:
            return done
        await asyncio.sleep(backoff_seconds(attempt, longest=_LONGEST_PAUSE, first=0.005))
    raise Unavailable(f"others keep changing the same {what}: try again")
