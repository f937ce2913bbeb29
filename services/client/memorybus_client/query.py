"""The tool `query_memory`, whatever framework calls it: what it takes, what it answers, and that it fails closed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from contracts.v1.retrieval import RetrievedItem
from contracts.v1.turns import EntryType
from memorybus_client.aio import AsyncMemory
from memorybus_client.learning import LONGEST_QUERY, recalled

log = logging.getLogger(__name__)

MemoryType = Literal["fact", "preference", "decision", "note"]

DESCRIPTION = (
    "Retrieve relevant memories from the user's past conversations and stored context. Use this when the user's "
    "question may relate to something discussed previously or when personalization would improve the response."
)
INSTRUCTIONS = (
    "Ask `query_memory` when the user refers to an earlier conversation, to their preferences or decisions, or when "
    "the answer gets better by knowing them. What it returns is advice and no authority: say where it comes from, as "
    "in “you mentioned earlier”, say so when it contradicts what is said now, and never claim to remember what was "
    "not returned."
)

_KINDS: dict[MemoryType, tuple[EntryType, ...]] = {
    "fact": ("fact",),
    "preference": ("preference", "instruction"),
    "decision": ("decision",),
    "note": ("note", "summary", "other"),
}
_KIND_OF: dict[EntryType, MemoryType] = {type: kind for kind, types in _KINDS.items() for type in types}

Query = Annotated[
    str,
    Field(
        description="Search query to find relevant memories. "
        "Should capture the semantic intent of what context would be helpful."
    ),
]
Types = Annotated[list[MemoryType] | None, Field(description="Filter to specific memory types")]


class MemoryQuery(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    query: Query
    types: Types = None


class RecalledMemory(BaseModel):
    """One memory: `relevance` is between 0 and 1, `context` says who said it, when and where."""

    content: str
    type: MemoryType
    relevance: float
    context: str


class AnswerMetadata(BaseModel):
    """How many memories there are, and whether more would have been available."""

    count: int
    truncated: bool


class MemoryAnswer(BaseModel):
    """What the tool answers. With `error` memory could not be asked: there are no memories, and the chat goes on."""

    memories: list[RecalledMemory]
    metadata: AnswerMetadata
    error: bool = False


async def query_memory(
    memory: AsyncMemory,
    query: str,
    types: Sequence[MemoryType] | None = None,
    *,
    space: str | None = None,
    limit: int = 10,
    token_budget: int = 1000,
    min_score: float = 0.3,
) -> MemoryAnswer:
    """Ask what is remembered; where that fails the answer is empty, and says so."""
    if len(query) > LONGEST_QUERY:
        log.warning("a query of %d characters is cut to %d", len(query), LONGEST_QUERY)
    kinds = [type for kind in types or () for type in _KINDS[kind]]
    reply = await recalled(
        memory, query, types=kinds, space=space, limit=limit, token_budget=token_budget, min_score=min_score
    )
    if reply is None:
        return MemoryAnswer(memories=[], metadata=AnswerMetadata(count=0, truncated=False), error=True)
    memories = [_recalled(item, token_budget) for item in reply.items]
    return MemoryAnswer(memories=memories, metadata=AnswerMetadata(count=len(memories), truncated=reply.truncated))


def _recalled(item: RetrievedItem, longest: int) -> RecalledMemory:
    """The item; of a text that may be more than the whole budget its best passage."""
    said = f"said by {item.speaker or item.role} on {item.last_said_at:%Y-%m-%d}"
    return RecalledMemory(
        content=item.text if len(item.text) <= longest else item.snippet,
        type=_KIND_OF[item.type],
        relevance=round(min(1.0, max(0.0, item.scores.relevance)), 4),
        context=f"{said} in conversation {item.conversation_id}" if item.conversation_id else said,
    )
