"""Letta's agent files (`.af`) with messages and blocks of memory, and its archival passages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    DELETED,
    ROLES,
    Statement,
    each,
    each_readable,
    fact_type,
    paragraphs,
    readable,
    text_of,
    turns,
)
from services.shared.commands.formats.source import FormatError, Source
from services.shared.commands.formats.times import When

_DOCUMENTS = re.compile(r"\.(af|jsonl?)$")
_NUMBERED = re.compile(r"message-\d+")  # the name of a message in a file is its place
_OF_ITSELF = ("persona",)  # labels of blocks in which an agent keeps what it is
_ANSWER = "send_message"  # the tool with which older agents speak


class _Block(BaseModel):
    value: str = ""
    label: str = "block"
    created_at: When | None = None


class _File(BaseModel):
    created_at: When | None = None


class _Passage(BaseModel):
    text: str
    id: str | None = None
    created_at: When | None = None
    tags: list[str] | None = None
    is_deleted: bool | None = None


class _Message(BaseModel):
    role: str
    id: str | None = None
    content: str | list[Any] | None = None
    text: str | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    created_at: When | None = None

    def words(self) -> str:
        """What was said. Older agents wrap what a user says into an event, and speak with a tool."""
        if self.role == "assistant" and (answers := [_answer(call) for call in self.tool_calls or []]):
            return "\n".join(filter(None, answers))
        text = text_of(self.content) if self.content else self.text or ""
        return _unwrapped(text) if self.role == "user" else text

    def name_of_its_own(self) -> str | None:
        """Its id, where the next export has the same."""
        return None if self.id is None or _NUMBERED.fullmatch(self.id) else self.id


def read_letta(source: Source) -> Iterator[Turn]:
    """The turns of all agents. Passages become facts; blocks become saved notes, but for those on the agent itself."""
    for name, document in documents(source, _DOCUMENTS):
        latest: datetime | None = None
        for number, data in enumerate(each(document, "agents", "passages"), start=1):
            for turn in turns(source, _statements(source, data, f"{name}: item {number}")):
                latest = max(filter(None, (latest, turn.created_at)), default=None)
                yield turn
        if isinstance(document, dict) and "agents" in document:
            file = readable(source, _File, document, name)
            began = (file and file.created_at) or latest
            yield from turns(source, _blocks(source, _listed(document, "blocks"), name, "letta"), began)


def _statements(source: Source, data: Any, where: str) -> Iterator[Statement]:
    if isinstance(data, dict) and "text" in data and "role" not in data:
        return _passage(source, data, where)
    if isinstance(data, dict) and ("messages" in data or "core_memory" in data):
        return _agent(source, data, where)
    raise FormatError(f"{where}: is neither an agent (.af) nor a passage")


def _listed(data: dict[str, Any], name: str) -> list[Any]:
    found = data.get(name)
    return found if isinstance(found, list) else []


def _agent(source: Source, data: dict[str, Any], where: str) -> Iterator[Statement]:
    name = data.get("name")
    agent = name if isinstance(name, str) and name else "letta"
    for spot, message in each_readable(source, _Message, _listed(data, "messages"), f"{where}: message"):
        yield Statement(
            spot,
            message.name_of_its_own(),
            ROLES.get(message.role),
            message.words(),
            agent,
            message.created_at,
            speaker=message.name,
        )
    yield from _blocks(source, _listed(data, "core_memory"), where, agent)


def _blocks(source: Source, items: list[Any], where: str, agent: str) -> Iterator[Statement]:
    for spot, block in each_readable(source, _Block, items, f"{where}: block"):
        for text in paragraphs(block.value) if block.label not in _OF_ITSELF else ():
            yield Statement(
                spot,
                None,
                "user",
                text,
                agent,
                block.created_at,
                tags=(block.label,),
                type="note",
                saved=True,
                origin=block.label,
            )


def _passage(source: Source, data: dict[str, Any], where: str) -> Iterator[Statement]:
    if (passage := readable(source, _Passage, data, where)) is None:
        return
    yield Statement(
        where,
        passage.id,
        "user",
        passage.text,
        "letta",
        passage.created_at,
        tags=passage.tags or (),
        type=fact_type(passage.text, *(passage.tags or ())),
        left_out=DELETED if passage.is_deleted else None,
    )


def _answer(call: dict[str, Any]) -> str:
    """What a call of the tool with which agents speak says."""
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") != _ANSWER:
        return ""
    message = _object(function.get("arguments")).get("message")
    return message if isinstance(message, str) else ""


def _unwrapped(text: str) -> str:
    """What the user said in an event; events of other kinds say nothing."""
    event = _object(text)
    if "type" not in event:
        return text
    message = event.get("message")
    return message if event["type"] == "user_message" and isinstance(message, str) else ""


def _object(text: object) -> dict[str, Any]:
    try:
        found = from_json(text) if isinstance(text, str) and text.lstrip().startswith("{") else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
