"""A question that nobody asks: what only the first of a process would wait for, its start has done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import numpy.ma  # noqa: F401  (np.unique imports it when a search first finds something)

from contracts.ports import Key, LexicalHit
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.legs import Memory

_QUESTION = "When did Anna say that the flight AB-123 to Lisbon leaves on 3 May?"
_SAID = (
    "Anna said yesterday that her flight AB-123 to Lisbon leaves on 3 May at 6:45 pm.",
    "I prefer uv over pip, and since last week we use it for the project Tidewatch.",
    "Two things: I am allergic to walnuts, and I moved to Porto in March 2026.",
)
"""As much as has the rules look at names, codes, times and amounts."""


async def rehearse(store: Memory, retriever_on: Callable[[Memory], AbstractContextManager[Retriever]]) -> None:
    """Ask about the example: model, stores and rules have worked once then, and nothing is kept of it.

    It is asked for a user whose name nobody else has, so that no memory is looked at.

    Raises:
        Unavailable: stores and model are away.
    """
    user = f"rehearsal-{uuid4()}"
    with retriever_on(cast(Memory, _WithExample(store, user))) as retriever:
        reply = await retriever.retrieve(RetrieveRequest(user_id=user, query=_QUESTION, explain=True))
    reply.model_dump_json()


class _WithExample:
    """A text store that is asked for everything, and in which the example is found beside that."""

    def __init__(self, store: Memory, user: str) -> None:
        now = datetime.now(UTC)
        examples = [Entry(id=str(uuid4()), user_id=user, text=text, created_at=now, updated_at=now) for text in _SAID]
        self._store = store
        self._examples = {entry.id: entry for entry in examples}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def search(self, *asked: Any, **named: Any) -> Sequence[LexicalHit]:
        """What is found, and the example."""
        found = await self._store.search(*asked, **named)
        return [*found, *(LexicalHit(id_, 1.0, 1.0, 1.0) for id_ in self._examples)]

    async def get(self, keys: Sequence[Key]) -> dict[str, Entry]:
        """The entries, and those of the example."""
        found = await self._store.get(keys)
        return {**found, **{key.id: self._examples[key.id] for key in keys if key.id in self._examples}}
