"""Claims and changes in the entries of a memorybus that runs on SQLite, left there as by a reader, whatever a model
would read."""

from __future__ import annotations

from pathlib import Path

from contracts.ports import Key
from contracts.v1.claims import Claim, Slot
from contracts.v1.entries import Entry
from services.shared.changes import change_entries
from services.shared.lineage import flag, put_away
from services.shared.stores.sqlite import SqliteTextStore


async def leave_claim(file: Path, user: str, id_: str, value: str, slot: Slot, *, sure: float = 0.4) -> None:
    """Have an entry claim this value alone, in all of its text."""
    store = await SqliteTextStore.open(file, synchronous="normal")
    try:
        entry = (await store.get([Key(user, id_)]))[id_]
        begin = entry.text.index(value)
        places = {"value": (begin, begin + len(value)), "sentence": (0, len(entry.text))}
        claim = Claim(slot=slot, **places, confidence=sure)
        await change_entries(store, [entry], lambda one: one.model_copy(update={"claims": (claim,)}))
    finally:
        await store.close()


async def leave_change(file: Path, user: str, newer: str, older: str, *, in_conflict: bool = False) -> None:
    """Have an entry supersede another one, or be in conflict with it."""
    store = await SqliteTextStore.open(file, synchronous="normal")
    try:
        found = await store.get([Key(user, newer), Key(user, older)])

        def naming(one: Entry) -> Entry:
            return one.model_copy(update={"conflicts_with" if in_conflict else "supersedes": (older,)})

        (stored,) = await change_entries(store, [found[newer]], naming)
        await flag(stored, [found[older]], store)
        await put_away(stored, store)
    finally:
        await store.close()
