"""LlamaIndex: its `Memory` with our block, in front of a scripted assistant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from memorybus_client import AsyncMemory
from memorybus_client import Memory as BlockingMemory
from memorybus_client.llama_index import MemorybusBlock

from tests.frameworks.conftest import GIVEN_AWAY, PREFERENCE, QUESTION, SECRET

Learned = Callable[[int], Awaitable[None]]


def conversation(memory: AsyncMemory | BlockingMemory, session_id: str, token_limit: int = 30_000) -> Memory:
    """A memory that asks no model and downloads no tokenizer."""
    block = MemorybusBlock(memory=memory)
    return Memory.from_defaults(
        session_id=session_id, memory_blocks=[block], token_limit=token_limit, tokenizer_fn=str.split
    )


async def told(chat: Memory, said: str) -> str:
    """What a model is told before it answers, as an agent asks for it; it answers "Noted."."""
    await chat.aput(ChatMessage(role="user", content=said))
    messages = await chat.aget()
    await chat.aput(ChatMessage(role="assistant", content="Noted."))
    return "\n".join(str(message.content) for message in messages)


async def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    memory: AsyncMemory, bobs: AsyncMemory, learned: Learned
) -> None:
    await told(conversation(memory, "c1"), PREFERENCE)
    await learned(1)
    next_one = await told(conversation(memory, "c2"), QUESTION)
    assert PREFERENCE in next_one
    assert "<long_term_memory>" in next_one
    assert PREFERENCE not in await told(conversation(bobs, "c1"), QUESTION)


async def test_every_message_is_learned_once(memory: AsyncMemory, learned: Learned) -> None:
    chat = conversation(memory, "c1")
    for said in (PREFERENCE, "I live in Graz.", "What is the weather?"):
        await told(chat, said)
    await chat.aget()
    await learned(4)  # and "Noted." only once
    assert (await memory.status()).turns == 4
    (entry,) = (await memory.list(q="graz")).items
    assert (entry.conversation_id, entry.role) == ("c1", "user")


async def test_what_leaves_the_short_term_memory_is_learned(memory: AsyncMemory, learned: Learned) -> None:
    chat = conversation(memory, "c1", token_limit=40)
    for number in range(4):
        await chat.aput(ChatMessage(role="user", content=f"In drawer {number} are {7 * number} spoons. " * 3))
        await chat.aput(ChatMessage(role="assistant", content="Noted. " * 10))
    await learned(2)
    assert (await memory.list(q="drawer spoons")).total_count > 0


@pytest.mark.parametrize("token_limit", [30_000, 40])
async def test_what_answers_a_question_that_is_not_kept_is_not_learned(
    memory: AsyncMemory, learned: Learned, token_limit: int
) -> None:
    chat = conversation(memory, "c1", token_limit)
    await chat.aput(ChatMessage(role="user", content=SECRET))
    await chat.aget()
    await chat.aput(ChatMessage(role="assistant", content=GIVEN_AWAY + " And so on." * 12))
    await told(chat, PREFERENCE)
    await told(chat, "Half \ud83d of a smile.")
    await learned(3)
    said = [entry.text for entry in (await memory.list()).items]
    assert sorted(said) == ["Half ? of a smile.", PREFERENCE, "Noted."]


async def test_where_memory_is_away_the_chat_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async with AsyncMemory("http://127.0.0.1:9", user="ann", timeout=0.5) as away:
        assert await told(conversation(away, "c1"), QUESTION) == QUESTION
    assert "memory could not be asked" in caplog.text


def in_a_loop_of_its_own(memory: BlockingMemory, session_id: str, said: str) -> str:
    return asyncio.run(told(conversation(memory, session_id), said))


async def test_a_memory_that_is_waited_for_serves_every_event_loop(url: str, ann: str, learned: Learned) -> None:
    with BlockingMemory(url, user=ann) as memory:
        await asyncio.to_thread(in_a_loop_of_its_own, memory, "c1", PREFERENCE)
        await learned(1)
        assert PREFERENCE in await asyncio.to_thread(in_a_loop_of_its_own, memory, "c2", QUESTION)


async def test_of_a_long_message_the_beginning_is_learned_and_what_follows_as_well(
    memory: AsyncMemory, learned: Learned
) -> None:
    chat = conversation(memory, "c1", token_limit=500_000)
    await told(chat, f"{PREFERENCE} {'q ' * 50_000}")
    await told(chat, "I live in Graz.")
    await chat.aget()
    await learned(3)
    assert (await memory.list(q="graz")).total_count == (await memory.list(q="uv pip")).total_count == 1
