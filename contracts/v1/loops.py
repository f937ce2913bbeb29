"""Open loops: what is still to be done, and what the user says became of it."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request
from contracts.v1.turns import Role

State = Literal["open", "done", "dropped"]
Wanted = Literal["open", "done", "dropped", "all"]


class OpenLoop(Message):
    """Something that the user has to do, in the words of the entry `entry_id`, which said so last at `said_at`.

    `due_on` is the day that its sentence names, in UTC. `closed_by` is the entry that says it is done or dropped; null
    where the user decided it (`decided`), or it is open. `role` is "user", and `promised` false: what is promised is
    not told from what is only needed any more.
    """

    id: str
    text: str
    state: State
    promised: bool = False
    role: Role = "user"
    said_at: Moment
    due_on: date | None = None
    overdue: bool = False
    decided: bool = False
    closed_by: str | None = None
    entry_id: str
    conversation_id: str | None = None
    persona_id: str | None = None
    space: str


class LoopsRequest(Request):
    """List what is to be done in a space, null: in all; with another `state` what is done or dropped, or `all`.

    `persona_id`: those of this persona and of none; null: of all. `now`: the day that tells what is overdue.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)
    state: Wanted = "open"
    limit: int = Field(default=50, ge=1, le=200)
    now: Moment | None = None


class LoopsReply(Reply):
    """Open ones first, those due next before others, then those said last; `total_count` are there in all.

    `left_out`: so many of the entries said longest ago were not read.
    """

    items: tuple[OpenLoop, ...]
    total_count: int
    left_out: int = 0
    truncated: bool = False


class SettleRequest(Request):
    """Say what became of something that was to be done; `state` null: leave it to what is said later."""

    id: str = Field(min_length=1, max_length=256)
    state: State | None = None


class SettleReply(Reply):
    """What was to be done, as it is now."""

    loop: OpenLoop
