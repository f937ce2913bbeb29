"""Zep's threads (or sessions) with their messages, and the facts of its graph, as its API gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid5

from pydantic import AliasChoices, BaseModel, Field

from contracts.envelope import NAMESPACE
from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import NOT_SAID, OUTDATED, ROLES, Statement, When, readable, turns
from services.shared.commands.formats.source import FormatError, Source

_DOCUMENTS = re.compile(r"\.jsonl?$")
_MESSAGES = ("messages",)
_FACTS = ("edges", "facts", "relevant_facts")
_THREADS = ("threads", "sessions", "users")
_UNNAMED = "zep"
_ID = AliasChoices("uuid", "uuid_", "message_id")


class _Message(BaseModel):
    """One message. Older versions have the role in `role_type`, and a name in `role`."""

    content: str | None = None
    role: str | None = None
    role_type: str | None = None
    name: str | None = None
    id: str | None = Field(default=None, validation_alias=_ID)
    created_at: When | None = None
    reference_time: When | None = None

    @property
    def kind(self) -> str:
        """The role in lower case."""
        return (self.role_type or self.role or "").lower()

    @property
    def speaker(self) -> str | None:
        """The name of the one that says it."""
        return self.role if self.role_type else self.name


class _Fact(BaseModel):
    """One fact: the text of an edge, from when it holds, and when it ceased to."""

    fact: str
    id: str | None = Field(default=None, validation_alias=_ID)
    name: str | None = None
    created_at: When | None = None
    valid_at: When | None = None
    invalid_at: When | None = None
    expired_at: When | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    where: str
    conversation_id: str = _UNNAMED
    user_id: str | None = None

    def within(self, data: dict[str, Any]) -> _Place:
        """The place of what this object holds, with the thread and the user that it names."""
        threads = (data.get(name) for name in ("thread_id", "session_id", "thread_uuid"))
        user_id = data.get("user_id")
        return _Place(
            self.where,
            next((name for name in threads if isinstance(name, str)), self.conversation_id),
            user_id if isinstance(user_id, str) and user_id else self.user_id,
        )

    def at(self, name: str) -> _Place:
        """The same place, a step further into the file."""
        return replace(self, where=f"{self.where}: {name}")


def read_zep(source: Source) -> Iterator[Turn]:
    """The turns of all threads, and a fact of each edge that still holds."""
    for name, document in documents(source, _DOCUMENTS):
        found = False
        for place, kind, items in _lists(document, _Place(name), depth=0):
            found = True
            made = _facts(source, place, items) if kind == "fact" else _messages(source, place, items)
            yield from turns(source, made)
        if not found and document != []:
            wanted = "write what thread.get or graph.edge gives into a file: see 'Coming from elsewhere' in the README"
            raise FormatError(f"{name}: has no messages and no facts in it; {wanted}")


def _lists(data: Any, place: _Place, depth: int) -> Iterator[tuple[_Place, str, list[Any]]]:
    """The lists of messages and of facts, with where they stand; threads may stand in lists, and below users."""
    if isinstance(data, list):
        kind = _kind(data)
        if kind is not None:
            yield place, kind, data
        elif depth < 4:
            for number, item in enumerate(data, start=1):
                yield from _lists(item, place.at(f"item {number}"), depth + 1)
    elif isinstance(data, dict):
        inner = place.within(data)
        for name in (*_MESSAGES, *_FACTS, *_THREADS, "items"):
            if isinstance(data.get(name), list) and data[name]:
                yield from _lists(data[name], inner.at(name), depth + 1)


def _kind(items: list[Any]) -> str | None:
    """Whether a list is of messages or of facts, by its first item."""
    first = items[0] if items else None
    if isinstance(first, dict) and "fact" in first:
        return "fact"
    if isinstance(first, dict) and "content" in first:
        return "message"
    return "fact" if isinstance(first, str) else None


def _messages(source: Source, place: _Place, items: list[Any]) -> Iterator[Statement]:
    conversation_id = _named(items[0]) if place.conversation_id == _UNNAMED else place.conversation_id
    for number, data in enumerate(items, start=1):
        where = f"{place.where}: message {number}"
        message = readable(source, _Message, data, where)
        if message is None:
            continue
        if message.kind not in ROLES:
            source.skipped[NOT_SAID] += 1
            continue
        yield Statement(
            where,
            message.id or str(number),
            ROLES[message.kind],
            message.content or "",
            conversation_id,
            message.reference_time or message.created_at,
            user_id=place.user_id,
            speaker=message.speaker,
        )


def _named(first: dict[str, Any]) -> str:
    """A name for a thread that has none: it follows from its first message, which a later export has too."""
    told = (first.get(name) for name in ("uuid", "uuid_", "message_id"))
    known = next((name for name in told if name), None) or (first.get("created_at"), first.get("content"))
    return f"{_UNNAMED}-{uuid5(NAMESPACE, repr(known))}"


def _facts(source: Source, place: _Place, items: list[Any]) -> Iterator[Statement]:
    now = datetime.now(UTC)
    for number, data in enumerate(items, start=1):
        where = f"{place.where}: fact {number}"
        fact = readable(source, _Fact, {"fact": data} if isinstance(data, str) else data, where)
        if fact is None:
            continue
        if any(at is not None and at <= now for at in (fact.invalid_at, fact.expired_at)):
            source.skipped[OUTDATED] += 1
            continue
        yield Statement(
            where,
            fact.id or str(number),
            "user",
            fact.fact,
            place.conversation_id,
            fact.valid_at or fact.created_at,
            user_id=place.user_id,
            tags=((fact.name or "").replace("_", " ").lower(),),
            type="fact",
        )
