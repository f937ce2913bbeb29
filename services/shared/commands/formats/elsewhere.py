"""What other systems have kept, as turns: with ids that follow from what is there, so that the same is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args
from uuid import uuid5

from contracts.envelope import NAMESPACE
from contracts.v1.turns import EntryType, Role, Turn
from services.shared.commands.formats.source import WITHOUT_TEXT, FormatError, M, Source, checked
from services.shared.commands.formats.times import filled
from services.shared.lifecycle.salience import detect_type

NOT_SAID = "of tools and systems"
OUTDATED = "no longer valid"
AHEAD = "not valid yet"
REPEATED = "said before"
ATTACHED = "attachments"
DELETED = "deleted there"
ABANDONED = "of branches not taken"

MORE = "pages of larger results, whose other pages are not in the file"
ENDING = "with an end to come, which memory does not keep"

_LONGEST_TAG = 64
_MOST_TAGS = 16
_LONGEST_NAME = 256

ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
}
"""The roles of those that say something; all others are tools and systems."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One message or fact. `where` is its place in the file, `id` its name there, `saved`: it was kept on purpose.

    Without a role nobody said it; `left_out` is another reason why it is no turn, `attached` how many files it has.
    One without a name is known by what it says, as its place is another one in the next export; `origin` is then what
    holds it, and `known_by` the part of its text that stays the same.
    """

    where: str
    id: str | None
    role: Role | None
    text: str
    conversation_id: str
    at: datetime | None = None
    user_id: str | None = None
    speaker: str | None = None
    persona_id: str | None = None
    tags: Sequence[str] = ()
    type: EntryType | None = None
    saved: bool = False
    origin: str = ""
    known_by: str = ""
    left_out: str | None = None
    attached: int = 0


def turns(source: Source, statements: Iterable[Statement], began: datetime | None = None) -> Iterator[Turn]:
    """The turns of statements that follow each other, those without a time at the one that follows from `filled`.

    What has no text, or more than is taken, or half a character in it, or is there already, is left out and counted.
    """
    listed = [statement for statement in statements if _is_said(source, statement)]
    said: Counter[str] = Counter()
    read: set[tuple[str, str | None]] = set()
    times = filled([statement.at for statement in listed], began)
    for statement, at in zip(listed, times, strict=True):
        if _is_fit(source, statement):
            turn = source.turn(statement.where, _fields(source, statement, at, said))
            if (turn.user_id, turn.turn_id) not in read:
                yield turn
            else:
                source.skipped[REPEATED] += 1
            read.add((turn.user_id, turn.turn_id))


def _is_said(source: Source, statement: Statement) -> bool:
    """Whether somebody says it, or said it and means it still; what is not is counted."""
    source.skipped.update({ATTACHED: statement.attached} if statement.attached else {})
    why = statement.left_out or (NOT_SAID if statement.role is None else None)
    source.skipped.update([why] if why else [])
    return why is None


def _is_fit(source: Source, statement: Statement) -> bool:
    """Whether it can be a turn; what cannot is counted."""
    if not statement.text.strip():
        source.skipped[WITHOUT_TEXT] += 1
    elif not _is_unicode(statement):
        source.leave_unread(f"{statement.where}: half a character")
    elif len(statement.text.encode()) > source.longest:
        source.skipped[f"longer than {source.longest:,} bytes"] += 1
    else:
        return True
    return False


def each_readable(source: Source, model: type[M], items: Iterable[object], where: str) -> Iterator[tuple[str, M]]:
    """The items that are such models, with the place of each; the others are counted."""
    for number, data in enumerate(items, start=1):
        spot = f"{where} {number}"
        if (item := readable(source, model, data, spot)) is not None:
            yield spot, item


def readable(source: Source, model: type[M], data: object, where: str) -> M | None:
    """The data as a model; what is none is counted, so that one odd message does not keep the others out."""
    try:
        return checked(model, data, where)
    except FormatError as error:
        source.leave_unread(str(error))
        return None


def _is_unicode(statement: Statement) -> bool:
    whose = (statement.user_id, statement.speaker, statement.persona_id)
    known = (statement.id, statement.origin, statement.known_by)
    texts = (statement.text, statement.conversation_id, *known, *whose)
    try:
        "".join(text for text in texts if text).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(source: Source, statement: Statement, at: datetime, said: Counter[str]) -> dict[str, Any]:
    user_id = statement.user_id or source.user
    if user_id is None:
        raise FormatError(f"{statement.where}: does not say whose memory it is: use --user")
    conversation_id = statement.conversation_id[:_LONGEST_NAME] or source.format
    named = statement.id or statement.origin or conversation_id
    return {
        "user_id": user_id,
        "space": source.space or "default",
        "persona_id": statement.persona_id[:_LONGEST_NAME] if statement.persona_id else None,
        "conversation_id": conversation_id,
        "turn_id": _turn_id((source.format, conversation_id), statement, user_id, said),
        "role": statement.role,
        "text": statement.text.strip(),
        "created_at": at,
        "speaker": statement.speaker[:_LONGEST_NAME] if statement.speaker else None,
        "tags": _tags(statement.tags),
        "source_ids": (f"{source.format}:{named}"[:_LONGEST_NAME],),
        "type": statement.type,
        "manually_saved": statement.saved,
    }


def _turn_id(place: Sequence[str], statement: Statement, user_id: str, said: Counter[str]) -> str:
    """The id of a turn. Where its system has none, it follows from the words, and of a message when it was said.

    Equal messages are told apart by their order, while a fact told twice is one.
    """
    text, role = statement.known_by or statement.text, str(statement.role)
    persona = (statement.persona_id,) if statement.persona_id else ()
    if statement.id:
        return _id(*place, statement.id, role, text, *persona)
    is_message = statement.type is None
    at = statement.at.isoformat() if statement.at and is_message else ""
    whose = (user_id, statement.origin, role, statement.speaker or "")
    known = _id("", *place, *whose, at, text.strip(), *persona)
    said[known] += is_message
    return known if said[known] < 2 else _id(known, str(said[known]))


def _id(*parts: str) -> str:
    return str(uuid5(NAMESPACE, "\x1f".join(parts)))


def named_after(format: str, known: object) -> str:
    """A name for a conversation that has none: it follows from its first message, which a later export has too."""
    return f"{format}-{uuid5(NAMESPACE, repr(known))}"


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


def taken(parents: Mapping[str, str | None], newest_first: Iterable[str]) -> dict[str, None]:
    """The names that stand where a tree forks on the side of its newest leaf, of one leaf upwards from it.

    A parent need not be in the tree. What goes round in a circle is not taken.
    """
    chosen: dict[str, str] = {}
    seen: set[str] = set()
    kept: dict[str, None] = {}
    for leaf in newest_first:
        line: list[str] = []
        name: str | None = leaf
        while name is not None and name in parents and name not in seen:
            seen.add(name)
            line.append(name)
            parent = parents[name]
            if parent is not None and chosen.setdefault(parent, name) != name:
                break
            name = parent
        else:
            if name is None or name not in parents or name in kept:
                kept.update(dict.fromkeys(line))
    return kept
