"""Judged questions about a memory: LoCoMo, and chats with an assistant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import AwareDatetime, BaseModel

from contracts.v1.turns import Role, Turn
from services.shared.commands.formats import FormatError, Question, Source, read_locomo_questions, read_turns
from services.shared.commands.formats.source import checked, parsed


@dataclass(frozen=True, slots=True)
class Dataset:
    """Turns to remember, and questions to ask then; every turn is a source with an id that its user has once."""

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]

    def sessions(self) -> dict[str, dict[str, str]]:
        """By user and source, the session it belongs to: its conversation."""
        found: dict[str, dict[str, str]] = {}
        for turn in self.turns:
            own = found.setdefault(turn.user_id or "", {})
            own |= dict.fromkeys(turn.source_ids, turn.conversation_id or "")
        return found


def locomo(path: Path) -> Dataset:
    """The LoCoMo questions with at least one evidence turn that exists; each conversation is a user of its own.

    Raises:
        FormatError: the file is not LoCoMo.
    """
    source = Source(path, "locomo")
    turns = list(read_turns(source))
    questions = _with_known_evidence(turns, read_locomo_questions(source))
    return Dataset("locomo", turns, [question for question in questions if question.evidence])


class _Said(BaseModel):
    id: str
    conversation_id: str
    role: Role
    created_at: AwareDatetime
    text: str


class _Asked(BaseModel):
    q: str
    kind: str
    evidence: frozenset[str]
    stale: frozenset[str] = frozenset()
    now: AwareDatetime | None = None


class _Chat(BaseModel):
    id: str
    turns: list[_Said]
    questions: list[_Asked]


def chats(path: Path) -> Dataset:
    """Chats with an assistant, each of a user of its own, and the questions put to them.

    Raises:
        FormatError: the file holds no such chats.
    """
    source = Source(path)
    try:
        document = parsed(source.whole(), source.name)
    except OSError as error:
        raise FormatError(f"{source.name}: {error.strerror or error}") from error
    if not isinstance(document, list):
        raise FormatError(f"{source.name}: is no list of chats")
    read = [checked(_Chat, data, f"{source.name}: chat {number}") for number, data in enumerate(document, start=1)]
    turns = [_turn(source, chat, said) for chat in read for said in chat.turns]
    asked = (
        Question(chat.id, one.q, one.kind, one.evidence, one.stale, one.now) for chat in read for one in chat.questions
    )
    return Dataset("chats", turns, _with_known_evidence(turns, list(asked)))


def _turn(source: Source, chat: _Chat, said: _Said) -> Turn:
    fields = said.model_dump(exclude={"id"})
    place = {"user_id": chat.id, "turn_id": f"{chat.id}:{said.id}", "source_ids": (said.id,)}
    return source.turn(f"{source.name}: {chat.id} {said.id}", fields | place)


def _with_known_evidence(turns: Sequence[Turn], questions: Sequence[Question]) -> list[Question]:
    """The questions without the evidence that is no turn of their user."""
    known = {(turn.user_id, source) for turn in turns for source in turn.source_ids}
    return [
        replace(question, evidence=frozenset(s for s in question.evidence if (question.user_id, s) in known))
        for question in questions
    ]
