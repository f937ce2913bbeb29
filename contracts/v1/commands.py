"""Commands on a user's entries and memory, each with its reply."""

from __future__ import annotations

from pydantic import Field

from contracts.envelope import Message, Reply, Request
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import EntryType


class CreateRequest(Request):
    """Remember this, because somebody said so."""

    text: str = Field(min_length=1)
    type: EntryType | None = None
    tags: tuple[str, ...] = Field(default=(), max_length=64)
    space: str = Field(default="default", min_length=1, max_length=256)
    source_ids: tuple[str, ...] = Field(default=(), max_length=64)
    persona_id: str | None = Field(default=None, max_length=256)
    manually_saved: bool = True


class GetRequest(Request):
    """Show one entry."""

    id: str


class EntryReply(Reply):
    """One entry, with every field."""

    entry: Entry


class ListRequest(Request):
    """Page through a user's entries, newest first. `space` null means every space."""

    space: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: str | None = None
    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    status: Status = "active"


class ListReply(Reply):
    """One page. `total_count` counts all pages."""

    items: tuple[Entry, ...]
    next_cursor: str | None
    total_count: int


class StatusRequest(Message):
    """Count what is stored, over all users."""

    correlation_id: str | None = None


class UserStatusRequest(Request):
    """Count what is stored for one user."""


class StatusReply(Reply):
    """Counts by stage. When nothing is pending, entries + merged + refused = turns and vectors = entries.

    `degraded` says "semantic" while the vector store does not answer; `vectors` is 0 then.
    """

    turns: int
    entries: int
    merged: int
    refused: int
    vectors: int
    pending: int
    degraded: tuple[str, ...] = ()
