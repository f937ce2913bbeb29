"""Claims as a reader makes them, and left in the entries of a memorybus that runs on SQLite, whatever a model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contracts.ports import Key
from contracts.v1.claims import Change, Claim, Slot
from contracts.v1.entries import Entry
from services.shared.changes import change_entries
from services.shared.lifecycle.set_aside import set_aside
from services.shared.lineage import flag, put_away
from services.shared.stores.sqlite import SqliteTextStore


def a_claim(text: str, value: str, slot: Slot = "home", *, whose: str = "", sure: float = 0.9, **fields: Any) -> Claim:
    """What a reader makes of a text, which is one sentence; `whose`: as the text names whom it is about."""
    begin, named = text.index(value), text.index(whose) if whose else 0
    told: dict[str, Any] = {
        "value": (begin, begin + len(value)),
        "sentence": (0, len(text)),
        "whose": (named, named + len(whose)) if whose else None,
        "of_user": not whose,
    }
    return Claim(slot=slot, confidence=sure, **(told | fields))


def a_task(text: str, value: str | None = None, *, sure: float = 0.9, **fields: Any) -> Claim:
    """That a text says this is to be done, or all of it."""
    return a_claim(text, text if value is None else value, "other_fact", sure=sure, kind="task", **fields)


def an_end_of(entry: Entry) -> tuple[Change, ...]:
    """What an entry changes that ends all tasks of an earlier one."""
    ended = [one for one in entry.claims if one.kind == "task"]
    return tuple(Change(entry_id=entry.id, kind="task", value=one.value, confidence=0.9) for one in ended)


async def leave_claim(
    file: Path, user: str, id_: str, value: str, slot: Slot, *, whose: str = "", sure: float = 0.4
) -> None:
    """Have an entry of a memorybus that runs on SQLite claim this value alone, in all of its text."""
    await _leave(file, user, id_, lambda text: a_claim(text, value, slot, whose=whose, sure=sure))


async def leave_task(file: Path, user: str, id_: str) -> None:
    """Have an entry of a memorybus that runs on SQLite say nothing but that its text is to be done."""
    await _leave(file, user, id_, a_task)


async def _leave(file: Path, user: str, id_: str, claim: Callable[[str], Claim]) -> None:
    store = await SqliteTextStore.open(file, synchronous="normal")
    try:
        entry = (await store.get([Key(user, id_)]))[id_]
        await change_entries(store, [entry], lambda one: one.model_copy(update={"claims": (claim(one.text),)}))
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


async def leave_set_aside(file: Path, user: str, ids: Sequence[str]) -> None:
    """Have entries taken for what their user does not want kept."""
    store, now = await SqliteTextStore.open(file, synchronous="normal"), datetime.now(UTC)
    try:
        found = (await store.get([Key(user, id_) for id_ in ids])).values()
        await change_entries(store, found, lambda one: set_aside(one, now))
    finally:
        await store.close()
