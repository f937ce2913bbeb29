"""The OpenAI Agents SDK: its runner and its scripted model, with our tool and our session."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import Agent, Runner, SQLiteSession, set_tracing_disabled
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call
from memorybus_client import AsyncMemory
from memorybus_client.openai_agents import INSTRUCTIONS, MemorybusSession, query_memory_tool

from tests.frameworks.conftest import GIVEN_AWAY, PREFERENCE, QUESTION, SECRET

set_tracing_disabled(True)


def agent_of(memory: AsyncMemory, *answers: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel([[answer] for answer in answers])
    return Agent(name="Helper", instructions=INSTRUCTIONS, model=model, tools=[query_memory_tool(memory)]), model


async def asked(memory: AsyncMemory, session: MemorybusSession | None = None, **arguments: Any) -> dict[str, Any]:
    """What the tool tells the model, in a run of its own."""
    call = function_call("query_memory", {"query": QUESTION, **arguments}, call_id="call_1")
    agent, model = agent_of(memory, call, assistant_message("Then uv."))
    await Runner.run(agent, QUESTION, session=session)
    model.assert_complete()
    assert model.last_call is not None
    (output,) = [item for item in model.last_call.input if item.get("type") == "function_call_output"]
    answer: dict[str, Any] = json.loads(output["output"])
    return answer


async def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    memory: AsyncMemory, bobs: AsyncMemory, learned: Callable[[int], Awaitable[None]]
) -> None:
    agent, _ = agent_of(memory, assistant_message("Noted."))
    await Runner.run(agent, PREFERENCE, session=MemorybusSession("c1", memory))
    await learned(2)
    answer = await asked(memory, MemorybusSession("c2", memory))
    found = next((one for one in answer["memories"] if one["content"] == PREFERENCE), None)
    assert found is not None, answer
    assert found.keys() == {"content", "type", "relevance", "context"}
    assert found["type"] == "preference"
    assert 0 < found["relevance"] <= 1
    assert found["context"].startswith("said by user on 20")
    assert found["context"].endswith("in conversation c1")
    assert answer["metadata"] == {"count": len(answer["memories"]), "truncated": False}
    assert answer["error"] is False
    assert (await asked(bobs))["memories"] == []


async def test_the_tool_is_the_one_of_the_specification(memory: AsyncMemory) -> None:
    tool = query_memory_tool(memory)
    assert tool.name == "query_memory"
    schema = tool.params_json_schema
    assert schema["required"] == ["query"]
    assert schema["properties"]["query"]["type"] == "string"
    assert schema["properties"]["types"]["type"] == "array"
    assert schema["properties"]["types"]["items"]["enum"] == ["fact", "preference", "decision", "note"]
    assert all(one["description"] for one in schema["properties"].values())


async def test_types_choose_among_memories(memory: AsyncMemory) -> None:
    await memory.remember(PREFERENCE, type="instruction")
    assert [one["type"] for one in (await asked(memory, types=["preference"]))["memories"]] == ["preference"]
    assert (await asked(memory, types=["fact", "note"]))["memories"] == []


async def test_it_keeps_to_its_budget(memory: AsyncMemory) -> None:
    for number in range(12):
        await memory.remember(f"I prefer uv over pip in project {number}, " + "for many good reasons " * 12)
    answer = await asked(memory)
    assert 0 < answer["metadata"]["count"] < 12
    assert answer["metadata"]["truncated"] is True
    assert sum(len(one["content"].split()) for one in answer["memories"]) <= 1000


async def test_where_memory_is_away_it_answers_nothing_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncMemory("http://127.0.0.1:9", user="ann", timeout=0.5) as away:
        answer = await asked(away, MemorybusSession("c1", away))
    assert answer == {"memories": [], "metadata": {"count": 0, "truncated": False}, "error": True}
    assert "memory could not be asked" in caplog.text
    assert "memory did not learn" in caplog.text


async def test_a_memory_that_was_closed_answers_nothing_and_says_so(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncMemory(url, user="ann") as closed:
        pass
    answer = await asked(closed, MemorybusSession("c1", closed))
    assert answer == {"memories": [], "metadata": {"count": 0, "truncated": False}, "error": True}
    assert "was closed" in caplog.text


async def test_a_question_without_an_answer_is_learned_with_the_next_one(
    memory: AsyncMemory, learned: Callable[[int], Awaitable[None]], tmp_path: Any
) -> None:
    def session() -> MemorybusSession:
        return MemorybusSession("c1", memory, items=SQLiteSession("c1", tmp_path / "items"))

    await session().add_items([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}])
    await session().add_items([{"role": "user", "content": "I own a red canoe."}])
    await session().add_items([{"role": "user", "content": PREFERENCE}, {"role": "assistant", "content": "Noted."}])
    await learned(5)
    said = [entry.text for entry in (await memory.list()).items]
    assert said.count("I own a red canoe.") == said.count(PREFERENCE) == 1
    assert (await memory.status()).turns == 5  # what was answered is not published again


async def said_in(memory: AsyncMemory) -> list[str]:
    return sorted(entry.text for entry in (await memory.list()).items)


@pytest.mark.parametrize("by_another", [False, True])
@pytest.mark.parametrize("withdraw", ["pop_item", "clear_session"])
async def test_a_question_that_was_withdrawn_before_its_answer_is_never_learned(
    memory: AsyncMemory,
    learned: Callable[[int], Awaitable[None]],
    tmp_path: Any,
    withdraw: str,
    *,
    by_another: bool,
) -> None:
    def opened() -> MemorybusSession:
        return MemorybusSession("c1", memory, items=SQLiteSession("c1", tmp_path / "items"))

    session = opened()
    await session.add_items([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}])
    await session.add_items([{"role": "user", "content": "I have a debt of 9000 euros."}])
    session = opened() if by_another else session
    await getattr(session, withdraw)()
    session = opened() if by_another else session
    await session.add_items([{"role": "user", "content": PREFERENCE}, {"role": "assistant", "content": "Noted."}])
    await learned(4)
    assert await said_in(memory) == ["Hello.", "Hi.", PREFERENCE, "Noted."]
    assert (await memory.status()).turns == 4


async def test_an_answer_that_was_popped_takes_nothing_else_with_it(
    memory: AsyncMemory, learned: Callable[[int], Awaitable[None]]
) -> None:
    session = MemorybusSession("c1", memory)
    await session.add_items([{"role": "user", "content": PREFERENCE}, {"role": "assistant", "content": "Noted."}])
    assert (await session.pop_item() or {}).get("role") == "assistant"
    await session.add_items([{"role": "assistant", "content": "Then uv."}])
    await learned(3)
    assert await said_in(memory) == [PREFERENCE, "Noted.", "Then uv."]
    assert (await memory.status()).turns == 3


async def test_what_answers_a_question_that_is_not_kept_is_not_learned(
    memory: AsyncMemory, learned: Callable[[int], Awaitable[None]]
) -> None:
    session = MemorybusSession("c1", memory)
    for said, answer in ((SECRET, GIVEN_AWAY), ("Off the record:", "Go on."), ("I owe 900 euros.", "900, I see.")):
        agent, _ = agent_of(memory, assistant_message(answer))
        await Runner.run(agent, said, session=session)
    await session.add_items([{"role": "assistant", "content": "And 900 it is."}])
    agent, _ = agent_of(memory, assistant_message("Noted."))
    await Runner.run(agent, PREFERENCE, session=session)
    await learned(2)
    assert await said_in(memory) == [PREFERENCE, "Noted."]
    assert (await memory.status()).turns == 2


async def test_what_is_no_memory_is_refused_at_once(url: str) -> None:
    for make in (query_memory_tool, lambda memory: MemorybusSession("c1", memory)):
        with pytest.raises(TypeError, match="give AsyncMemory"):
            make(url)  # type: ignore[arg-type, no-untyped-call, unused-ignore]


async def test_wrong_arguments_are_told_to_the_model(memory: AsyncMemory) -> None:
    call = function_call("query_memory", {"query": QUESTION, "types": ["dream"]}, call_id="call_1")
    agent, model = agent_of(memory, call, assistant_message("Sorry."))
    await Runner.run(agent, QUESTION)
    assert model.last_call is not None
    assert "types.0" in model.last_call.input[-1]["output"]


async def test_a_session_gives_back_what_it_was_given(memory: AsyncMemory, tmp_path: Any) -> None:
    kept = SQLiteSession("c1", tmp_path / "items")
    session = MemorybusSession("c1", memory, items=kept)
    assert isinstance(session, Session)
    call = {"type": "function_call", "call_id": "1", "name": "clock", "arguments": "{}"}
    items: list[Any] = [
        {"role": "user", "content": "What time is it?"},
        call,
        {"role": "assistant", "content": "Nine."},
    ]
    await session.add_items(items)
    again = MemorybusSession("c1", memory, items=SQLiteSession("c1", tmp_path / "items"))
    assert await again.get_items() == items
    assert await again.get_items(limit=1) == items[-1:]
    assert await again.pop_item() == items[-1]
    await again.clear_session()
    assert await session.get_items() == []
    assert (await memory.status()).turns <= 2  # a call of a tool is nothing that was said
