"""Publishing what a chat says, beside the chat: where that fails the chat goes on, and the log says so."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from contracts.v1.retrieval import RetrieveReply
from contracts.v1.turns import MOST_TEXT_BYTES, Role
from memorybus_client.aio import AsyncMemory
from memorybus_client.caller import SharedCaller
from memorybus_client.errors import MemorybusError, Unavailable, expect, looked_up
from memorybus_client.sync import Memory

log = logging.getLogger(__name__)

LONGEST_QUERY = 8192

Said = Iterable[tuple[Role, str]]
"""Who said what, in order; what is blank says nothing."""


def awaited(memory: AsyncMemory | Memory) -> AsyncMemory:
    """The memory as one that is awaited; a `Memory` may then be called from several event loops.

    Raises:
        TypeError: it is no memory.
    """
    if not isinstance(memory, Memory):
        expect(memory, AsyncMemory)
        return memory
    shared = AsyncMemory.__new__(AsyncMemory)
    shared._caller = SharedCaller(memory._awaited._caller, memory._thread)
    return shared


def beginning(text: str) -> str:
    """As much of a text as a turn may hold; half of a pair of characters, which no text may have, becomes "?"."""
    return text.encode(errors="replace")[:MOST_TEXT_BYTES].decode(errors="ignore")


async def recalled(memory: AsyncMemory, query: str, **asked: Any) -> RetrieveReply | None:
    """What memory knows of the beginning of a query; None where it could not be asked, which the log tells."""
    try:
        return looked_up(await memory.recall(beginning(query)[:LONGEST_QUERY], **asked))
    except MemorybusError as error:
        log.warning("memory could not be asked: %s", error)
        return None


class Exchange:
    """What was said since the last answer. A question is published with its answer, or it would be found itself.

    Of what was said `before` it takes up what has no answer yet. What answers a question that is not kept, or could not
    be published, is not published either: it may repeat every word of it.
    """

    def __init__(self, before: Said = ()) -> None:
        self._said: list[tuple[Role, str]] = []
        self._is_kept = True
        for said in before:
            self._said = [*self._said, said] if said[0] == "user" else []

    def until_answered(self, said: Said) -> list[tuple[Role, str]]:
        """What is to be published now: nothing, or all up to the answer."""
        self._said += said
        if not any(role == "assistant" for role, _ in self._said):
            return []
        done, self._said = self._said, []
        return done

    def withdraw(self, said: tuple[Role, str] | None) -> None:
        """Take back what was said last, where it waits for an answer."""
        if self._said and self._said[-1] == said:
            self._said.pop()

    def may_tell(self, role: Role, text: str) -> bool:
        """Whether this is to be published."""
        return bool(text.strip()) and (role == "user" or self._is_kept)

    def note(self, role: Role, *, kept: bool | None) -> None:
        """What became of something that was to be published; None: nobody knows."""
        if role == "user":
            self._is_kept = kept is not False


async def alearn(
    memory: AsyncMemory, exchange: Exchange, said: Said, *, conversation_id: str | None, space: str | None
) -> None:
    """Publish what was said up to an answer, one turn after the other."""
    for role, text in exchange.until_answered(said):
        if exchange.may_tell(role, text):
            try:
                turn = await memory.publish(beginning(text), role=role, conversation_id=conversation_id, space=space)
                exchange.note(role, kept=turn.kept)
            except MemorybusError as error:
                exchange.note(role, kept=False)
                log.warning(_NOT_LEARNED, error)
                if isinstance(error, Unavailable):  # the others would wait as long, and in vain
                    break


def learn(memory: Memory, exchange: Exchange, said: Said, *, conversation_id: str | None, space: str | None) -> None:
    """The same for programs without an event loop."""
    work = alearn(memory._awaited, exchange, said, conversation_id=conversation_id, space=space)
    memory._thread.run(work)


_NOT_LEARNED = "memory did not learn what was said: %s"
