"""The lineage of statements that changed: an entry out of use for a newer one, and in use again."""

from __future__ import annotations

from datetime import UTC, datetime

from contracts.ports import RecordKey
from contracts.v1.entries import Entry


def conflict_key(newer: Entry, older_id: str) -> RecordKey:
    """The record of a newer entry and an older one that cannot both be true."""
    return RecordKey(newer.user_id, "conflict", f"{newer.id}:{older_id}")


def superseded(entry: Entry, by: Entry) -> Entry:
    """The entry out of use, replaced by another one."""
    update = {
        "status": "superseded",
        "superseded_by": by.id,
        "valid_until": max(entry.created_at, by.created_at),
        "embedding_state": "pending",
        "updated_at": datetime.now(UTC),
    }
    return entry.model_copy(update=update)


def superseded_after(entry: Entry, moment: datetime) -> bool:
    """Whether an entry that is superseded now was in use at a moment."""
    until = entry.valid_until if entry.status == "superseded" else None
    return until is not None and entry.created_at <= moment < until


def restored(entry: Entry) -> Entry:
    """The entry in use again that another one had superseded."""
    update = {"status": "active", "superseded_by": None, "valid_until": None, "updated_at": datetime.now(UTC)}
    return entry.model_copy(update=update)
