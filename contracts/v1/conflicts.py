"""Statements of a user that cannot both be true, and what the user decides about them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request
from contracts.v1.entries import Status


class ConflictsRequest(Request):
    """List what contradicts each other in a space, the latest first; null: in all. Neither statement is hidden.

    `persona_id`: as in a list, both statements are what this persona sees; null: of all.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)
    limit: int = Field(default=20, ge=1, le=50)
    cursor: str | None = None


class Statement(Message):
    """One side of a conflict; of a long text the beginning."""

    id: str
    text: str
    said_at: Moment
    status: Status


class Conflict(Message):
    """Two statements that cannot both be true, and the question that settles it."""

    space: str
    newer: Statement
    older: Statement
    question: str


class ConflictsReply(Reply):
    """Conflicts that nobody has decided yet; there may be more on the next page, if it has a cursor."""

    items: tuple[Conflict, ...]
    next_cursor: str | None = None


class ResolveRequest(Request):
    """Decide what holds: the `new` statement, the `old` one, or `both`; or leave it `open` again.

    What does not hold is superseded: it stays stored, and is not found any more. Decided again, it is changed: `both`
    also takes back that the newer statement superseded the older one by itself. `open`: both are in use, and which one
    is true is asked again.
    """

    newer: str
    older: str
    keep: Literal["new", "old", "both", "open"]


class ResolveReply(Reply):
    """Both statements as they are now."""

    newer: Statement
    older: Statement
