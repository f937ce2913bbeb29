"""What is read for facts and for what is to be done: of what was rolled up, the originals. The store is a port."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import EntryStore, Key
from contracts.v1.entries import Entry
from services.shared.context.rollups import sources_told, told_by


async def as_told(entry: Entry, store: EntryStore) -> Entry:
    """The entry as it is read: one that a roll-up in use stands for as it was in use itself."""
    if entry.rolled_up_into is None or entry.status == "active":
        return entry
    rollups = await store.get([Key(entry.user_id, entry.rolled_up_into)])
    told = await read_told([one for one in rollups.values() if one.status == "active"], store)
    return next((one for one in told if one.id == entry.id), entry)


async def read_told(entries: Sequence[Entry], store: EntryStore) -> list[Entry]:
    """These entries, with what was rolled up in place of its roll-ups; see `rollups.told_by`."""
    keys = [Key(user_id, id_) for user_id, id_ in sources_told(entries)]
    return told_by(entries, await store.get(keys)) if keys else list(entries)
