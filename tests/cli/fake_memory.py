"""A memory without a bus: keeps what is published, answers by counting shared words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from typer.testing import Result

from contracts.ports import Unavailable
from contracts.v1.commands import EntryReply, GetRequest, ListReply, ListRequest, StatusReply
from contracts.v1.entries import Entry, Scores
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest, Signals
from contracts.v1.turns import Turn
from services.shared.client import Backlog

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)
Typed = Callable[..., Result]
"""Runs the command of a module towards a client: `typed(module, client, *arguments)`."""


def an_item(text: str, **fields: Any) -> RetrievedItem:
    """A retrieved memory with plain scores."""
    defaults: dict[str, Any] = {
        "id": text,
        "text": text,
        "snippet": text,
        "type": "fact",
        "role": "user",
        "speaker": None,
        "space": "default",
        "turn_id": "t1",
        "conversation_id": "c1",
        "tags": (),
        "entities": (),
        "source_ids": (),
        "created_at": NOON,
        "pinned": False,
        "importance": 0.5,
        "embedding_state": "ready",
        "scores": Scores(relevance=0.71, recency=0.9, importance=0.5, total=2.11),
        "signals": Signals(lexical=True, semantic=True),
    }
    return RetrievedItem(**(defaults | fields))


def a_reply(*items: RetrievedItem, **fields: Any) -> RetrieveReply:
    """A reply that carries these items."""
    defaults: dict[str, Any] = {
        "items": items,
        "context": "",
        "total_count": 37,
        "token_count": 412,
        "truncated": False,
        "query_embedding_ms": 4.1,
        "retrieval_ms": 9.8,
    }
    return RetrieveReply(**(defaults | fields))


def a_status(**counts: int) -> StatusReply:
    """Counts, zero where nothing is said."""
    names = ("turns", "entries", "inactive", "merged", "refused", "vectors", "pending")
    return StatusReply(**(dict.fromkeys(names, 0) | counts))


class FakeMemory:
    """Publishes into a list. `waiting` are the backlogs it shows one after the other, the last one for ever."""

    def __init__(self, *, waiting: Iterable[dict[str, int]] = ({},), pending: int = 0) -> None:
        self.turns: list[Turn] = []
        self.waiting = list(waiting)
        self.pending = pending
        self.dead_letters = 0
        self.fail_after: int | None = None
        self.knows = True

    async def publish_all(
        self,
        turns: Iterable[Turn],
        *,
        in_flight: int = 64,
        acknowledged: Callable[[], None] = lambda: None,
        incognito: bool = False,
    ) -> None:
        """Keep the turns, in lanes as the real client does, so that failures come as groups."""
        remaining = iter(turns)

        async def lane() -> None:
            for turn in remaining:
                if self.fail_after is not None and len(self.turns) >= self.fail_after:
                    raise Unavailable("the bus did not acknowledge")
                self.turns.append(turn)
                await asyncio.sleep(0)
                acknowledged()

        async with asyncio.TaskGroup() as lanes:
            for _ in range(in_flight):
                lanes.create_task(lane())

    async def backlog(self) -> Backlog:
        """The next backlog."""
        waiting = self.waiting.pop(0) if len(self.waiting) > 1 else self.waiting[0]
        return Backlog(waiting, self.dead_letters)

    async def status(self, user_id: str | None = None) -> StatusReply:
        """Every text is one entry."""
        turns = [turn for turn in self.turns if user_id in (None, turn.user_id)]
        texts = {turn.text for turn in turns}
        merged = len(turns) - len(texts)
        return a_status(turns=len(turns), entries=len(texts), merged=merged, vectors=len(texts), pending=self.pending)

    async def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        """The turns that share most words with the query."""
        asked = set(request.query.casefold().split())
        found = sorted(self.turns, key=lambda turn: -len(asked & set(turn.text.casefold().split())))
        return a_reply(*(an_item(turn.text) for turn in found[: request.limit] if self.knows))

    async def get(self, request: GetRequest) -> EntryReply:
        """The entry whose id is its text."""
        return EntryReply(entry=an_entry(request.id, repeat_count=2 if "walnuts" in request.id else 0))

    async def list(self, request: ListRequest) -> ListReply:
        """Everything at once."""
        texts = sorted({turn.text for turn in self.turns})
        entries = tuple(an_entry(text, repeat_count=2 if "walnuts" in text else 0) for text in texts)
        return ListReply(items=entries, next_cursor=None, total_count=len(entries))


def an_entry(text: str, **fields: Any) -> Entry:
    """An entry whose id is its text."""
    return Entry(**({"id": text, "user_id": "u1", "text": text, "created_at": NOON, "updated_at": NOON} | fields))
