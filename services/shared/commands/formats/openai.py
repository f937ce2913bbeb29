"""OpenAI message lists: a list, an object with `messages`, a list of either, or JSON Lines of these."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid5

from pydantic import BaseModel, ConfigDict

from contracts.envelope import NAMESPACE
from contracts.v1.turns import Role, Turn
from services.shared.commands.formats.documents import document
from services.shared.commands.formats.elsewhere import text_of
from services.shared.commands.formats.source import STDIN, WITHOUT_TEXT, FormatError, Source, checked
from services.shared.commands.formats.times import STEP, When, filled

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TEXT_PARTS = ("text", "input_text", "output_text")


class _Message(BaseModel):
    """One message."""

    role: str
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    created_at: When | None = None
    timestamp: When | None = None

    def words(self) -> str:
        """The text of all parts; pictures, sounds and calls have none."""
        return text_of(self.content, _TEXT_PARTS).strip()

    def at(self) -> datetime | None:
        """When it was said, if the file knows."""
        return self.created_at or self.timestamp


class _Conversation(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    messages: list[Any]
    conversation_id: str | None = None
    id: str | None = None
    user_id: str | None = None
    created_at: When | None = None


def read_openai(source: Source) -> Iterator[Turn]:
    """The turns of all conversations. Without times the last message was said now, each other a second earlier."""
    conversations = _conversations(document(source.whole(), source.name), source.name)
    left = sum(len(conversation.messages) for conversation in conversations)
    now = datetime.now(UTC)
    stem = "stdin" if source.path == STDIN else source.path.stem[:200]
    for number, conversation in enumerate(conversations, start=1):
        alone = len(conversations) == 1
        given = conversation.conversation_id or conversation.id
        conversation_id = given or (stem if alone else f"{stem}/{number}")
        where = source.name if alone else f"{source.name}: conversation {number}"
        yield from _turns(source, conversation, conversation_id, where, now - left * STEP)
        left -= len(conversation.messages)


def _turns(
    source: Source, conversation: _Conversation, conversation_id: str, where: str, clock: datetime
) -> Iterator[Turn]:
    """The messages in order; where none has a time, and the conversation has none, the first was said at `clock`."""
    user_id = source.user or conversation.user_id
    if user_id is None:
        raise FormatError(f"{where}: does not say whose memory it is: use --user")
    spots = [f"{where}: message {number}" for number in range(1, len(conversation.messages) + 1)]
    messages = [checked(_Message, data, spot) for data, spot in zip(conversation.messages, spots, strict=True)]
    times = filled([message.at() for message in messages], conversation.created_at or clock)
    for index, (message, spot, at) in enumerate(zip(messages, spots, times, strict=True)):
        if message.role not in _ROLES:
            raise FormatError(f"{spot}: role: is none of {', '.join(_ROLES)}")
        if message.words():
            place = {"user_id": user_id, "space": source.space or "default", "created_at": at}
            yield source.turn(spot, place | _fields(message, conversation_id, index))
        else:
            source.skipped[WITHOUT_TEXT] += 1


def _fields(message: _Message, conversation_id: str, index: int) -> dict[str, Any]:
    """The id follows from place and text alone: the same file published again is the same turns."""
    parts = ("openai", conversation_id, str(index), message.role, message.words())
    return {
        "conversation_id": conversation_id,
        "turn_id": str(uuid5(NAMESPACE, "\x1f".join(parts))),
        "role": _ROLES[message.role],
        "text": message.words(),
        "speaker": message.name if message.role in ("user", "assistant") else None,
    }


def _conversations(found: Any, name: str) -> list[_Conversation]:
    if isinstance(found, dict):
        return [checked(_Conversation, found, name)]
    if not isinstance(found, list):
        raise FormatError(f"{name}: is neither a message list nor an object with messages")
    if not found or (isinstance(found[0], dict) and "role" in found[0]):
        return [_Conversation(messages=found)]
    wrapped = [{"messages": item} if isinstance(item, list) else item for item in found]
    return [checked(_Conversation, item, f"{name}: conversation {n}") for n, item in enumerate(wrapped, start=1)]
