"""Memory for LlamaIndex (llama-index-core 0.14): a block of its `Memory` that knows one user's other conversations.

from llama_index.core.memory import Memory
from memorybus_client import AsyncMemory
from memorybus_client.llama_index import MemorybusBlock

memory = Memory.from_defaults(session_id="c1", memory_blocks=[MemorybusBlock(memory=AsyncMemory(user="ann"))])
"""

from __future__ import annotations

import logging
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from contracts.v1.turns import Role
from memorybus_client.aio import AsyncMemory
from memorybus_client.errors import MemorybusError
from memorybus_client.learning import awaited, beginning, recalled
from memorybus_client.sync import Memory

log = logging.getLogger(__name__)

_MOST_KNOWN = 10_000


class MemorybusBlock(BaseMemoryBlock[str]):
    """What memory knows about the newest words of the user, as a text of at most `token_budget` tokens.

    Whenever the block is asked, and when messages leave the short-term memory, those of users and assistants that are
    new are published as turns; the session is the conversation. The same words said twice in a session count once.
    Where memory is away the block is empty and learns nothing; the chat goes on, and the log says so. Give a `Memory`
    where the block is used from several event loops, as LlamaIndex's calls that wait make one each.
    """

    name: str = "long_term_memory"
    description: str | None = "What the user said in other conversations."
    memory: AsyncMemory | Memory = Field(exclude=True)
    space: str | None = None
    token_budget: int = 1000
    limit: int = 12
    _published: dict[str, bool] = PrivateAttr(default_factory=dict)
    _withheld: set[str | None] = PrivateAttr(default_factory=set)

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        """Ask first, so that the question does not find itself; then learn."""
        asked = next((one.content for one in reversed(messages or []) if one.role == "user" and one.content), None)
        known = await self._known(asked) if asked else ""
        if known is None:
            return ""
        await self._learn(messages or [], session_id)
        return known

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            await self._learn([message], message.additional_kwargs.get("session_id"))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Nothing, where it takes too much room: a part of it would have lost its frame."""
        return None

    async def _known(self, query: str) -> str | None:
        memory, budget = awaited(self.memory), self.token_budget
        reply = await recalled(memory, query, space=self.space, limit=self.limit, token_budget=budget)
        return reply.context if reply is not None else None

    async def _learn(self, messages: list[ChatMessage], session_id: str | None) -> None:
        for message in messages:
            text = beginning(message.content or "")
            if message.role.value not in ("user", "assistant") or not text.strip():
                continue
            role: Role = "user" if message.role.value == "user" else "assistant"
            turn_id = str(uuid5(NAMESPACE_OID, "\x1f".join(("llama-index", session_id or "", role, text))))
            try:
                is_kept = self._published.get(turn_id)
                if is_kept is None:
                    is_kept = await self._published_now(role, text, turn_id, session_id)
            except MemorybusError as error:
                log.warning("memory did not learn what was said: %s", error)
                return
            if role == "user":
                (self._withheld.discard if is_kept else self._withheld.add)(session_id)

    async def _published_now(self, role: Role, text: str, turn_id: str, session_id: str | None) -> bool:
        """Publish this, unless it answers what is not kept and may repeat every word of it; whether it may be kept."""
        is_kept = role == "user" or session_id not in self._withheld
        if is_kept:
            turn = await awaited(self.memory).publish(
                text, role=role, conversation_id=session_id, turn_id=turn_id, space=self.space
            )
            is_kept = turn.kept is not False
        self._published[turn_id] = is_kept
        if len(self._published) > _MOST_KNOWN:
            self._published.pop(next(iter(self._published)))
        return is_kept
