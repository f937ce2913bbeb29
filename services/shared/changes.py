"""Changing entries and records of the text store, again with what others have stored meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from contracts.errors import Unavailable
from contracts.ports import Change, EntryStore, Record, RecordKey, UserRecords
from contracts.v1.entries import Entry
from services.shared.backoff import backoff_seconds

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
    left = {entry.id: entry for entry in entries}
    order, replaced = list(left), dict[str, Entry]()
    for attempt in range(1, _ATTEMPTS + 1):
        changes = [Change(entry, new) for entry in left.values() if (new := change(entry)) is not None]
        conflicts = await store.replace(changes) if changes else set()
        replaced |= {change.new.id: change.new for change in changes if change.new.id not in conflicts}
        if not conflicts:
            return [replaced[id_] for id_ in order if id_ in replaced]
        await asyncio.sleep(backoff_seconds(attempt, longest=_LONGEST_PAUSE, first=0.005))
        left = await store.get([left[id_] for id_ in conflicts])
    raise Unavailable("others keep changing the same entries: try again")


async def change_record(
    records: UserRecords, key: RecordKey, change: Callable[[Record | None], Record | None]
) -> Record | None:
    """Store the changed record in place of what is there, unless that is None; the one that is stored then.

    Raises:
        Unavailable: others keep changing it, or the store is away.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        held = (await records.get_records([key])).get(key)
        new = change(held)
        if new is None:
            return held
        if await records.put_record(new, held=held.version if held else None):
            return new
        await asyncio.sleep(backoff_seconds(attempt, longest=_LONGEST_PAUSE, first=0.005))
    raise Unavailable("others keep changing the same record: try again")
