"""ChatGPT's export: the archive that it sends, or `conversations.json` from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    ABANDONED,
    NOT_SAID,
    ROLES,
    Statement,
    each,
    readable,
    taken,
    turns,
)
from services.shared.commands.formats.source import FormatError, Source
from services.shared.commands.formats.times import When

_CONVERSATIONS = re.compile(r"(^|/)conversations(-\d+)?\.json$")
_SPOKEN = ("text", "multimodal_text")
_PICTURE = "image_asset_pointer"
_INSTRUCTIONS = "user_editable_context"
_CUSTOM = "of custom instructions"
_OFF_THE_RECORD = "of conversations not to be remembered"
_MEMORY = "bio"  # the tool that is told what to remember
_CITATION = re.compile(" ?【\\d+(?::\\d+)?†[^】\\n]{0,200}】| ?\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")


class _Author(BaseModel):
    role: str


class _Message(BaseModel):
    """One message. Parts are texts; a part of sound has its transcript."""

    author: _Author
    id: str | None = None
    content: dict[str, Any] = {}
    create_time: When | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None

    def is_said(self) -> bool:
        """Whether somebody says it; a message to a tool, or one that is never shown, is not."""
        is_hidden = (self.metadata or {}).get("is_visually_hidden_from_conversation") is True
        is_spoken = self.content.get("content_type", "text") in _SPOKEN and self.recipient in (None, "all")
        return self.author.role in ROLES and is_spoken and not is_hidden

    def words(self) -> str:
        """The text of all parts."""
        parts = self.content.get("parts")
        texts = (_words(part) for part in (parts if isinstance(parts, list) else [self.content.get("text")]))
        return _CITATION.sub("", "\n".join(text for text in texts if text))

    def is_memory(self) -> bool:
        """Whether it is what ChatGPT was asked to remember."""
        return self.author.role == "assistant" and self.recipient == _MEMORY

    def attached(self) -> int:
        """How many files came with it. Pictures are mostly among its attachments as well."""
        files, parts = (self.metadata or {}).get("attachments"), self.content.get("parts")
        listed = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        pictures = [part for part in listed if part.get("content_type") == _PICTURE]
        return max(len(pictures), len(files) if isinstance(files, list) else 0)

    def why_unsaid(self) -> str | None:
        """What it is if it is neither said nor a memory."""
        if self.is_said() or self.is_memory():
            return None
        return _CUSTOM if self.content.get("content_type") == _INSTRUCTIONS else NOT_SAID


class _Node(BaseModel):
    message: Any = None
    parent: str | None = None


class _Conversation(BaseModel):
    mapping: dict[str, _Node]
    current_node: str | None = None
    conversation_id: str | None = None
    id: str | None = None
    title: Any = None
    create_time: When | None = None
    update_time: When | None = None
    is_do_not_remember: Any = None

    def began(self) -> datetime | None:
        """When it began, or at least was there."""
        return self.create_time or self.update_time


def read_chatgpt(source: Source) -> Iterator[Turn]:
    """The turns of all conversations, of each the branch that is shown. A title becomes a tag.

    What ChatGPT was asked to remember becomes saved notes; conversations that it was told not to are left out.
    """
    for name, document in documents(source, _CONVERSATIONS):
        for number, data in enumerate(each(document, "conversations"), start=1):
            where = f"{name}: conversation {number}"
            if isinstance(data, dict) and "chat_messages" in data and "mapping" not in data:
                raise FormatError(f"{where}: has no mapping: is it --format claude?")
            conversation = readable(source, _Conversation, data, where)
            if conversation is not None and conversation.is_do_not_remember is True:
                source.skipped[_OFF_THE_RECORD] += _messages(conversation.mapping.values())
            elif conversation is not None:
                yield from turns(source, _statements(source, conversation, where), conversation.began())


def _statements(source: Source, conversation: _Conversation, where: str) -> Iterator[Statement]:
    nodes = conversation.mapping
    leaf = conversation.current_node if conversation.current_node in nodes else next(reversed(nodes), None)
    parents = {name: node.parent for name, node in nodes.items()}
    path = list(taken(parents, [leaf]))[::-1] if leaf is not None else []
    if leaf is not None and not path:
        source.leave_unread(f"{where}: its messages go round in a circle")
    if path and (left := _messages(nodes[name] for name in parents.keys() - set(path))):
        source.skipped[ABANDONED] += left
    conversation_id = conversation.conversation_id or conversation.id or next(iter(path), where)
    for name in path:
        spot = f"{where}: message {name!r}"
        data = nodes[name].message
        message = None if data is None else readable(source, _Message, data, spot)
        if message is None:
            continue
        yield Statement(
            spot,
            message.id or name,
            ROLES.get(message.author.role),
            message.words(),
            conversation_id,
            message.create_time,
            tags=(conversation.title,) if isinstance(conversation.title, str) else (),
            type="note" if message.is_memory() else None,
            saved=message.is_memory(),
            left_out=message.why_unsaid(),
            attached=message.attached(),
        )


def _messages(nodes: Iterable[_Node]) -> int:
    return sum(node.message is not None for node in nodes)


def _words(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part.strip() if isinstance(part, str) else ""
