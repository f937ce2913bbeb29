"""What the dialects have in common: the fields of memory, texts of messages, and the place of the block."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

Json = Any
"""A value of JSON: no shape of it can be relied on."""

Role = Literal["user", "assistant", "system", "tool"]

ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
"""The roles of the three APIs, and what they are here."""

MOST_TEXT = 256 * 1024
"""Characters of an answer that are kept."""

NOWHERE = -1
"""Position of the newest user message where there is none."""

CACHE_MARK = "cache_control"
"""Field with which a client ends a part of the prompt that the provider keeps."""


class BadField(ValueError):
    """A field of memory is not as it must be, or unknown; the text says which, and what it may be."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said: the text of a message; pictures, sounds and calls of tools have none."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says.

    `question` is the newest text of the user, None where there is none, as with a picture alone; `position` the index
    of its message, `NOWHERE` without one; `history` what has a text before it, instructions of the system included.
    `answering_tools`: the request goes on with results of tools, the question is the same as before. `wants_form`: the
    answer has to be JSON or the call of a tool, not prose. `stripped` is the body without the fields of memory, the
    very same object if there were none.
    """

    question: str | None
    position: int
    history: tuple[Said, ...]
    answering_tools: bool
    wants_form: bool
    stream: bool
    model: str
    memory_id: str | None
    memory_top_k: int | None
    memory_incognito: bool
    stripped: Json


class StreamReader(Protocol):
    """Reads along with one stream. It never raises, and keeps a bounded part."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        ...

    @property
    def text(self) -> str:
        """What the assistant has said so far."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the stream said that the answer has ended."""
        ...


class Dialect(Protocol):
    """One API of language models. A body that it does not understand asks nothing and gets nothing; it is no error."""

    @property
    def name(self) -> str:
        """Its name in telemetry: chat, responses, messages."""
        ...

    @property
    def path(self) -> str:
        """Where it is spoken, below the base URL of a backend."""
        ...

    def read(self, body: Json) -> Asked:
        """What the request says.

        Raises:
            BadField: a field of memory is not as it must be.
        """
        ...

    def with_memory(self, asked: Asked, block: str, recent: Sequence[Said]) -> Json:
        """The body with recent turns before the newest user message, and the block in front of its text."""
        ...

    def answer_text(self, body: Json) -> str:
        """What the assistant said in a whole answer."""
        ...

    def reader(self) -> StreamReader:
        """A reader of one stream."""
        ...

    def spoken(self, text: str, asked: Asked, *, id: str, created: int) -> Json:
        """An answer of our own."""
        ...

    def spoken_stream(self, text: str, asked: Asked, *, id: str, created: int) -> Iterator[bytes]:
        """The same answer as server-sent events."""
        ...

    def error(self, status: int, message: str, code: str) -> Json:
        """An error as the API words it."""
        ...


class MemoryFields(BaseModel):
    """The fields of memory in a request."""

    model_config = ConfigDict(hide_input_in_errors=True, str_strip_whitespace=True)

    memory_id: str | None = Field(default=None, min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")
    memory_top_k: StrictInt | None = Field(default=None, ge=1, le=200)
    memory_incognito: StrictBool | None = None


_MUST_BE = {
    "memory_id": "the name of a conversation: text of 1 to 256 characters on one line",
    "memory_top_k": "a whole number from 1 to 200",
    "memory_incognito": "true or false",
}


def memory_fields(body: Json) -> MemoryFields:
    """The fields of memory, checked.

    Raises:
        BadField: one of them is not as it must be, or there is none of this name.
    """
    fields = body if isinstance(body, dict) else {}
    if unknown := next((name for name in fields if name.startswith("memory_") and name not in _MUST_BE), None):
        raise BadField(f"{unknown[:64]!r} is no field of memory: there are {', '.join(_MUST_BE)}")
    try:
        return MemoryFields.model_validate(fields)
    except ValidationError as error:
        name = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
        raise BadField(f"{name} has to be {_MUST_BE[name]}") from None


def without_memory_fields(body: Json) -> Json:
    """The body that a backend understands; the same object if it has no field of memory."""
    if not isinstance(body, dict) or body.keys().isdisjoint(_MUST_BE):
        return body
    return {name: value for name, value in body.items() if name not in _MUST_BE}


def asked(
    body: Json,
    stripped: Json,
    *,
    question: str | None,
    position: int,
    history: Sequence[Said],
    answering_tools: bool,
    form: Json,
) -> Asked:
    """A request, with what all dialects say in the same fields; `form` is the format that the answer has to have."""
    fields = memory_fields(body)
    return Asked(
        question=question or None,
        position=position,
        history=tuple(said for said in history if said.text),
        answering_tools=answering_tools,
        wants_form=kind_of(form) not in ("", "text") or _has_to_call(member(stripped, "tool_choice")),
        stream=member(stripped, "stream") is True,
        model=string(member(stripped, "model")),
        memory_id=fields.memory_id,
        memory_top_k=fields.memory_top_k,
        memory_incognito=bool(fields.memory_incognito),
        stripped=stripped,
    )


def _has_to_call(choice: Json) -> bool:
    """Whether the answer has to be the call of a tool: one that is named, any, or one of some."""
    if isinstance(choice, str):
        return choice in ("required", "any")
    allowed = member(choice, "allowed_tools") or choice
    return kind_of(choice) not in ("", "auto", "none") and member(allowed, "mode") != "auto"


def member(value: Json, name: str) -> Json:
    """The member of an object; None of anything else."""
    return value.get(name) if isinstance(value, dict) else None


def items(value: Json) -> list[Json]:
    """The items of a list; none of anything else."""
    return value if isinstance(value, list) else []


def string(value: Json) -> str:
    """A text, with halves of a character put together or replaced; an empty one for anything else."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def role_of(message: Json) -> Role | None:
    """The role of a message; None where it has none that is known."""
    role = member(message, "role")
    return ROLES.get(role) if isinstance(role, str) else None


def text_of(content: Json, kinds: Container[str]) -> str:
    """The text of a message's content: it is one, or a list with parts of these kinds."""
    if not isinstance(content, list):
        return string(content).strip()
    texts = (string(member(part, "text")) for part in content if kind_of(part) in kinds)
    return "\n".join(text for text in texts if text).strip()


def kind_of(part: Json) -> str:
    """The type of a part or item; an empty text where it has none."""
    kind = member(part, "type")
    return kind if isinstance(kind, str) else ""


def with_words(content: str | list[Json], words: str, part: str) -> Json:
    """The content with words in front of its text; `part` is the type of a part of text.

    They come after the last part with a mark of the client's prompt cache, so that what is kept is found again.
    """
    if isinstance(content, str):
        return f"{words}\n\n{content}"
    marked = [at for at, each in enumerate(content) if member(each, CACHE_MARK)]
    texts = (at for at, each in enumerate(content) if kind_of(each) == part)
    place = marked[-1] + 1 if marked else next(texts, len(content))
    return [*content[:place], {"type": part, "text": words}, *content[place:]]


def alternating(recent: Sequence[Said]) -> tuple[list[Said], str]:
    """Turns of user and assistant by turns, the user first; and what the user said last without an answer."""
    turns: list[Said] = []
    for said in recent:
        if said.role not in ("user", "assistant") or not (turns or said.role == "user"):
            continue
        if turns and turns[-1].role == said.role:
            said = Said(said.role, f"{turns.pop().text}\n\n{said.text}")
        turns.append(said)
    unanswered = turns.pop().text if turns and turns[-1].role == "user" else ""
    return turns, unanswered


def put_in(messages: list[Json], position: int, block: str, recent: Sequence[Said], *, part: str) -> list[Json]:
    """The messages with recent turns before the newest user message, and the block in front of its text."""
    turns, unanswered = alternating(recent)
    words = "\n\n".join(filter(None, (unanswered, block)))
    newest = messages[position]
    content = newest.get("content")
    if words and isinstance(content, str | list):
        newest = {**newest, "content": with_words(content, words, part)}
    before = ({"role": said.role, "content": said.text} for said in turns)
    return [*messages[:position], *before, newest, *messages[position + 1 :]]
