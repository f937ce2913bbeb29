"""Memories with a marker word all over, and a search for it in the bytes of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from contracts.ports import Accepted
from contracts.v1.entries import Entity, Entry
from contracts.v1.turns import Proposal
from services.shared.lifecycle.editing import Edit, edited
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import (
    a_proposal,
    a_repeat,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    store_entries,
)
from tests.stores.changing import modify

QUOTED = 'wört"lich\\\u0007\U0001f9e0end'
"""Not ASCII, and with characters that JSON escapes."""


def bytes_of(path: Path) -> bytes:
    """All files of the folder."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def found(path: Path, marker: str) -> int:
    """How often a marker is in the bytes of all files of the folder, as it is or escaped."""
    forms = {form.encode() for form in (marker, json.dumps(marker)[1:-1], json.dumps(marker, ensure_ascii=False)[1:-1])}
    content = bytes_of(path)
    return sum(content.count(form) for form in forms)


async def fill(store: SqliteTextStore, marker: str, count: int = 300) -> list[Entry]:
    """Entries of another user, among which the marker is spread: enough for pages to split."""
    user = a_user()
    entries = [an_entry(user, f"{marker}{i}x stays {'filler ' * (i % 40)}", tags=(f"tag{i}",)) for i in range(count)]
    return await store_entries(store, entries)


def told(user: str, marker: str, **fields: Any) -> Proposal:
    fields = {"speaker": f"speaker {marker}", "tags": (f"tag {marker}",), **fields}
    turn = a_turn(user, f"my {marker} is here", **fields)
    return a_proposal(turn.model_copy(update={"source_ids": (f"mail {marker}",), "correlation_id": marker}))


def full_entry(proposal: Proposal, marker: str) -> Entry:
    return entry_of(
        proposal,
        tags=proposal.turn.tags,
        themes=(f"theme {marker}",),
        source_ids=proposal.turn.source_ids,
        summary=f"short {marker}",
        entities=(Entity(text=marker, label="PERSON", confidence=0.5),),
        entity_refs=(f"person:{marker}",),
        memory_key=f"people:{marker}",
        statement_hash=f"hash of {proposal.id}",
        minhash_bands=(f"band of {proposal.id}",),
    )


async def store_a_told(store: SqliteTextStore, user: str, marker: str, **fields: Any) -> Entry:
    """An entry with a repeat and a fact that was merged into it, changed and corrected, with the marker all over."""
    first, second = told(user, marker, **fields), told(user, marker, **fields)
    fact = a_proposal(second.turn, ordinal=1, text=f"fact of {marker}")
    await store.append([first.turn, second.turn], [first, second, fact])
    entry = full_entry(first, marker)
    await store.apply([Accepted(entry), a_repeat(second, first.id), a_repeat(fact, first.id)])
    await modify(store, [entry], lambda e: e.model_copy(update={"tags": (*e.tags, f"more {marker}")}))
    await modify(store, [entry], lambda e: edited(e, Edit(text=f"corrected {marker}"), e.updated_at))
    return entry


async def spread_and_forget(store: SqliteTextStore, entries: list[Entry]) -> None:
    """Change entries, so that rows move and leave copies behind, and forget all but every third."""
    await modify(store, entries, lambda e: e.model_copy(update={"tags": (*e.tags, f"more{e.text.split()[0]}")}))
    await store.forget([entry for i, entry in enumerate(entries) if i % 3], until=None)


def left_of(path: Path, entries: list[Entry]) -> list[int]:
    """Which of the entries, by their place, have their first word in the files."""
    content = bytes_of(path)
    return [i for i, entry in enumerate(entries) if entry.text.split()[0].encode() in content]
