"""Importance of pinned entries: 1 while they are pinned, and beside it what it will be again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from contracts.v1.entries import Entry


def own_importance(entry: Entry) -> float:
    """What an entry is worth by itself, pinned or not."""
    known = entry.unpinned_importance
    return entry.importance if known is None else known


def weighed(entry: Entry, importance: float) -> dict[str, Any]:
    """The changes by which an entry is worth so much by itself."""
    if entry.pinned:
        return {"importance": 1.0, "unpinned_importance": importance}
    return {"importance": importance, "unpinned_importance": None}


def pinned(entry: Entry, now: datetime) -> Entry | None:
    """The entry, pinned; None when it is, or is out of use."""
    if entry.status != "active" or (entry.pinned and entry.importance == 1.0):
        return None
    held = entry.model_copy(update={"pinned": True, "edited_version": entry.version + 1, "updated_at": now})
    return held.model_copy(update=weighed(held, own_importance(entry)))


def unpinned(entry: Entry, now: datetime) -> Entry | None:
    """The entry, not pinned any more; None when it is not, or was forgotten."""
    if entry.status == "forgotten" or not entry.pinned:
        return None
    let_go = entry.model_copy(update={"pinned": False, "edited_version": entry.version + 1, "updated_at": now})
    return let_go.model_copy(update=weighed(let_go, own_importance(entry)))
