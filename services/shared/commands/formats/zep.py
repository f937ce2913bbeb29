"""Zep's threads (or sessions) with their messages, and the facts of its graph, as its API gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from contracts.v1.turns import Role, Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    AHEAD,
    DELETED,
    ENDING,
    MORE,
    OUTDATED,
    ROLES,
    Statement,
    each_readable,
    named_after,
    turns,
)
from services.shared.commands.formats.source import FormatError, Source
from services.shared.commands.formats.times import When

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

    def said_by(self) -> Role | None:
        """Who says it. Somebody without a role is known by name alone, and is nobody without one."""
        kind = (self.role_type or self.role or "").lower()
        return "user" if kind == "norole" and self.speaker else ROLES.get(kind)

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

    def why_not(self) -> str | None:
        """Why it does not hold now."""
        now = datetime.now(UTC)
        if any(at is not None and at <= now for at in (self.invalid_at, self.expired_at)):
            return OUTDATED
        return AHEAD if self.valid_at is not None and self.valid_at > now else None


@dataclass(frozen=True, slots=True)
class _Place:
    where: str
    conversation_id: str = _UNNAMED
    user_id: str | None = None
    total: int = 0

    def within(self, data: dict[str, Any]) -> _Place:
        """The place of what this object holds, with the thread and the user that it names."""
        threads = (data.get(name) for name in ("thread_id", "session_id", "thread_uuid"))
        user_id = data.get("user_id")
        return _Place(
            self.where,
            next((name for name in threads if isinstance(name, str)), self.conversation_id),
            user_id if isinstance(user_id, str) and user_id else self.user_id,
            data["total_count"] if isinstance(data.get("total_count"), int) else 0,
        )

    def at(self, name: str) -> _Place:
        """The same place, a step further into the file."""
        return replace(self, where=f"{self.where}: {name}")


_Listed = tuple[_Place, str, list[Any]]


def read_zep(source: Source) -> Iterator[Turn]:
    """The turns of all threads, and a fact of each edge that holds now."""
    for name, document in documents(source):
        lists = list(_lists(source, document, _Place(name), depth=0))
        if not lists and document != [] and not source.skipped[DELETED]:
            wanted = "write what thread.get or graph.edge gives into a file: see services/cli/README.md"
            raise FormatError(f"{name}: has no messages and no facts in it; {wanted}")
        source.notes.update([MORE] if _is_page(lists) else [])
        yield from _read(source, lists)


def _read(source: Source, lists: list[_Listed]) -> Iterator[Turn]:
    """The turns of all lists. Facts without a time held when the thread that they are told with had its last word."""
    latest: dict[tuple[str | None, str], datetime] = {}
    for place, kind, items in lists:
        thread = (place.user_id, place.conversation_id)
        if kind == "fact":
            yield from turns(source, _facts(source, place, items), latest.get(thread))
            continue
        for turn in turns(source, _messages(source, place, items)):
            if turn.created_at is not None:
                latest[thread] = max(turn.created_at, latest.get(thread, turn.created_at))
            yield turn


def _is_page(lists: list[_Listed]) -> bool:
    """Whether there is more of a thread, or of the facts, than the pages of the file have."""
    held: Counter[tuple[str, str]] = Counter()
    for place, kind, items in lists:
        held[place.conversation_id, kind] += len(items)
    return any(place.total > held[place.conversation_id, kind] for place, kind, _ in lists)


def _lists(source: Source, data: Any, place: _Place, depth: int) -> Iterator[_Listed]:
    """The lists of messages and of facts, with where they stand; threads may stand in lists, and below users.

    What is deleted is left out.
    """
    if isinstance(data, list):
        kind = _kind(data)
        if kind is not None:
            yield place, kind, data
        elif depth < 4:
            for number, item in enumerate(data, start=1):
                yield from _lists(source, item, place.at(f"item {number}"), depth + 1)
    elif isinstance(data, dict) and data.get("deleted_at"):
        source.skipped[DELETED] += 1
    elif isinstance(data, dict):
        inner = place.within(data)
        for name in (*_MESSAGES, *_FACTS, *_THREADS, "items"):
            if isinstance(data.get(name), list) and data[name]:
                yield from _lists(source, data[name], inner.at(name), depth + 1)
                inner = replace(inner, total=0)  # it counts what comes first


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
    for where, message in each_readable(source, _Message, items, f"{place.where}: message"):
        yield Statement(
            where,
            message.id,
            message.said_by(),
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
    return named_after(_UNNAMED, known)


def _facts(source: Source, place: _Place, items: list[Any]) -> Iterator[Statement]:
    told = ({"fact": data} if isinstance(data, str) else data for data in items)
    for where, fact in each_readable(source, _Fact, told, f"{place.where}: fact"):
        why = fact.why_not()
        source.notes.update([ENDING] if (fact.invalid_at or fact.expired_at) and not why else [])
        yield Statement(
            where,
            fact.id,
            "user",
            fact.fact,
            place.conversation_id,
            fact.valid_at or fact.created_at,
            user_id=place.user_id,
            tags=((fact.name or "").replace("_", " ").lower(),),
            type="fact",
            left_out=why,
        )
