"""Roll-ups: what is old and of one topic in a few lines, and how they are asked for and taken back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request
from contracts.v1.sessions import Extract

RollUpState = Literal["preview", "planned", "done", "undoing", "undone", "emptied", "forgotten"]
"""What is with a roll-up: it would be made; it is being made, or there; it is being taken back, or was; it is there,
and its originals have no words any more; it was forgotten, and they with it."""


class RollUpRequest(Request):
    """Roll up what a space holds of a topic: memories that have every word of it, in any form, or are under a theme.

    Without both it is rolled up by the topics that are found in it, as ageing does by itself. What is pinned or saved
    is left alone. `older_than_days`: only what was last said, and last an answer, longer ago. At most `limit` roll-ups
    are made; with `preview` none, they are only shown.
    """

    space: str = Field(default="default", min_length=1, max_length=256)
    topic: str | None = Field(default=None, min_length=1, max_length=256)
    theme: str | None = Field(default=None, min_length=1, max_length=64)
    older_than_days: float = Field(default=0, ge=0, le=36_600)
    limit: int = Field(default=10, ge=1, le=20)
    preview: bool = False


class RollUp(Message):
    """One roll-up: each of its sentences is a verbatim part of the entries that it names.

    `source_ids` are its originals. They are archived, and come back when it is undone. A preview has no id.
    """

    id: str | None = None
    space: str
    state: RollUpState
    at: Moment | None = None
    sentences: tuple[Extract, ...] = ()
    source_ids: tuple[str, ...] = ()


class RollUpReply(Reply):
    """The roll-ups that were made, or would be; `left`: so many more can be."""

    items: tuple[RollUp, ...]
    left: int = 0


class RollUpsRequest(Request):
    """List the roll-ups of a space, those made last first; null: of all."""

    space: str | None = Field(default=None, min_length=1, max_length=256)
    limit: int = Field(default=20, ge=1, le=50)
    cursor: str | None = None


class RollUpsReply(Reply):
    """Roll-ups; there may be more on the next page, if it has a cursor."""

    items: tuple[RollUp, ...]
    next_cursor: str | None = None


class RollUpUndoRequest(Request):
    """Take back a roll-up: its originals are in use again as they were, and it is gone."""

    id: str


class RollUpUndoReply(Reply):
    """`restored`: the originals that are in use again, by id. Ageing leaves them alone from now on."""

    id: str
    restored: tuple[str, ...]
