"""Memory for the OpenAI Agents SDK (openai-agents 0.24): `query_memory`, and a session that memory learns from.

from memorybus_client import AsyncMemory
from memorybus_client.openai_agents import MemorybusSession, query_memory_tool

memory = AsyncMemory(user="ann")
agent = Agent(name="Assistant", tools=[query_memory_tool(memory)])
await Runner.run(agent, "Which package manager?", session=MemorybusSession("c1", memory))
"""

from __future__ import annotations

from typing import Any

from agents import FunctionTool, RunContextWrapper, SQLiteSession, TResponseInputItem
from agents.memory import Session, SessionSettings
from pydantic import ValidationError

from contracts.v1.turns import Role
from memorybus_client.aio import AsyncMemory
from memorybus_client.learning import Exchange, alearn, awaited
from memorybus_client.query import DESCRIPTION, INSTRUCTIONS, MemoryQuery, query_memory
from memorybus_client.sync import Memory

__all__ = ["INSTRUCTIONS", "MemorybusSession", "query_memory_tool"]

_LOOK_BACK = 20
"""Items: what a new session looks through for questions that an earlier one left without an answer."""


def query_memory_tool(
    memory: AsyncMemory | Memory,
    *,
    space: str | None = None,
    limit: int = 10,
    token_budget: int = 1000,
    min_score: float = 0.3,
) -> FunctionTool:
    """The tool with which an agent asks the memory of one user; `INSTRUCTIONS` tell an agent when."""
    asked = awaited(memory)

    async def invoke(_: RunContextWrapper[Any], arguments: str) -> str:
        try:
            given = MemoryQuery.model_validate_json(arguments)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
            return f"query_memory was called with wrong arguments: {'; '.join(faults)}"
        answer = await query_memory(
            asked,
            given.query,
            given.types,
            space=space,
            limit=limit,
            token_budget=token_budget,
            min_score=min_score,
        )
        return answer.model_dump_json()

    return FunctionTool("query_memory", DESCRIPTION, _schema(), invoke, strict_json_schema=False)


def _schema() -> dict[str, Any]:
    """The parameters: `types` may be left out, which a strict schema has no word for."""
    schema = MemoryQuery.model_json_schema()
    types = schema["properties"]["types"]
    (listed,) = (one for one in types.pop("anyOf") if one["type"] == "array")
    types.pop("default")
    schema["properties"]["types"] = {**types, **listed}
    schema.pop("description", None)
    return schema


class MemorybusSession:
    """A conversation whose turns memory learns from; its `session_id` is the conversation's id.

    `items` is the session of the SDK that keeps the items: memorybus keeps what was said, and could not give tool calls
    or reasoning back as they were. Without one they are kept in this process; give `SQLiteSession(session_id, FILE)` to
    find them after a restart. What users and assistants say is published as turns once the assistant has answered, or
    the question would be what memory finds for it; what was never answered is published with the next answer, also by
    a later session over the same `items`, unless it is popped or cleared before: what is taken away later was said all
    the same, and is still remembered. Where publishing fails the chat goes on, and the log says so.
    """

    def __init__(
        self, session_id: str, memory: AsyncMemory | Memory, *, items: Session | None = None, space: str | None = None
    ) -> None:
        self.session_id = session_id
        self._memory, self._space = awaited(memory), space
        self._items = items or SQLiteSession(session_id)
        self._exchange: Exchange | None = None

    @property
    def session_settings(self) -> SessionSettings | None:
        """Those of the session that keeps the items."""
        return self._items.session_settings

    @session_settings.setter
    def session_settings(self, settings: SessionSettings | None) -> None:
        self._items.session_settings = settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, oldest first."""
        return await self._items.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items; with an answer, publish what was said up to it."""
        exchange = await self._begun()
        await self._items.add_items(items)
        said = _all_said(items)
        await alearn(self._memory, exchange, said, conversation_id=self.session_id, space=self._space)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away; a question that waits for its answer is not learned any more."""
        exchange = await self._begun()
        item = await self._items.pop_item()
        exchange.withdraw(_said(item) if item else None)
        return item

    async def clear_session(self) -> None:
        """Take every item away; what waits for its answer is not learned any more."""
        await self._items.clear_session()
        self._exchange = Exchange()

    async def _begun(self) -> Exchange:
        if self._exchange is None:
            self._exchange = Exchange(_all_said(await self._items.get_items(_LOOK_BACK)))
        return self._exchange


def _all_said(items: list[TResponseInputItem]) -> list[tuple[Role, str]]:
    return [one for item in items if (one := _said(item)) is not None]


def _said(item: TResponseInputItem) -> tuple[Role, str] | None:
    """Who says what in an item; nothing where it is no message of a user or an assistant."""
    given: Any = item
    if given.get("role") not in ("user", "assistant"):
        return None
    content = given.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part["text"] for part in content if part.get("text"))
    return given["role"], content
