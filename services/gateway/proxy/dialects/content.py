"""JSON of requests and answers, no shape of which can be relied on: members, roles and texts, and words put in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from services.shared.privacy.wrappers import spoken_by

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

TEXT_KINDS = ("text", "input_text", "output_text")
"""The types of parts of text in all three APIs."""

LONGEST_SAID = 128 * 1024
"""Characters of one message of a history that are looked at: no memory is as long."""

_ENDS_SEEN = 4096
"""Characters at either end of a picture or sound by which it is told from others."""

_CACHE_MARK = "cache_control"
"""Field with which a client ends a part of the prompt that the provider keeps."""

_QUOTED = re.compile(r'"((?=[^"]*\s)(?:[^"\\]|\\.)*+)"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said: the text of a message; pictures, sounds and calls of tools have none."""

    role: Role
    text: str


def member(value: Json, *path: str) -> Json:
    """What stands in an object under a name, or in objects under several; None of anything else."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


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


def kind_of(part: Json) -> str:
    """The type of a part or item; an empty text where it has none."""
    kind = member(part, "type")
    return kind if isinstance(kind, str) else ""


def text_of(content: Json) -> str:
    """The text of a message's content: it is one, or a list with parts of text."""
    return "\n".join(_texts(content)).strip()


def said_in(message: Json) -> str:
    """What was said in a message; see `spoken_by`.

    Of a user all of it may be in quotation marks: so programs pass on what was typed to them on a command line.
    """
    role = role_of(message)
    said = spoken_by(role, *_texts(member(message, "content")))
    quoted = _QUOTED.fullmatch(said) if role == "user" else None  # findings/opencode-run-quotes.sh
    return quoted[1].replace('\\"', '"') if quoted else said


def _texts(content: Json) -> list[str]:
    if not isinstance(content, list):
        return [_both_ends(string(content))]
    texts = (string(member(part, "text")) for part in content if kind_of(part) in TEXT_KINDS)
    return [_both_ends(text) for text in texts if text]


def _both_ends(text: str) -> str:
    """As much of a text as is looked at: of a very long one how it begins and how it ends, where people's words are."""
    if len(text) <= 2 * LONGEST_SAID:
        return text
    return f"{text[:LONGEST_SAID]}\n…\n{text[-LONGEST_SAID:]}"


def is_programs(message: Json) -> bool:
    """Whether a message in which nothing was said has texts alone, so that a program made it."""
    content = member(message, "content")
    return bool(text_of(content)) and all(kind_of(part) in TEXT_KINDS for part in items(content))


def digest(message: Json) -> str:
    """A digest of all that a message has; of long texts, as pictures are, length and ends count."""
    made, left = sha256(), [message]
    while left:
        match left.pop():
            case dict() as fields:
                left += [each for field in sorted(fields.items()) for each in field]
                made.update(b"{%d" % len(fields))
            case list() as parts:
                left += parts
                made.update(b"[%d" % len(parts))
            case str() as words:
                ends = words if len(words) <= 2 * _ENDS_SEEN else words[:_ENDS_SEEN] + words[-_ENDS_SEEN:]
                made.update(f'"{len(words)}:{ends}'.encode(errors="replace"))
            case other:
                made.update(repr(other).encode())
    return made.hexdigest()


def form_of(body: Json) -> Json:
    """The format that the answer has to have, as any of the APIs calls it."""
    places = (("response_format",), ("text", "format"), ("output_config", "format"), ("output_format",))
    return next(filter(None, (member(body, *place) for place in places)), None)


def has_to_call(body: Json) -> bool:
    """Whether the answer has to be the call of a tool: one that is named, any, or one of some."""
    choice = member(body, "tool_choice")
    if isinstance(choice, str):
        return choice in ("required", "any")
    allowed = member(choice, "allowed_tools") or choice
    return kind_of(choice) not in ("", "auto", "none") and member(allowed, "mode") != "auto"


def put_in(messages: list[Json], position: int, block: str, recent: Sequence[Said], *, part: str) -> list[Json]:
    """The messages with recent turns before the newest of the user, and the block in front of its text.

    `part` is the type of a part of text.
    """
    turns, unanswered = _alternating(recent)
    words = "\n\n".join(filter(None, (unanswered, block)))
    newest = messages[position]
    content = newest.get("content")
    if words and isinstance(content, str | list):
        newest = {**newest, "content": _with_words(content, words, part)}
    before = ({"role": said.role, "content": said.text} for said in turns)
    return [*messages[:position], *before, newest, *messages[position + 1 :]]


def _alternating(recent: Sequence[Said]) -> tuple[list[Said], str]:
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


def _with_words(content: str | list[Json], words: str, part: str) -> Json:
    """The content with words in front of its text.

    They come after the last part with a mark of the client's prompt cache, so that what is kept is found again.
    """
    if isinstance(content, str):
        return f"{words}\n\n{content}"
    marked = [at for at, each in enumerate(content) if member(each, _CACHE_MARK)]
    texts = (at for at, each in enumerate(content) if kind_of(each) == part)
    place = marked[-1] + 1 if marked else next(texts, len(content))
    return [*content[:place], {"type": part, "text": words}, *content[place:]]
