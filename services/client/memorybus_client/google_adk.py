"""Memory for the Google Agent Development Kit (google-adk 2, from 2.13): its memory service.

from memorybus_client import AsyncMemory
from memorybus_client.google_adk import MemorybusMemoryService

service = MemorybusMemoryService(lambda user: AsyncMemory("http://127.0.0.1:8400", user=user))
runner = Runner(app_name="helper", agent=agent, session_service=sessions, memory_service=service)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from google.adk.events import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai.types import Content, Part

from contracts.v1.retrieval import RetrievedItem
from memorybus_client.aio import AsyncMemory
from memorybus_client.errors import expect
from memorybus_client.learning import beginning, recalled


class MemorybusMemoryService(BaseMemoryService):
    """Publishes what events say, and finds it again.

    `connect` makes the client of a user, whose memory alone it reaches. The space is the name of the app, so that each
    app has a memory of its own, or `space` for all of them. Of contents the text is kept, of a long one the beginning;
    an event counts once, however often its session is added. Custom metadata is not kept. A search answers nothing
    where memory is away, and the log says so; what cannot be added or deleted raises `MemorybusError`.
    """

    def __init__(
        self,
        connect: Callable[[str], AsyncMemory],
        *,
        space: str | None = None,
        limit: int = 10,
        token_budget: int = 1000,
    ) -> None:
        if not callable(connect):
            raise TypeError(
                "give a function that makes the AsyncMemory of a user, as in lambda user: AsyncMemory(user=user)"
            )
        self._connect, self._space = connect, space
        self._limit, self._token_budget = limit, token_budget

    def _memory_of(self, user_id: str) -> AsyncMemory:
        memory = self._connect(user_id)
        expect(memory, AsyncMemory)
        return memory

    async def add_session_to_memory(self, session: Session) -> None:
        """Publish everything that a session says."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Publish what events say; those that are still being streamed say nothing yet."""
        async with self._memory_of(user_id) as memory:
            is_kept = True  # what answers a question that is not kept may repeat every word of it
            for event in events:
                by_user = event.author == "user"
                if (text := _text(event.content)) and not event.partial and (by_user or is_kept):
                    turn = await memory.publish(
                        beginning(text),
                        role="user" if by_user else "assistant",
                        speaker=None if by_user else event.author or None,
                        turn_id=event.id or None,
                        conversation_id=session_id,
                        created_at=datetime.fromtimestamp(event.timestamp, UTC),
                        space=self._space or app_name,
                    )
                    is_kept = turn.kept is not False if by_user else is_kept

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember statements."""
        async with self._memory_of(user_id) as memory:
            for entry in memories:
                if text := _text(entry.content):
                    await memory.remember(text, space=self._space or app_name)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Find what matters for a query."""
        space, limit, budget = self._space or app_name, self._limit, self._token_budget
        async with self._memory_of(user_id) as memory:
            found = await recalled(memory, query, space=space, limit=limit, token_budget=budget)
        return SearchMemoryResponse(memories=[_memory(item) for item in found.items] if found else [])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory that a search found."""
        if memory_id:
            async with self._memory_of(user_id) as memory:
                await memory.forget(memory_id)


def _text(content: Content | None) -> str:
    parts = (content.parts or []) if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _memory(item: RetrievedItem) -> MemoryEntry:
    return MemoryEntry(
        id=item.id,
        author=item.speaker or item.role,
        timestamp=item.last_said_at.isoformat(),
        content=Content(role="user" if item.role == "user" else "model", parts=[Part(text=item.text)]),
    )
