"""Commands by which users correct, keep and sort their entries, each with its reply."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from contracts.envelope import ErrorCode, IrreversibleRequest, Message, Moment, Reply, Request
from contracts.v1.turns import EntryType

Label = Annotated[str, Field(min_length=1, max_length=256)]
"""A tag, or a theme."""

Labels = Annotated[tuple[Label, ...], Field(max_length=64)]


class UpdateRequest(IrreversibleRequest):
    """Correct one entry; what is null stays as it is, and an empty list empties.

    With `version` only while no user changed it since that one: otherwise the error is `conflict`. What says the same
    as another entry is a `conflict`, too; it names that one. `by` says in the history whose correction it is; null:
    `user`. With `redact` nothing of what it said before is left anywhere: not in its history, and of the turns that
    said it only when that was, and who spoke.

    A beginning of its id is enough, of eight characters or more, when no other of the user's entries has it.
    """

    id: str
    text: str | None = Field(default=None, min_length=1)
    type: EntryType | None = None
    tags: Labels | None = None
    themes: Labels | None = None
    manually_saved: bool | None = None
    version: int | None = Field(default=None, ge=1)
    redact: bool = False
    by: str | None = Field(default=None, max_length=256)


class PinRequest(Request):
    """Pin or unpin one entry. A pinned one has importance 1 and is never trimmed; then it is what it was before."""

    id: str


class HistoryRequest(Request):
    """Ask what one entry said before."""

    id: str


class EntryVersion(Message):
    """What an entry said from a moment on. `version` is its last one with this text; `by` whoever wrote it; null: it
    was said so."""

    version: int
    at: Moment
    text: str
    by: str | None = None


class HistoryReply(Reply):
    """What the entry says and said, the latest first. `truncated`: the earliest do not fit into a message."""

    id: str
    items: tuple[EntryVersion, ...]
    truncated: bool = False


class BulkRequest(IrreversibleRequest):
    """Do the same to entries, by their ids. `tags` are those to add or take away.

    A beginning of an id is enough, of eight characters or more, when no other of the user's entries has it. `whole`
    tells that they are what is to go of a whole conversation, and `conversation_id` which, in this `space` (null: in
    all): of what was said in another one as well, only that it was said there is forgotten, and its dead letters go.
    Only then there may be no ids.
    """

    ids: tuple[str, ...] = Field(max_length=200)
    action: Literal["pin", "unpin", "forget", "tag", "untag"]
    tags: Labels = ()
    whole: Literal["conversation"] | None = None
    conversation_id: str | None = None
    space: str | None = None

    @model_validator(mode="after")
    def _is_of_something(self) -> BulkRequest:
        if not self.ids and self.whole is None:
            raise ValueError("ids: name at least one entry")
        return self


class BulkFailure(Message):
    """An entry to which it was not done, and why."""

    id: str
    code: ErrorCode
    message: str


class BulkReply(Reply):
    """The ids of those to which it was done, in the order given, and the others."""

    done: tuple[str, ...]
    failed: tuple[BulkFailure, ...] = ()
