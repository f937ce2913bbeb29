"""Google ADK: its runner and its memory tool, a scripted model, and our memory service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import Content, Part
from memorybus_client import AsyncMemory
from memorybus_client.google_adk import MemorybusMemoryService

from tests.frameworks.conftest import GIVEN_AWAY, PREFERENCE, QUESTION, SECRET

Learned = Callable[[int], Awaitable[None]]
APP = "helper"


class Scripted(BaseLlm):
    """A model that answers "Noted." and keeps what it was told."""

    told: list[str]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.told.append(str([part.text for content in llm_request.contents for part in content.parts or []]))
        yield LlmResponse(content=Content(role="model", parts=[Part(text="Noted.")]))


@pytest.fixture
def service(url: str) -> MemorybusMemoryService:
    return MemorybusMemoryService(lambda user: AsyncMemory(url, user=user), space="default")


async def converse(service: MemorybusMemoryService, user: str, said: str) -> tuple[str, Any]:
    """One conversation of a user: what the model was told, and the session."""
    model, sessions = Scripted(model="scripted", told=[]), InMemorySessionService()
    agent = LlmAgent(name="agent", model=model, tools=[PreloadMemoryTool()])
    runner = Runner(app_name=APP, agent=agent, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name=APP, user_id=user)
    message = Content(role="user", parts=[Part(text=said)])
    async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=message):
        pass
    return model.told[0], await sessions.get_session(app_name=APP, user_id=user, session_id=session.id)


async def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    service: MemorybusMemoryService, ann: str, learned: Learned
) -> None:
    _, session = await converse(service, ann, PREFERENCE)
    for _ in range(2):  # a session may be added as often as one likes
        await service.add_session_to_memory(session)
    await learned(2)
    assert PREFERENCE in (await converse(service, ann, QUESTION))[0]
    assert PREFERENCE not in (await converse(service, f"not-{ann}", QUESTION))[0]


async def test_what_answers_a_question_that_is_not_kept_is_not_added(
    service: MemorybusMemoryService, ann: str, memory: AsyncMemory, learned: Learned
) -> None:
    chat = [("user", SECRET), ("agent", GIVEN_AWAY), ("user", PREFERENCE), ("agent", "Noted.")]
    events = [Event(author=author, content=Content(parts=[Part(text=text)])) for author, text in chat]
    for _ in range(2):
        await service.add_events_to_memory(app_name=APP, user_id=ann, events=events, session_id="c1")
    await learned(2)
    assert sorted(entry.text for entry in (await memory.list()).items) == [PREFERENCE, "Noted."]
    assert (await memory.status()).turns == 2


async def test_what_is_found_says_who_said_it_and_when_and_can_be_deleted(
    service: MemorybusMemoryService, ann: str, memory: AsyncMemory, learned: Learned
) -> None:
    _, session = await converse(service, ann, PREFERENCE)
    await service.add_events_to_memory(app_name=APP, user_id=ann, events=session.events, session_id=session.id)
    await learned(2)
    (entry,) = (await memory.list(conversation_id=session.id, q="uv")).items
    (found,) = (await service.search_memory(app_name=APP, user_id=ann, query=QUESTION)).memories
    assert (found.id, found.author) == (entry.id, "user")
    assert found.timestamp is not None
    assert found.timestamp.startswith("20")
    await service.delete_memory(app_name=APP, user_id=ann, memory_id=found.id)
    assert (await service.search_memory(app_name=APP, user_id=ann, query=QUESTION)).memories == []


async def test_each_app_has_a_memory_of_its_own(url: str, ann: str) -> None:
    service = MemorybusMemoryService(lambda user: AsyncMemory(url, user=user))
    told = MemoryEntry(content=Content(role="user", parts=[Part(text=PREFERENCE)]))
    await service.add_memory(app_name=APP, user_id=ann, memories=[told])
    assert (await service.search_memory(app_name=APP, user_id=ann, query=QUESTION)).memories
    assert not (await service.search_memory(app_name="other", user_id=ann, query=QUESTION)).memories


async def test_where_memory_is_away_the_agent_goes_on() -> None:
    away = MemorybusMemoryService(lambda user: AsyncMemory("http://127.0.0.1:9", user=user, timeout=0.5))
    assert PREFERENCE in (await converse(away, "ann", PREFERENCE))[0]
