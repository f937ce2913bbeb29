"""What its user may not want remembered, as the reader understood them: out of use for a day, and forgotten then."""

from __future__ import annotations

from datetime import datetime, timedelta

from contracts.v1.entries import Entry

SET_ASIDE_FOR = timedelta(days=1)
"""So long its user may take it back into use: a reader errs, and what is forgotten is gone."""


def set_aside(entry: Entry, now: datetime) -> Entry | None:
    """The entry out of use until it is forgotten; None where it is out of use already."""
    if entry.status != "active":
        return None
    update = {"status": "archived", "embedding_state": "pending", "neighbour_tags": ()}
    return entry.model_copy(update={**update, "expires_at": now + SET_ASIDE_FOR, "updated_at": now})


def is_set_aside(entry: Entry) -> bool:
    """Whether it is to be forgotten, unless its user keeps it."""
    return entry.status == "archived" and entry.expires_at is not None


def is_over(entry: Entry, now: datetime) -> bool:
    """Whether the time is over in which its user may keep it; from then on it is being forgotten."""
    return entry.status == "archived" and entry.expires_at is not None and entry.expires_at <= now


def back_in_use(entry: Entry) -> Entry:
    """An entry that was set aside, in use again; others as they are."""
    return entry.model_copy(update={"status": "active", "expires_at": None}) if is_set_aside(entry) else entry
