"""What the dialects have in common: what a request says, and where memories go in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from services.gateway.proxy.dialects.content import (
    LONGEST_SAID,
    Json,
    Said,
    digest,
    form_of,
    has_to_call,
    is_programs,
    items,
    kind_of,
    member,
    put_in,
    role_of,
    said_in,
    string,
    text_of,
)
from services.gateway.proxy.dialects.events import EventReader
from services.gateway.proxy.dialects.wishes import Wishes, wishes_in, without_wishes
from services.shared.privacy.front_ends import ends_examples, is_handed
from services.shared.privacy.wrappers import without_rules

NOWHERE = -1
"""Position of the newest user message where there is none."""

_MOST_BEGUN = 32
"""Messages at the beginning of a chat among which is what a person said first."""

_MOST_UNANSWERED = 16
"""Messages of the user before the newest that nobody answered, as far as they count."""

_OF_A_MESSAGE = 256
"""Characters that take as long to read as what comes with every message."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says.

    `question` is what the user said newest, None where that is nothing, as with a picture alone; `position` the index
    of its message among the `messages`, `NOWHERE` without one; `history` what was said before it, instructions of the
    system included. `unanswered` is what the user said just before, with positions, that no answer stands behind;
    `opening` what they said first, or a digest of what else that was. None of it has what a program wrapped around the
    words of a person. `behind` is the id of the answer that the request goes on from, `talk` the name of the
    conversation, where the provider keeps what was said; with `has_id` a later request may go on from the answer.
    `answering_tools`: the request goes on with results of tools, the question is the same as before. `wants_form`: the
    answer has to be JSON or the call of a tool, not prose. `stripped` is the body without the wishes for the memory,
    the very same object if there were none.
    """

    question: str | None
    position: int
    messages: Sequence[Json]
    history: tuple[Said, ...]
    unanswered: tuple[tuple[int, str], ...]
    opening: str
    answering_tools: bool
    wants_form: bool
    wishes: Wishes
    stripped: Json
    behind: str = ""
    talk: str = ""
    has_id: bool = False

    @property
    def weight(self) -> int:
        """How much there is to read: characters, with some more for each message."""
        return sum(_OF_A_MESSAGE + len(said.text) for said in self.history) + len(self.question or "")

    @property
    def is_kept_there(self) -> bool:
        """Whether the provider knows what was said before."""
        return bool(self.talk or (self.behind and member(self.stripped, "previous_response_id")))

    @property
    def stream(self) -> bool:
        """Whether the answer is to come as a stream."""
        return member(self.stripped, "stream") is True

    @property
    def model(self) -> str:
        """The model that is asked."""
        return string(member(self.stripped, "model"))

    def as_sent(self, at: int) -> str:
        """The text of a message with all that a program put there."""
        return text_of(member(self.messages[at], "content"))


class Dialect(ABC):
    """One API of language models. A body that it does not understand asks nothing and gets nothing; it is no error.

    Of a request `place` is the field of the messages, `instructions` that of what the system says, and `part` the type
    of a part of text.
    """

    name: ClassVar[str]
    place: ClassVar[str] = "messages"
    instructions: ClassVar[str] = ""
    part: ClassVar[str] = "text"
    reader: ClassVar[type[EventReader]]
    """What reads one stream."""

    def read(self, body: Json) -> Asked:
        """What the request says.

        Raises:
            BadField: a field of memory is not as it must be.
        """
        wishes, stripped = wishes_in(body), self.stripped(body)
        sent = self.messages(stripped)
        position = self._position(sent)
        before = [said for said in self._history(stripped, sent[: max(0, position)]) if said.text]
        messages = _without_rules(sent, position, [said.text for said in before if said.role == "system"])
        return Asked(
            question=said_in(messages[position]) or None if position != NOWHERE else None,
            position=position,
            messages=sent,
            history=tuple(Said(said.role, said.text[:LONGEST_SAID]) for said in before),
            unanswered=self._unanswered(messages[: max(0, position)]),
            opening=self._opening(messages),
            answering_tools=any(self.results(message) for message in messages[position + 1 :]),
            wants_form=kind_of(form_of(stripped)) not in ("", "text") or has_to_call(stripped),
            wishes=wishes,
            stripped=stripped,
        )

    def stripped(self, body: Json) -> Json:
        """The body that the backend understands."""
        return without_wishes(body)

    def messages(self, stripped: Json) -> list[Json]:
        """The messages of a request."""
        return items(member(stripped, self.place))

    def is_users(self, message: Json) -> bool:
        """Whether the user says or shows something in a message."""
        return role_of(message) == "user"

    @abstractmethod
    def results(self, message: Json) -> list[Json]:
        """The contents of the results of tools in a message."""

    def _position(self, messages: Sequence[Json]) -> int:
        """The newest message of the user; one that a program made only where an answer stands before it."""
        found = NOWHERE
        for at in reversed(range(len(messages))):
            if not self.is_users(messages[at]):
                continue
            said = said_in(messages[at])
            found = at if found == NOWHERE or said else found
            if said or not is_programs(messages[at]) or (at and role_of(messages[at - 1]) == "assistant"):
                break
        return found

    def _history(self, stripped: Json, before: Sequence[Json]) -> Iterator[Said]:
        yield Said("system", text_of(member(stripped, self.instructions)))
        for message in before:
            results = self.results(message)
            yield from (Said("tool", text_of(result)) for result in results)
            role = role_of(message)
            if role is not None and role != "tool":
                yield Said(role, said_in(message))

    def _unanswered(self, before: Sequence[Json]) -> tuple[tuple[int, str], ...]:
        found: list[tuple[int, str]] = []
        for at in reversed(range(len(before))):
            if self.is_users(before[at]):
                found.append((at, said_in(before[at])))
            elif role_of(before[at]) != "system":
                break
        return tuple((at, said) for at, said in reversed(found[:_MOST_UNANSWERED]) if said)

    def _opening(self, messages: Sequence[Json]) -> str:
        """The text of the first message that a person wrote, or a digest of what it shows; else what there is."""
        begun = [at for at, message in enumerate(messages[:_MOST_BEGUN]) if self.is_users(message)]
        head = [(messages[at], said_in(messages[at]), _answer(messages, at)) for at in begun]
        invented = max((at for at, (_, said, answer) in enumerate(head) if ends_examples(said, answer)), default=-1)
        persons = (
            message
            for message, said, answer in head[invented + 1 :]
            if not is_handed(said, answer) and (said or not is_programs(message))
        )
        own = (message for message in messages if self.is_users(message))
        first = next(persons, next(own, next(iter(messages), None)))
        return said_in(first) or (digest(first) if first is not None else "")

    def with_memory(self, asked: Asked, block: str, recent: Sequence[Said]) -> Json:
        """The body with recent turns before the newest user message, and the block in front of its text."""
        if asked.position == NOWHERE:
            return asked.stripped
        messages = put_in(self.messages(asked.stripped), asked.position, block, recent, part=self.part)
        is_plain = isinstance(asked.stripped[self.place], str) and len(messages) == 1
        return {**asked.stripped, self.place: messages[0]["content"] if is_plain else messages}

    def answer_text(self, body: Json) -> str:
        """What the assistant said in a whole answer: no refusal, no call of a tool, no thought."""
        reader = self.reader()
        for event in self.events_of(body):
            reader.take(event)
        return reader.text

    @abstractmethod
    def events_of(self, body: Json) -> Iterator[Json]:
        """A whole answer as events of a stream."""

    def answer_id(self, body: Json) -> str:
        """The id by which later requests may go on from a whole answer; empty where the API has no such thing."""
        return ""

    @abstractmethod
    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        """An answer of our own, which took no tokens."""

    @abstractmethod
    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as server-sent events."""

    def error(self, status: int, message: str, code: str) -> Json:
        """An error as the API words it; as OpenAI does."""
        kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _without_rules(messages: Sequence[Json], position: int, systems: Sequence[str]) -> Sequence[Json]:
    """The messages, the newest of the user without rules behind what was typed that the system prompt ends with."""
    if position == NOWHERE or not systems:
        return messages
    newest = messages[position]
    match member(newest, "content"):
        case str() as content:
            newest = {**newest, "content": without_rules(string(content), systems)}
        case [*parts, dict() as last] if isinstance(last.get("text"), str):
            newest = {**newest, "content": [*parts, {**last, "text": without_rules(string(last["text"]), systems)}]}
    return [*messages[:position], newest, *messages[position + 1 :]]


def _answer(messages: Sequence[Json], at: int) -> str:
    """The text of the answer that stands behind a message."""
    after = messages[at + 1] if at + 1 < len(messages) else None
    return text_of(member(after, "content")) if role_of(after) == "assistant" else ""
