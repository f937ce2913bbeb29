"""Sessions of a user and what they amount to: read off the active entries when asked for, and stored nowhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request
from contracts.v1.turns import Role

MadeBy = Literal["rules", "model"]
"""How sentences came about: rules chose parts of what was said, or a language model wrote them from it."""


class Extract(Message):
    """A verbatim part of the text of each of the entries `source_ids`; what a model wrote, they bear out together.

    `role` and `said_at` are those of the latest of them then.
    """

    text: str
    source_ids: tuple[str, ...]
    role: Role
    said_at: Moment


class SessionSummary(Message):
    """What a session amounts to. `open_loops` are what nothing said later in it ended, `commitments` plans,
    appointments, deadlines and decisions, `people` names.

    `tone` is null: nothing tells it honestly. `made_by`: a model wrote `one_liner`, `what_mattered` or both.
    """

    one_liner: Extract | None = None
    what_mattered: tuple[Extract, ...] = ()
    open_loops: tuple[Extract, ...] = ()
    commitments: tuple[Extract, ...] = ()
    people: tuple[Extract, ...] = ()
    tone: str | None = None
    made_by: MadeBy = "rules"


class Session(Message):
    """Turns of a user with a persona in a space, between which there was no long silence.

    `ended_at` is null while that silence has not passed. `turn_count` counts the turns that are remembered.
    """

    id: str
    space: str
    persona_id: str | None = None
    conversation_ids: tuple[str, ...] = ()
    started_at: Moment
    last_activity_at: Moment
    ended_at: Moment | None = None
    turn_count: int


class SessionState(Message):
    """What a persona knows of its sessions with the user in a space; `present` is the id of the one not over yet."""

    space: str
    persona_id: str | None = None
    sessions: int
    turns: int
    last_interaction: Moment
    present: str | None = None


class RollingSummary(Message):
    """The newest turns of a conversation in a few lines; it changes with every fourth turn.

    `turns`: of so many it was made; `characters`: so long is what was read of the conversation; `sentences` are those
    of `text`, each with the entries it is from, and `made_by` tells who chose or wrote them.
    """

    conversation_id: str
    text: str
    turns: int
    characters: int = 0
    sentences: tuple[Extract, ...] = ()
    made_by: MadeBy = "rules"


class Spine(Message):
    """What the user said about themselves, their projects and others, and what is still to be done, of all sessions.

    `made_by`: a model wrote some of it, but no open loops.
    """

    profile: tuple[Extract, ...] = ()
    projects: tuple[Extract, ...] = ()
    people: tuple[Extract, ...] = ()
    open_loops: tuple[Extract, ...] = ()
    made_by: MadeBy = "rules"


class SessionsRequest(Request):
    """List sessions, the latest first; or, with `id`, show one with its summary; in a space, null: in all.

    `persona_id`: those of this persona and of none; null: of all. `rolling`: the conversation whose rolling summary
    is asked for beside them, in `rolling_length` characters at most; with a `limit` of 0 it is asked for alone.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)
    id: str | None = Field(default=None, min_length=1, max_length=256)
    rolling: str | None = Field(default=None, min_length=1, max_length=256)
    rolling_length: int = Field(default=600, ge=1, le=4000)
    limit: int = Field(default=20, ge=0, le=50)
    cursor: str | None = Field(default=None, max_length=2000)


class SessionsReply(Reply):
    """Sessions; there may be more on the next page, if it has a cursor. `states` are there without `id`.

    `summary` and `entry_ids` are those of the one session that was asked for. `left_out`: so many of the entries said
    longest ago were not read.
    """

    items: tuple[Session, ...]
    next_cursor: str | None = None
    total_count: int
    states: tuple[SessionState, ...] = ()
    summary: SessionSummary | None = None
    entry_ids: tuple[str, ...] = ()
    rolling: RollingSummary | None = None
    left_out: int = 0
