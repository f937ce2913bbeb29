"""Claude's export: the archive that it sends, or `conversations.json` and `memories.json` from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    ABANDONED,
    ROLES,
    Statement,
    each,
    each_readable,
    named_after,
    paragraphs,
    readable,
    taken,
    text_of,
    turns,
)
from services.shared.commands.formats.source import WITHOUT_TEXT, FormatError, Source
from services.shared.commands.formats.times import When

_DOCUMENTS = re.compile(r"(^|/)((conversations|memories)(-\d+)?|memories/[^/]+)\.json$")
_PROJECTS = re.compile(r"(^|/)projects(-\d+)?(/[^/]+)?\.json$")
_OF_PROJECTS = "of projects, their instructions and documents"
_MADE = re.compile(r"<ant(Artifact|Thinking)\b[^>]*>.*?(?:</ant\1>|\Z)", re.DOTALL)
_HEADING = re.compile(r"\*\*([^*\n]+)\*\*:?|#{1,6} +([^\n]+)")
_ROOT = "00000000-0000-4000-8000-000000000000"  # the parent of a first message


class _Message(BaseModel):
    """One message; where it has parts, these count, for its text then tells what else is in them."""

    sender: str
    uuid: str | None = None
    text: str = ""
    content: list[dict[str, Any]] = []
    created_at: When | None = None
    parent_message_uuid: str | None = None
    attachments: Any = None
    files: Any = None

    def parts(self) -> str:
        """The text with all that is written into it, and each part on lines of its own."""
        return text_of(self.content) if self.content else self.text

    def words(self) -> str:
        """What was said: no thought, no use of a tool, no document. A sentence may go on in the next part."""
        text = _flowing(self.content) if self.content else self.text
        return text if ROLES.get(self.sender) == "user" else _MADE.sub("", text).strip()

    def attached(self) -> int:
        """How many files came with it."""
        return sum(len(files) for files in (self.attachments, self.files) if isinstance(files, list))


class _Conversation(BaseModel):
    chat_messages: list[Any]
    uuid: str | None = None
    name: Any = None
    created_at: When | None = None
    updated_at: When | None = None
    current_leaf_message_uuid: str | None = None


class _Memories(BaseModel):
    """What Claude itself has noted, over all conversations and by project."""

    conversations_memory: str | None = None
    project_memories: dict[str, str | None] | None = None


def read_claude(source: Source) -> Iterator[Turn]:
    """The turns of all conversations, of each the branch that is shown where it has several. A title becomes a tag.

    Claude's own notes become saved notes, a paragraph each, with the heading above it.
    """
    for name, document in documents(source, _DOCUMENTS, projects=_PROJECTS):
        for number, data in enumerate(each(document, "conversations"), start=1):
            yield from _turns(source, data, f"{name}: item {number}")


def _turns(source: Source, data: Any, where: str) -> Iterator[Turn]:
    told = data.keys() if isinstance(data, dict) else ()
    if "conversations_memory" in told or "project_memories" in told:
        memories = readable(source, _Memories, data, where)
        yield from turns(source, _notes(source, memories, where) if memories else ())
    elif "mapping" in told:
        raise FormatError(f"{where}: has no chat_messages: is it --format chatgpt?")
    elif "prompt_template" in told and "chat_messages" not in told:
        source.skipped[_OF_PROJECTS] += 1
    elif (conversation := readable(source, _Conversation, data, where)) is not None:
        yield from turns(
            source, _statements(source, conversation, where), conversation.created_at or conversation.updated_at
        )


def _statements(source: Source, conversation: _Conversation, where: str) -> Iterator[Statement]:
    messages = _shown(source, conversation, where)
    first = next((message.uuid or message.parts() for message in messages), None)
    for number, message in enumerate(messages, start=1):
        yield Statement(
            f"{where}: message {number}",
            message.uuid,
            ROLES.get(message.sender),
            message.words(),
            conversation.uuid or named_after("claude", first),
            message.created_at,
            tags=(conversation.name,) if isinstance(conversation.name, str) else (),
            known_by=message.parts(),
            attached=message.attached(),
        )


def _shown(source: Source, conversation: _Conversation, where: str) -> list[_Message]:
    """The messages that are shown: where some were edited or made anew, and no leaf is told, those of the newest."""
    given = conversation.chat_messages
    read = each_readable(source, _Message, given, f"{where}: message")
    messages = [message for _, message in read if message.uuid != _ROOT]
    # One that cannot be read has its place in the tree, too.
    parents = {uuid: _text(data, "parent_message_uuid") for data in given if (uuid := _text(data, "uuid"))}
    times = {message.uuid: message.created_at.timestamp() for message in messages if message.created_at}
    newest_first = sorted(reversed(parents), key=lambda uuid: times.get(uuid, 0.0), reverse=True)
    leaf = conversation.current_leaf_message_uuid
    kept = taken(parents, [leaf, *newest_first] if leaf else newest_first)
    shown = [message for message in messages if not message.uuid or message.uuid in kept]
    source.skipped.update([ABANDONED] * (len(messages) - len(shown)))
    return shown


def _text(data: Any, name: str) -> str | None:
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def _flowing(content: list[dict[str, Any]]) -> str:
    """The texts of the parts, each on a line of its own, but where a sentence goes on."""
    text = ""
    for part in content:
        said = _text(part, "text") if part.get("type") == "text" else None
        if said:
            goes_on = not text or text[-1].isspace() or said[0].isspace()
            text += said if goes_on else f"\n{said}"
    return text.strip()


def _notes(source: Source, memories: _Memories, where: str) -> Iterator[Statement]:
    given = {"claude": memories.conversations_memory, **(memories.project_memories or {})}
    for name, text in given.items():
        for number, heading, part in _with_headings(source, text or ""):
            yield Statement(
                f"{where}: paragraph {number} of {name!r}",
                None,
                "assistant",
                f"{heading}\n{part}".strip(),
                "claude",
                type="note",
                saved=True,
                origin=name,
                known_by=part,
            )


def _with_headings(source: Source, text: str) -> Iterator[tuple[int, str, str]]:
    """The paragraphs with numbers and headings; a heading goes with the next one, and is nothing without it."""
    heading = ""
    for number, part in enumerate(paragraphs(text), start=1):
        found = _HEADING.fullmatch(part)
        if found:
            source.skipped.update([WITHOUT_TEXT] if heading else [])
            heading = (found[1] or found[2]).strip()
        else:
            yield number, heading, part
            heading = ""
    source.skipped.update([WITHOUT_TEXT] if heading else [])
