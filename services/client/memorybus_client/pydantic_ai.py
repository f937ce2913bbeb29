"""Memory for Pydantic AI (pydantic-ai-slim 2, from 2.68): a toolset with `query_memory` and, on request, `remember`.

from memorybus_client import AsyncMemory
from memorybus_client.pydantic_ai import memory_toolset

agent = Agent("…", toolsets=[memory_toolset(AsyncMemory(user="ann"), remember=True)])
"""

from __future__ import annotations

import logging
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai import FunctionToolset

from memorybus_client.aio import AsyncMemory
from memorybus_client.errors import MemorybusError
from memorybus_client.learning import awaited
from memorybus_client.query import DESCRIPTION, INSTRUCTIONS, MemoryAnswer, Query, Types
from memorybus_client.query import query_memory as asked
from memorybus_client.sync import Memory

log = logging.getLogger(__name__)

_REMEMBER = (
    "Remember a statement about the user for later conversations: a fact, a preference or a decision, in the user's "
    "own words, one at a time. Only what the user said, and nothing that memory returned."
)


def memory_toolset(
    memory: AsyncMemory | Memory,
    *,
    remember: bool = False,
    space: str | None = None,
    limit: int = 10,
    token_budget: int = 1000,
    min_score: float = 0.3,
    id: str | None = None,
) -> FunctionToolset[Any]:
    """The tools with which an agent asks the memory of one user and, with `remember`, adds to it.

    The toolset brings its instructions along. Where memory is away `query_memory` answers nothing, with `error`. Give a
    `Memory` where the agent runs in several event loops, as `run_sync` in several threads does.
    """
    memory = awaited(memory)
    toolset = FunctionToolset[Any](id=id, instructions=INSTRUCTIONS)

    async def query_memory(query: Query, types: Types = None) -> MemoryAnswer:
        return await asked(
            memory, query, types, space=space, limit=limit, token_budget=token_budget, min_score=min_score
        )

    async def keep(statement: Annotated[str, Field(min_length=1, description="What to remember.")]) -> str:
        try:
            return f"remembered as {(await memory.remember(statement, space=space)).id}"
        except MemorybusError as error:
            log.warning("memory did not learn what was said: %s", error)
            return f"not remembered: {error}"

    toolset.add_function(query_memory, description=DESCRIPTION)
    if remember:
        toolset.add_function(keep, name="remember", description=_REMEMBER)
    return toolset
