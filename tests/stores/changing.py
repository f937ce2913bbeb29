"""Changes of stored entries by name, whatever version they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contracts.ports import EntryStore, Ref
from contracts.v1.entries import Entry
from services.shared.changes import change_entries


async def modify(store: EntryStore, refs: Sequence[Ref], change: Callable[[Entry], Entry | None]) -> list[Entry]:
    """Replace each stored entry by `change(entry)` unless that is None; the ones replaced."""
    return await change_entries(store, (await store.get(refs)).values(), change)
