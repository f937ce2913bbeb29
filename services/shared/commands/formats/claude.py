"""Claude's export: the archive that it sends, or `conversations.json` and `memories.json` from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    ATTACHED,
    NOT_SAID,
    ROLES,
    Statement,
    When,
    branch,
    each,
    paragraphs,
    readable,
    text_of,
    turns,
)
from services.shared.commands.formats.source import WITHOUT_TEXT, FormatError, Source, checked

_DOCUMENTS = re.compile(r"(^|/)((conversations|memories)(-\d+)?|memories/[^/]+)\.json$")
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

    def words(self) -> str:
        """What was said: no thought, no use of a tool."""
        return text_of(self.content) if self.content else self.text

    def attached(self) -> int:
        """How many files came with it."""
        return sum(len(files) for files in (self.attachments, self.files) if isinstance(files, list))


class _Conversation(BaseModel):
    chat_messages: list[Any]
    uuid: str | None = None
    name: Any = None
    created_at: When | None = None
    current_leaf_message_uuid: str | None = None


class _Memories(BaseModel):
    """What Claude itself has noted, over all conversations and by project."""

    conversations_memory: str | None = None
    project_memories: dict[str, str] = {}


def read_claude(source: Source) -> Iterator[Turn]:
    """The turns of all conversations, of each the branch that is shown where it has several. A title becomes a tag.

    Claude's own notes become saved notes, a paragraph each, with the heading above it.
    """
    for name, document in documents(source, _DOCUMENTS):
        for number, data in enumerate(each(document, "conversations"), start=1):
            where = f"{name}: item {number}"
            if isinstance(data, dict) and ("conversations_memory" in data or "project_memories" in data):
                yield from turns(source, _notes(source, checked(_Memories, data, where), where))
            elif isinstance(data, dict) and "mapping" in data:
                raise FormatError(f"{where}: has no chat_messages: is it --format chatgpt?")
            else:
                conversation = checked(_Conversation, data, where)
                yield from turns(source, _statements(source, conversation, where), conversation.created_at)


def _statements(source: Source, conversation: _Conversation, where: str) -> Iterator[Statement]:
    for number, message in enumerate(_shown(source, conversation, where), start=1):
        source.skipped.update({ATTACHED: message.attached()} if message.attached() else {})
        if message.sender not in ROLES:
            source.skipped[NOT_SAID] += 1
            continue
        yield Statement(
            f"{where}: message {number}",
            message.uuid or str(number),
            ROLES[message.sender],
            message.words(),
            conversation.uuid or where,
            message.created_at,
            tags=(conversation.name,) if isinstance(conversation.name, str) else (),
        )


def _shown(source: Source, conversation: _Conversation, where: str) -> list[_Message]:
    found = (readable(source, _Message, data, where) for data in conversation.chat_messages)
    messages = [message for message in found if message is not None]
    by_id = {message.uuid: message for message in messages if message.uuid}
    leaf = conversation.current_leaf_message_uuid
    if leaf not in by_id:
        return messages
    parents = {name: message.parent_message_uuid for name, message in by_id.items()}
    return [by_id[name] for name in branch(source, parents, leaf) if name != _ROOT]


def _notes(source: Source, memories: _Memories, where: str) -> Iterator[Statement]:
    given = {"claude": memories.conversations_memory or "", **memories.project_memories}
    for name, text in given.items():
        for number, part in _with_headings(source, text):
            spot = f"{where}: paragraph {number} of {name!r}"
            yield Statement(spot, f"{name}/{number}", "assistant", part, "claude", type="note", saved=True)


def _with_headings(source: Source, text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs with their numbers; a heading goes with the next one, and is nothing without it."""
    heading = ""
    for number, part in enumerate(paragraphs(text), start=1):
        found = _HEADING.fullmatch(part)
        if found:
            source.skipped.update([WITHOUT_TEXT] if heading else [])
            heading = (found[1] or found[2]).strip()
        else:
            yield number, f"{heading}\n{part}".strip()
            heading = ""
    source.skipped.update([WITHOUT_TEXT] if heading else [])
