"""What the dialects have in common: the fields of memory, texts of messages, and the place of the block."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from services.shared.privacy.front_ends import ends_examples, is_handed
from services.shared.privacy.wrappers import spoken_by, without_rules

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

_LONGEST_SAID = 128 * 1024
"""Characters of one message of a history that are looked at: no memory is as long."""

_MOST_BEGUN = 32
"""Messages at the beginning of a chat among which is what a person said first."""

_MOST_UNANSWERED = 16
"""Messages of the user before the newest that nobody answered, as far as they count."""

_OF_A_MESSAGE = 256
"""Characters that take as long to read as what comes with every message."""

_ENDS_SEEN = 4096
"""Characters at either end of a picture or sound by which it is told from others."""

TEXT_KINDS = ("text", "input_text", "output_text")
"""The types of parts of text in all three APIs."""

_QUOTED = re.compile(r'"((?=[^"]*\s)(?:[^"\\]|\\.)*+)"', re.DOTALL)

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

    `question` is what the user said newest, None where that is nothing, as with a picture alone; `position` the index
    of its message, `NOWHERE` without one; `history` what was said before it, instructions of the system included.
    `unanswered` is what the user said just before, with positions, that no answer stands behind; `opening` what they
    said first, or a digest of what else that was. None of it has what a program wrapped around the words of a person.
    `behind` is the id of the answer that the request goes on from, `talk` the name of the conversation, where the
    provider keeps what was said; with `has_id` a later request may go on from the answer.
    `answering_tools`: the request goes on with results of tools, the question is the same as before. `wants_form`: the
    answer has to be JSON or the call of a tool, not prose. `memory_task` is what the client says of the task that it
    sets by itself. `stripped` is the body without the fields of memory, the very same object if there were none.
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
    memory_task: str | None = None
    unanswered: tuple[tuple[int, str], ...] = ()
    opening: str = ""
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

    @property
    def answer_id(self) -> str:
        """The id by which later requests may go on from the answer, as soon as it came; else empty."""
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

    def answer_id(self, body: Json) -> str:
        """The id by which later requests may go on from a whole answer; empty where the API has no such thing."""
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
    memory_task: StrictBool | Annotated[str, Field(max_length=256)] | None = None


_MUST_BE = {
    "memory_id": "the name of a conversation: text of 1 to 256 characters on one line",
    "memory_top_k": "a whole number from 1 to 200",
    "memory_incognito": "true or false",
    "memory_task": "the name of a task, true or false",
}
_IN_METADATA = "memory_task"
"""The field that may stand in `metadata` as well, which some clients alone can set."""


def memory_fields(body: Json) -> MemoryFields:
    """The fields of memory, checked.

    Raises:
        BadField: one of them is not as it must be, or there is none of this name.
    """
    fields = body if isinstance(body, dict) else {}
    if unknown := next((name for name in fields if name.startswith("memory_") and name not in _MUST_BE), None):
        raise BadField(f"{unknown[:64]!r} is no field of memory: there are {', '.join(_MUST_BE)}")
    if (told := member(member(body, "metadata"), _IN_METADATA)) is not None:
        fields = {_IN_METADATA: told, **fields}
    try:
        return MemoryFields.model_validate(fields)
    except ValidationError as error:
        name = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
        raise BadField(f"{name} has to be {_MUST_BE[name]}") from None


def without_memory_fields(body: Json) -> Json:
    """The body that a backend understands; the same object if it has no field of memory."""
    if not isinstance(body, dict):
        return body
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and _IN_METADATA in metadata:
        rest = {name: value for name, value in metadata.items() if name != _IN_METADATA}
        body = {name: value for name, value in body.items() if name != "metadata"} | (
            {"metadata": rest} if rest else {}
        )
    if body.keys().isdisjoint(_MUST_BE):
        return body
    return {name: value for name, value in body.items() if name not in _MUST_BE}


def asked(
    body: Json,
    stripped: Json,
    messages: Sequence[Json],
    *,
    is_users: Callable[[Json], bool],
    text: Callable[[Json], str],
    history: Callable[[Sequence[Json]], Iterator[Said]],
    answers_tools: Callable[[Json], bool],
    form: Json,
    behind: str = "",
    talk: str = "",
    has_id: bool = False,
) -> Asked:
    """A request, with what all dialects say in the same fields; `form` is the format that the answer has to have.

    Of the API are how it is told which messages `is_users`, what is the `text` of one, what the `history` is of those
    before the newest of the user, and whether one `answers_tools`.
    """
    fields = memory_fields(body)
    position = _position(messages, is_users, text)
    before = tuple(said for said in history(messages[: max(0, position)]) if said.text)
    messages = _without_rules(messages, position, [said.text for said in before if said.role == "system"])
    return Asked(
        question=text(messages[position]) or None if position != NOWHERE else None,
        position=position,
        history=tuple(Said(said.role, said.text[:_LONGEST_SAID]) for said in before),
        answering_tools=any(answers_tools(message) for message in messages[position + 1 :]),
        wants_form=kind_of(form) not in ("", "text") or _has_to_call(member(stripped, "tool_choice")),
        stream=member(stripped, "stream") is True,
        model=string(member(stripped, "model")),
        memory_id=fields.memory_id,
        memory_top_k=fields.memory_top_k,
        memory_incognito=bool(fields.memory_incognito),
        stripped=stripped,
        memory_task=None if fields.memory_task is None else str(fields.memory_task),
        unanswered=_unanswered(messages[: max(0, position)], is_users, text),
        opening=_opening(messages, is_users, text),
        behind=behind,
        talk=talk,
        has_id=has_id,
    )


def _position(messages: Sequence[Json], is_users: Callable[[Json], bool], text: Callable[[Json], str]) -> int:
    """The newest message of the user; one that a program made only where an answer stands before it."""
    found = NOWHERE
    for at in reversed(range(len(messages))):
        if not is_users(messages[at]):
            continue
        found = at if found == NOWHERE or text(messages[at]) else found
        if text(messages[at]) or not _is_programs(messages[at]) or (at and role_of(messages[at - 1]) == "assistant"):
            break
    return found


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


def _is_programs(message: Json) -> bool:
    """Whether a message in which nothing was said has texts alone, so that a program made it."""
    content = member(message, "content")
    return bool(text_of(content, TEXT_KINDS)) and all(kind_of(part) in TEXT_KINDS for part in items(content))


def _unanswered(
    before: Sequence[Json], is_users: Callable[[Json], bool], text: Callable[[Json], str]
) -> tuple[tuple[int, str], ...]:
    found: list[tuple[int, str]] = []
    for at in reversed(range(len(before))):
        if is_users(before[at]):
            found.append((at, text(before[at])))
        elif role_of(before[at]) != "system":
            break
    return tuple((at, said) for at, said in reversed(found[:_MOST_UNANSWERED]) if said)


def _opening(messages: Sequence[Json], is_users: Callable[[Json], bool], text: Callable[[Json], str]) -> str:
    """The text of the first message that a person wrote, or a digest of what it shows; else what there is of any."""
    head = [(message, _answer(messages, at)) for at, message in enumerate(messages[:_MOST_BEGUN]) if is_users(message)]
    invented = max((at for at, (one, answer) in enumerate(head) if ends_examples(text(one), answer)), default=-1)
    begun = (one for one, answer in head[invented + 1 :] if not is_handed(text(one), answer))
    own = (message for message in messages if is_users(message))
    first = next((one for one in begun if text(one) or not _is_programs(one)), next(own, next(iter(messages), None)))
    return text(first) or (_digest(first) if first is not None else "")


def _answer(messages: Sequence[Json], at: int) -> str:
    """The text of the answer that stands behind a message."""
    after = messages[at + 1] if at + 1 < len(messages) else None
    return text_of(member(after, "content"), TEXT_KINDS) if role_of(after) == "assistant" else ""


def _digest(message: Json) -> str:
    """A digest of all that a message has; of long texts, as pictures are, length and ends count."""
    digest, left = sha256(), [message]
    while left:
        match left.pop():
            case dict() as fields:
                left += [each for field in sorted(fields.items()) for each in field]
                digest.update(b"{%d" % len(fields))
            case list() as parts:
                left += parts
                digest.update(b"[%d" % len(parts))
            case str() as words:
                ends = words if len(words) <= 2 * _ENDS_SEEN else words[:_ENDS_SEEN] + words[-_ENDS_SEEN:]
                digest.update(f'"{len(words)}:{ends}'.encode(errors="replace"))
            case other:
                digest.update(repr(other).encode())
    return digest.hexdigest()


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
    return "\n".join(_texts(content, kinds)).strip()


def said_in(role: Role | None, content: Json, kinds: Container[str]) -> str:
    """What was said in a message's content; see `spoken_by`.

    Of a user all of it may be in quotation marks: so programs pass on what was typed to them on a command line.
    """
    said = spoken_by(role, *_texts(content, kinds))
    quoted = _QUOTED.fullmatch(said) if role == "user" else None  # findings/opencode-run-quotes.sh
    return quoted[1].replace('\\"', '"') if quoted else said


def _texts(content: Json, kinds: Container[str]) -> list[str]:
    if not isinstance(content, list):
        return [_both_ends(string(content))]
    texts = (string(member(part, "text")) for part in content if kind_of(part) in kinds)
    return [_both_ends(text) for text in texts if text]


def _both_ends(text: str) -> str:
    """As much of a text as is looked at: of a very long one how it begins and how it ends, where people's words are."""
    if len(text) <= 2 * _LONGEST_SAID:
        return text
    return f"{text[:_LONGEST_SAID]}\n…\n{text[-_LONGEST_SAID:]}"


def as_sent(asked: Asked, at: int | None = None) -> str:
    """The newest message of the user, or the one at a place, with all that a program put there."""
    given = member(asked.stripped, "messages") or member(asked.stripped, "input")
    at = asked.position if at is None else at
    if at == NOWHERE or not isinstance(given, list):
        return string(given)
    return text_of(member(given[at], "content"), TEXT_KINDS)


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
