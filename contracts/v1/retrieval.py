"""Asking the memory, and its answer."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from contracts.envelope import Message as _Message
from contracts.envelope import Moment, Reply, Request, TimeZone
from contracts.v1.entries import EmbeddingState, Scores
from contracts.v1.turns import EntryType, Role


class RetrieveRequest(Request):
    """What matters now? Filters that are null or `[]` do not filter; several tags or types mean any of them.

    `conversation_id`: only what was said in this conversation. `recency_days`: only what was last said so many days
    before `now` or later. `persona_id`: null or empty means entries of no persona, a name those and the persona's own,
    `"*"` all of the user's. `now`: the moment to answer as of; nothing that was said after it is returned, and
    what was superseded after it is.
    `time_zone`: where "yesterday" is read, null: as the settings of the space say, else in UTC.
    `asked_in`: the conversation that asks; while it is incognito, or with `incognito`, the answer is empty.
    `said`: what the user said before, as a client sends it along; the reply tells what of it was `forgotten`.
    """

    query: str
    space: str = Field(default="default", min_length=1, max_length=256)
    limit: int = Field(default=12, ge=1, le=200)
    token_budget: int = Field(default=1000, ge=0, le=1_000_000)
    types: tuple[EntryType, ...] | None = None
    theme: str | None = None
    tags: tuple[str, ...] | None = None
    recency_days: float | None = Field(default=None, gt=0)
    min_score: float | None = Field(default=None, ge=0, le=1)
    persona_id: str | None = None
    conversation_id: str | None = None
    now: Moment | None = None
    time_zone: TimeZone | None = None
    explain: bool = False
    asked_in: str | None = Field(default=None, max_length=256)
    incognito: bool = False
    said: tuple[str, ...] = Field(default=(), max_length=64)


class Signals(_Message):
    """Which legs found the item."""

    lexical: bool
    semantic: bool


class Former(_Message):
    """What a memory replaced: true until then, by what was said since. Of a long text a passage."""

    id: str
    text: str
    until: Moment


class RetrievedItem(_Message):
    """One memory that matters now.

    `turn_id` and `conversation_id` name the turn that said it first; where a conversation was asked for, the latest
    one there. `created_at` is when it was first said, `last_said_at` when last, after `repeat_count` repeats.
    `before` is what it changed, `conflicts_with` the ids of what says otherwise, until the user decides.
    `valid_until` is when something took its place: it is told only where what was so before that is asked for.
    `explanation` carries every feature, both ranks, the RRF score and `clock_ahead`, on request.
    """

    id: str
    text: str
    snippet: str
    type: EntryType
    role: Role
    speaker: str | None
    space: str
    turn_id: str | None
    conversation_id: str | None
    themes: tuple[str, ...] = ()
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    source_ids: tuple[str, ...]
    created_at: Moment
    last_said_at: Moment = Field(default_factory=lambda known: known["created_at"])
    repeat_count: int = 0
    valid_until: Moment | None = None
    pinned: bool
    importance: float
    embedding_state: EmbeddingState
    scores: Scores
    signals: Signals
    before: tuple[Former, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    explanation: dict[str, Any] | None = None


class EntityCard(_Message):
    """The best facts about one entity."""

    entity: str
    facts: tuple[str, ...]


class PinnedMemory(_Message):
    """A pinned memory that the context begins with, whatever was asked."""

    id: str
    snippet: str
    type: EntryType
    last_said_at: Moment
    pinned: Literal[True] = True


class RetrieveReply(Reply):
    """The memories that matter now, and the same as a block ready to inject, with pinned ones as its foundation.

    `total_count` is how many candidates were found, `token_count` what `context` weighs in cl100k_base tokens,
    `truncated` whether the budget, the limit or the size of a message left something out,
    `pinned_left_out` how many of the pinned ones, the latest 20, had no room in it,
    `degraded` the legs that could not answer, or why the user wants no answer: `"incognito"`, `"disabled"`.
    `forgotten` are the places, from 0, of what was `said` that the user had forgotten and that may not come back now.
    `explanation` tells, on request, how the question was read:
    `corrections` names its words that the memory does not have, with those that were looked for instead,
    `times` the times that it names: from when to when, or which month or day of any year; `time_zone` where.
    """

    items: tuple[RetrievedItem, ...]
    foundation: tuple[PinnedMemory, ...] = ()
    entity_cards: tuple[EntityCard, ...] = ()
    context: str
    total_count: int
    token_count: int
    truncated: bool
    pinned_left_out: int = 0
    degraded: tuple[str, ...] = ()
    query_embedding_ms: float
    retrieval_ms: float
    forgotten: tuple[int, ...] = ()
    explanation: dict[str, Any] | None = None

    @classmethod
    def nothing(cls, request: RetrieveRequest, why: str) -> Self:
        """No memory at all, with the reason among what is `degraded`."""
        return cls(
            items=(),
            context="",
            total_count=0,
            token_count=0,
            truncated=False,
            degraded=(why,),
            query_embedding_ms=0.0,
            retrieval_ms=0.0,
            correlation_id=request.correlation_id,
        )
