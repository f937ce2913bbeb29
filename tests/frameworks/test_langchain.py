"""LangChain: its own tests of retrievers, and a chain with our history."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_tests.integration_tests import RetrieversIntegrationTests
from memorybus_client import Memory, Unavailable
from memorybus_client.langchain import MemorybusChatMessageHistory, MemorybusRetriever

from tests.frameworks.conftest import GIVEN_AWAY, PREFERENCE, QUESTION, SECRET


@pytest.fixture
def blocking(url: str, ann: str) -> Iterator[Memory]:
    with Memory(url, user=ann) as opened:
        yield opened


class TestTheRetriever(RetrieversIntegrationTests):
    """The tests that LangChain has for retrievers."""

    memory: Memory

    @pytest.fixture(autouse=True)
    def known(self, blocking: Memory) -> None:
        for number in range(3):
            blocking.remember(f"In project {number} I prefer uv over pip.")
        self.memory = blocking

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemorybusRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def learned(memory: Memory, turns: int) -> None:
    for _ in range(1000):
        status = memory.status()
        if status.turns >= turns and not status.pending:
            return
        time.sleep(0.02)
    raise AssertionError(f"not digested: {status}")


class Recorded(GenericFakeChatModel):
    """A scripted model that keeps what it was told."""

    told: list[str]

    def _generate(self, messages: Any, *more: Any, **named: Any) -> Any:
        self.told.append("\n".join(str(one.text) for one in messages))
        return super()._generate(messages, *more, **named)


def converse(memory: Memory, session_id: str, said: str) -> str:
    """What the model is told in one exchange: what the retriever found, the history, the words of the user."""
    model = Recorded(messages=iter([AIMessage("Noted.")]), told=[])
    prompt = ChatPromptTemplate.from_messages(
        [("system", "You know: {known}"), MessagesPlaceholder("history"), ("human", "{said}")]
    )
    known = RunnableLambda(lambda given: given["said"]) | MemorybusRetriever(memory=memory)
    chat = RunnableWithMessageHistory(
        RunnablePassthrough.assign(known=known) | prompt | model,
        lambda session_id: MemorybusChatMessageHistory(session_id, memory),
        input_messages_key="said",
        history_messages_key="history",
    )
    chat.invoke({"said": said}, {"configurable": {"session_id": session_id}})
    return model.told[0]


def test_a_preference_of_one_conversation_is_used_in_the_next_and_by_nobody_else(
    url: str, ann: str, blocking: Memory
) -> None:
    converse(blocking, "c1", PREFERENCE)
    learned(blocking, 2)
    assert PREFERENCE in converse(blocking, "c2", QUESTION)
    with Memory(url, user=f"not-{ann}") as bobs:
        assert PREFERENCE not in converse(bobs, "c1", QUESTION)


def test_a_document_tells_what_is_known(blocking: Memory) -> None:
    entry = blocking.remember(PREFERENCE, type="preference", tags=["work"])
    (found,) = MemorybusRetriever(memory=blocking, memory_tags=["work"]).invoke(QUESTION)
    assert (found.id, found.page_content) == (entry.id, PREFERENCE)
    assert {"type": "preference", "role": "user", "tags": ["work"]}.items() <= found.metadata.items()
    assert 0 < found.metadata["relevance"] <= 1
    assert MemorybusRetriever(memory=blocking, types=["fact"]).invoke(QUESTION) == []


def test_a_history_gives_back_what_it_was_given(blocking: Memory) -> None:
    call = AIMessage("", tool_calls=[{"name": "clock", "args": {}, "id": "1"}])
    messages = [HumanMessage("What time is it?"), call, ToolMessage("9", tool_call_id="1"), AIMessage("Nine.")]
    kept = MemorybusChatMessageHistory("c1", blocking)
    again = MemorybusChatMessageHistory("c1", blocking, kept=kept)
    kept.add_messages(messages[:1])
    assert blocking.status().turns == 0  # until there is an answer
    kept.add_messages(messages[1:])
    learned(blocking, 2)
    assert again.messages == messages
    again.clear()
    assert kept.messages == []
    assert blocking.status().turns == 2


def test_a_question_that_was_cleared_and_an_answer_to_what_is_not_kept_are_never_learned(blocking: Memory) -> None:
    history = MemorybusChatMessageHistory("c1", blocking)
    history.add_messages([HumanMessage("I have a debt of 9000 euros.")])
    history.clear()
    history.add_messages([HumanMessage(SECRET), AIMessage(GIVEN_AWAY)])
    history.add_messages([HumanMessage(PREFERENCE), AIMessage("Noted.")])
    learned(blocking, 2)
    assert sorted(entry.text for entry in blocking.list().items) == [PREFERENCE, "Noted."]
    assert blocking.status().turns == 2


def test_where_memory_is_away_the_chat_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with Memory("http://127.0.0.1:9", user="ann", timeout=0.5) as away:
        history = MemorybusChatMessageHistory("c1", away)
        history.add_messages([HumanMessage(PREFERENCE), AIMessage("Noted.")])
        assert len(history.messages) == 2
        with pytest.raises(Unavailable):
            MemorybusRetriever(memory=away).invoke(QUESTION)
    assert "memory did not learn" in caplog.text
