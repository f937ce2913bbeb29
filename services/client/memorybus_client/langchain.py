"""Memory for LangChain (langchain-core 1, from 1.7): a retriever, and a chat history that memory learns from.

from memorybus_client import Memory
from memorybus_client.langchain import MemorybusChatMessageHistory, MemorybusRetriever

memory = Memory(user="ann")
documents = MemorybusRetriever(memory=memory, k=5).invoke("which package manager?")
history = MemorybusChatMessageHistory("c1", memory)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever

from contracts.v1.retrieval import RetrievedItem
from contracts.v1.turns import EntryType, Role
from memorybus_client.errors import expect, looked_up
from memorybus_client.learning import Exchange, learn
from memorybus_client.sync import Memory

_LOOK_BACK = 20
"""Messages: what a new history looks through for questions that an earlier one left without an answer."""


class MemorybusRetriever(BaseRetriever):
    """Finds the `k` memories of one user that matter most, in one space; `k` may also be given to `invoke`.

    Each is a document: the text, and in `metadata` what is known about it. Raises `MemorybusError` where memory is
    away; `with_fallbacks` says what to do then.
    """

    memory: Memory
    k: int = 4
    space: str | None = None
    types: Sequence[EntryType] | None = None
    memory_tags: Sequence[str] | None = None
    min_score: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        found = self.memory.recall(
            query,
            limit=self.k if k is None else k,
            space=self.space,
            types=self.types,
            tags=self.memory_tags,
            min_score=self.min_score,
        )
        return [_document(item) for item in looked_up(found).items]


def _document(item: RetrievedItem) -> Document:
    about: dict[str, Any] = item.model_dump(
        mode="json",
        include={"type", "role", "speaker", "space", "conversation_id", "tags", "created_at", "last_said_at", "pinned"},
    )
    return Document(id=item.id, page_content=item.text, metadata=about | {"relevance": item.scores.relevance})


class MemorybusChatMessageHistory(BaseChatMessageHistory):
    """The messages of a conversation, which memory learns from; `session_id` is the conversation's id.

    `kept` is the history that keeps the messages: memorybus keeps what was said, and could not give calls of tools back
    as they were. Without one they are kept in this process. What users and assistants say is published as turns once
    the assistant has answered; what was never answered is published with the next answer, also by a later history over
    the same `kept`, unless it is cleared before: what is cleared later was said all the same, and is still remembered.
    Where publishing fails the chat goes on, and the log says so.
    """

    def __init__(
        self, session_id: str, memory: Memory, *, kept: BaseChatMessageHistory | None = None, space: str | None = None
    ) -> None:
        expect(memory, Memory)
        self.session_id = session_id
        self._memory, self._space, self._kept = memory, space, kept
        self._here: list[BaseMessage] = []
        self._exchange: Exchange | None = None

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override, unused-ignore]
        """All messages, oldest first."""
        return self._kept.messages if self._kept is not None else list(self._here)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep messages; with an answer, publish what was said up to it."""
        if self._exchange is None:
            self._exchange = Exchange(_all_said(self.messages[-_LOOK_BACK:]))
        if self._kept is not None:
            self._kept.add_messages(messages)
        else:
            self._here += messages
        said = _all_said(messages)
        learn(self._memory, self._exchange, said, conversation_id=self.session_id, space=self._space)

    def clear(self) -> None:
        """Take every message away; what waits for its answer is not learned any more."""
        self._exchange = Exchange()
        self._here.clear()
        if self._kept is not None:
            self._kept.clear()


def _all_said(messages: Sequence[BaseMessage]) -> list[tuple[Role, str]]:
    return [one for message in messages if (one := _said(message)) is not None]


def _said(message: BaseMessage) -> tuple[Role, str] | None:
    """Who says what; nothing where it is no message of a user or an assistant, or has no text."""
    if not isinstance(message, HumanMessage | AIMessage) or not (text := str(message.text)):
        return None
    return ("user" if isinstance(message, HumanMessage) else "assistant"), text
