"""Commands on a user's entries and memory, each with its reply."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import IrreversibleRequest, Message, Moment, Reply, Request
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import EntryType, Mark, PersonaId


class CreateRequest(Request):
    """Remember this, because somebody said so. What one `speaker` says is never taken for what another one said."""

    text: str = Field(min_length=1)
    type: EntryType | None = None
    tags: tuple[Mark, ...] = Field(default=(), max_length=64)
    space: str = Field(default="default", min_length=1, max_length=256)
    source_ids: tuple[Mark, ...] = Field(default=(), max_length=64)
    persona_id: PersonaId = Field(default=None, max_length=256)
    speaker: str | None = Field(default=None, max_length=256)
    manually_saved: bool = True


class GetRequest(Request):
    """Show one entry, by its id or by a beginning of eight characters or more that no other of the user's has."""

    id: str


class EntryReply(Reply):
    """One entry, with every field; `truncated`, its texts and lists are not whole, as it did not fit into a message."""

    entry: Entry
    truncated: bool = False


class ListRequest(Request):
    """Page through a user's entries, those said last first. `space` null means every space.

    Filters that are null or `[]` do not filter. `q`: only active entries that have every word of it, in any form, in
    their text or tags; words that only ask ("what", "about") do not count. A text without words is in none.
    `conversation_id`: only what was said in this conversation.
    `persona_id`: only what a retrieval for this persona sees, its own entries and those of none. Null means here
    all of the user's, as `"*"` does: a list hides nothing that it was not asked to. An empty one: entries of none.
    `settled`: the list waits until all that was said before it is a memory, or was refused; for 5 seconds at most.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: str | None = None
    q: str | None = Field(default=None, min_length=1, max_length=256)
    types: tuple[EntryType, ...] | None = None
    tags: tuple[str, ...] | None = None
    theme: str | None = None
    conversation_id: str | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    status: Status = "active"
    settled: bool = False


class ListReply(Reply):
    """One page, of fewer entries than asked for where more do not fit into a message. `total_count` counts all pages.

    `truncated`: not even one fits; its texts and lists are not whole.
    """

    items: tuple[Entry, ...]
    next_cursor: str | None
    total_count: int
    truncated: bool = False


class ForgetRequest(IrreversibleRequest):
    """Forget one entry, with all that says it.

    A beginning of its id is enough, of eight characters or more, when no other of the user's entries has it. With
    `may_return` the same may be said again at once: a program puts anew what it deleted, which is nobody's repeat.
    """

    id: str
    may_return: bool = False


class ForgetReceipt(Message):
    """What was removed, counted by looking again: `left` says in how many places something is found after all."""

    id: str
    forgotten_at: Moment
    refused_until: Moment
    turns: int
    vectors: int
    messages: int
    dead_letters: int
    left: dict[str, int]


class ForgetReply(Reply):
    """The same statement is refused until `refused_until`, with this as the reason."""

    receipt: ForgetReceipt


class EraseRequest(IrreversibleRequest):
    """Remove everything of a user that was published before now, and refuse what of it is still on its way.

    With the `requested_at` of a receipt it asks how that erasure stands, and removes nothing newer; an error
    `not_found` is the answer where no erasure was asked for then, or it was done more than 24 hours ago.
    """

    requested_at: Moment | None = None


class EraseReceipt(Message):
    """What there was in each place, and what is found there now: nothing is left when every count in `left` is 0.

    While it is `under_way` nothing of what was there is shown any more; it completes by itself, whatever happens to
    memorybus meanwhile, and the same request with `requested_at` tells how it stands, until 24 hours after it is done.
    The record of that names neither the user nor the time: it is found by a hash of both.

    `drained` says whether the bus holds no turns or events of others, beside which old bytes could stay readable,
    `swept` whether the files of the stores were written without what was removed; both follow within seconds of idling.
    """

    removed: dict[str, int]
    left: dict[str, int]
    drained: bool
    swept: bool
    state: Literal["done", "under_way"] = "done"
    requested_at: Moment | None = None


class EraseReply(Reply):
    """What became of it: the user is unknown from now on, until they publish anew.

    That memory is off, or a conversation incognito, holds on all the same, and is known by a hash alone.
    """

    receipt: EraseReceipt


Side = Literal["log", "entries", "vectors"]
"""What is gone through: the log for effects that are missing, entries for vectors and for what repeats another, vectors
for entries."""

Kind = Literal["undecided", "without_entry", "without_vector", "without_reason", "near_copy"]
"""A proposal without an outcome, one whose entry is missing, an entry whose vector is missing or filtered by something
else, a vector of no active entry, an entry that repeats an older one because both came at the same moment."""


class Difference(Message):
    """One thing that is not as it should be."""

    kind: Kind
    user_id: str
    id: str


class ReconcileRequest(Message):
    """Compare the stores, one page at a time; with `fix` what differs is put right."""

    side: Side
    after: str = ""
    limit: int = Field(default=500, ge=1, le=5000)
    fix: bool = False
    correlation_id: str | None = None


class ReconcileReply(Reply):
    """What differs on one page of so many; `after` asks for the next one, None when there is none."""

    looked_at: int
    differences: tuple[Difference, ...]
    after: str | None


class StatusRequest(Message):
    """Count what is stored, over all users."""

    correlation_id: str | None = None


class UserStatusRequest(Request):
    """Count what is stored for one user."""


class StatusReply(Reply):
    """Counts by stage. When nothing is pending, entries + inactive + merged + refused = turns and vectors = entries.

    `inactive` entries are archived, superseded or forgotten. `unembeddable` ones have no vector, as the model takes
    their text in no length; words find them. `degraded` says "semantic" while the vector store does not answer, and
    `vectors` is 0 then, or while the model does not that others wait for.
    """

    turns: int
    entries: int
    inactive: int
    merged: int
    refused: int
    vectors: int
    pending: int
    unembeddable: int = 0
    degraded: tuple[str, ...] = ()
