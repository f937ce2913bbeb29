"""The audit: what was done with a memory, by whom and when, without a word of what is in it."""

from __future__ import annotations

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request

MOST_NOTED = 64
"""Users, and things that it is about, in one note."""


class Action(Message):
    """One thing that was done, or asked for in vain: `outcome` is `"ok"` or the code of the error.

    `about` names entries by id, or the settings that were changed; before the ids the action of a bulk, or what a chat
    command asked for, and `unconfirmed` where that was only shown. What a caller named and is no id (of digits, hex
    letters and dashes) is told as a keyed hash behind `#`, also as `correlation_id`. `count` is how many memories were
    shown, or entries changed. `query_hash` is the same for the same question as long as the key of the hash is.
    `credential` is by what the caller was let in, as the gateway says. Of a user who was erased `user_id` is a hash.
    """

    at: Moment
    user_id: str
    verb: str
    outcome: str = "ok"
    space: str | None = None
    about: tuple[str, ...] = ()
    count: int | None = None
    latency_ms: float = 0.0
    correlation_id: str | None = None
    credential: str | None = None
    query_hash: str | None = None


class AuditRequest(Request):
    """Page through what was done with a user's memory, the latest first; null does not filter."""

    limit: int = Field(default=100, ge=1, le=1000)
    cursor: str | None = None
    since: Moment | None = None
    verbs: tuple[str, ...] | None = None


class OpsAuditRequest(Message):
    """The same of everybody's memory, or of one user's."""

    user_id: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: str | None = None
    since: Moment | None = None
    verbs: tuple[str, ...] | None = None
    correlation_id: str | None = None


class AuditReply(Reply):
    """One page, which may be empty though there is a next one. `erased_at`: when everything of the user was erased."""

    items: tuple[Action, ...]
    next_cursor: str | None
    erased_at: Moment | None = None


class AuditNoteRequest(Message):
    """Keep account of what an operator did beside memorybus, on the bus itself or with keys; of these users, if any."""

    verb: str = Field(pattern=r"^(dead|keys)\.[a-z-]{1,32}$")
    users: tuple[str, ...] = Field(default=(), max_length=MOST_NOTED)
    about: tuple[str, ...] = Field(default=(), max_length=MOST_NOTED)
    credential: str | None = Field(default=None, max_length=128)
    correlation_id: str | None = None


class AuditNoteReply(Reply):
    """It is kept."""
