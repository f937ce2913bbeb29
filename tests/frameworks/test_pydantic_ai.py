"""Pydantic AI: an agent with a scripted model and our toolset."""

from __future__ import annotations

from typing import Any

from memorybus_client import AsyncMemory
from memorybus_client.pydantic_ai import memory_toolset
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.frameworks.conftest import PREFERENCE, QUESTION


async def called(memory: AsyncMemory, tool: str, **arguments: Any) -> Any:
    """What a tool tells the model, in a run of its own."""
    seen: list[AgentInfo] = []

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        if len(seen) == 1:
            return ModelResponse(parts=[ToolCallPart(tool, arguments)])
        return ModelResponse(parts=[TextPart("Done.")])

    agent = Agent(FunctionModel(script), toolsets=[memory_toolset(memory, remember=True)])
    run = await agent.run(QUESTION)
    assert "query_memory" in (seen[0].instructions or "")
    (returned,) = [part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    return returned.content


async def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    memory: AsyncMemory, bobs: AsyncMemory
) -> None:
    assert "remembered as" in await called(memory, "remember", statement=PREFERENCE)
    answer = await called(memory, "query_memory", query=QUESTION)
    assert [one.content for one in answer.memories] == [PREFERENCE]
    assert (answer.metadata.count, answer.error) == (1, False)
    assert (await called(bobs, "query_memory", query=QUESTION)).memories == []


async def test_the_tool_is_the_one_of_the_specification(memory: AsyncMemory) -> None:
    toolset = memory_toolset(memory)
    assert list(toolset.tools) == ["query_memory"]
    schema = toolset.tools["query_memory"].tool_def.parameters_json_schema
    assert schema["required"] == ["query"]
    assert "fact" in str(schema["properties"]["types"])
    assert all(one["description"] for one in schema["properties"].values())


async def test_where_memory_is_away_the_agent_goes_on() -> None:
    async with AsyncMemory("http://127.0.0.1:9", user="ann", timeout=0.5) as away:
        answer = await called(away, "query_memory", query=QUESTION, types=["preference"])
        assert (answer.memories, answer.error) == ([], True)
        assert "not remembered: nothing answers" in await called(away, "remember", statement=PREFERENCE)
