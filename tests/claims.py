"""Claims as a reader makes them, and left in the entries of a memorybus that runs on SQLite, whatever a model reads."""

from __future__ import annotations

from pathlib import Path

from contracts.ports import Key
from contracts.v1.claims import Claim, Slot
from services.shared.changes import change_entries
from services.shared.stores.sqlite import SqliteTextStore


def a_claim(text: str, value: str, slot: Slot = "home", *, whose: str = "", sure: float = 0.9) -> Claim:
    """What a reader makes of a text, which is one sentence; `whose`: as the text names whom it is about."""
    begin, named = text.index(value), text.index(whose) if whose else 0
    return Claim(
        slot=slot,
        value=(begin, begin + len(value)),
        sentence=(0, len(text)),
        whose=(named, named + len(whose)) if whose else None,
        of_user=not whose,
        confidence=sure,
    )


async def leave_claim(
    file: Path, user: str, id_: str, value: str, slot: Slot, *, whose: str = "", sure: float = 0.4
) -> None:
    """Have an entry claim this value alone, in all of its text."""
    store = await SqliteTextStore.open(file, synchronous="normal")
    try:
        entry = (await store.get([Key(user, id_)]))[id_]
        claim = a_claim(entry.text, value, slot, whose=whose, sure=sure)
        await change_entries(store, [entry], lambda one: one.model_copy(update={"claims": (claim,)}))
    finally:
        await store.close()
