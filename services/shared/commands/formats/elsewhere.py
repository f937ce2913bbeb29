"""What other systems have kept, as turns: with ids that follow from what is there, so that the same is the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, get_args
from uuid import uuid5

from pydantic import AfterValidator

from contracts.envelope import NAMESPACE
from contracts.v1.turns import EntryType, Role, Turn
from services.shared.commands.formats.source import UNREADABLE, WITHOUT_TEXT, FormatError, M, Source, checked, later
from services.shared.core.salience import detect_type

NOT_SAID = "of tools and systems"
OUTDATED = "no longer valid"
REPEATED = "said before"
ATTACHED = "attachments"

_STEP = timedelta(seconds=1)
_LONGEST_TAG = 64
_MOST_TAGS = 16
_LONGEST_NAME = 256

ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "norole": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
}
"""The roles of those that say something; all others are tools and systems."""

When = Annotated[datetime, AfterValidator(lambda at: at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))]
"""A time in ISO 8601 or as Unix time; one without a zone is taken as UTC."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One message or fact. `where` is its place in the file, `id` its name there, `saved`: it was kept on purpose."""

    where: str
    id: str
    role: Role
    text: str
    conversation_id: str
    at: datetime | None = None
    user_id: str | None = None
    speaker: str | None = None
    persona_id: str | None = None
    tags: Sequence[str] = ()
    type: EntryType | None = None
    saved: bool = False


def turns(source: Source, statements: Iterable[Statement], began: datetime | None = None) -> Iterator[Turn]:
    """The turns of statements that follow each other; one without a time was made a second after the one before it.

    The first without a time was made when all `began`, or so that the last was made now. What has no text, or more
    than is taken, or half a character in it, is left out and counted.
    """
    listed = list(statements)
    clock = began or datetime.now(UTC) - len(listed) * _STEP
    for statement in listed:
        clock = statement.at or clock
        if not statement.text.strip():
            source.skipped[WITHOUT_TEXT] += 1
        elif not _is_unicode(statement):
            source.skipped[UNREADABLE] += 1
        elif len(statement.text.encode()) > source.longest:
            source.skipped[f"longer than {source.longest:,} bytes"] += 1
        else:
            yield source.turn(statement.where, _fields(source, statement, clock))
        clock = later(clock, _STEP)


def readable(source: Source, model: type[M], data: object, where: str) -> M | None:
    """The data as a model; what is none is counted, so that one odd message does not keep the others out."""
    try:
        return checked(model, data, where)
    except FormatError:
        source.skipped[UNREADABLE] += 1
        return None


def _is_unicode(statement: Statement) -> bool:
    whose = (statement.user_id, statement.speaker, statement.persona_id)
    texts = (statement.text, statement.id, statement.conversation_id, *whose)
    try:
        "".join(text for text in texts if text).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(source: Source, statement: Statement, at: datetime) -> dict[str, Any]:
    user_id = statement.user_id or source.user
    if user_id is None:
        raise FormatError(f"{statement.where}: does not say whose memory it is: use --user")
    conversation_id = statement.conversation_id[:_LONGEST_NAME] or source.format
    persona = (statement.persona_id,) if statement.persona_id else ()
    parts = (source.format, conversation_id, statement.id, statement.role, statement.text, *persona)
    return {
        "user_id": user_id,
        "space": source.space or "default",
        "persona_id": statement.persona_id[:_LONGEST_NAME] if statement.persona_id else None,
        "conversation_id": conversation_id,
        "turn_id": str(uuid5(NAMESPACE, "\x1f".join(parts))),
        "role": statement.role,
        "text": statement.text.strip(),
        "created_at": at,
        "speaker": statement.speaker[:_LONGEST_NAME] if statement.speaker else None,
        "tags": _tags(statement.tags),
        "source_ids": (f"{source.format}:{statement.id}"[:_LONGEST_NAME],),
        "type": statement.type,
        "manually_saved": statement.saved,
    }


def _tags(given: Sequence[str]) -> tuple[str, ...]:
    tags = (" ".join(tag.encode(errors="ignore").decode().split())[:_LONGEST_TAG].strip() for tag in given)
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:_MOST_TAGS]


def fact_type(text: str, *said: object) -> EntryType:
    """The type of a fact: what its system says if it is one of ours, else what the text tells; fact, if it is plain."""
    for word in said:
        if isinstance(word, str) and word.casefold() in get_args(EntryType):
            return word.casefold()  # type: ignore[return-value]
    found = detect_type(text, "user")
    return "fact" if found in ("note", "other", "summary") else found


def paragraphs(text: str) -> list[str]:
    """The parts of a text between blank lines."""
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


def text_of(content: object, kinds: Sequence[str] = ("text",)) -> str:
    """The text of a content: it is one, or a list of texts and of parts of these types."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else part.get("text") for part in parts if _is_text(part, kinds))
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _is_text(part: object, kinds: Sequence[str]) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in kinds)


def each(document: object, *names: str) -> list[Any]:
    """The items of a document: of a list all, of an object those in the first of its members that is a list."""
    if isinstance(document, dict):
        document = next((document[name] for name in names if isinstance(document.get(name), list)), [document])
    return document if isinstance(document, list) else [document]


def branch(source: Source, parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """The names from the root of a tree to this leaf; none, which is counted, where they go round in a circle."""
    path: dict[str, None] = {}
    name: str | None = leaf
    while name is not None and name in parents:
        if name in path:
            source.skipped[UNREADABLE] += 1
            return []
        path[name] = None
        name = parents[name]
    return list(path)[::-1]
