"""Judged questions about a memory: golden cases, LoCoMo, LongMemEval, and chats with an assistant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AwareDatetime, BaseModel, Field

from contracts.v1.turns import EntryType, Role, Turn
from services.eval.metrics import DEEPEST
from services.shared.commands.formats import FormatError, Question, Source, read_locomo_questions, read_turns
from services.shared.commands.formats.source import checked, later, parsed
from services.shared.entities.names import Name, likeness

GOLDEN = Path(__file__).with_name("golden.json")
"""The golden cases that are part of memorybus."""

MISDIRECTED = "of another"
"""The kind of questions that are put to a memory that is not about them."""

_LARGEST = 1024**3  # LongMemEval-S has 277 MB
_MOST_ITEMS = 200
_STEP = timedelta(seconds=30)
_WEEKDAY = re.compile(r" \([A-Za-z]{2,9}\)")

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Turns to remember, and questions to ask then; every turn is a source with an id that its user has once.

    `limit` items are asked for. With `by_session` sessions are ranked, each by its best turn, and evidence and sources
    are sessions. A metric below its value in `least` fails the run.
    """

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]
    limit: int = DEEPEST
    by_session: bool = False
    least: Mapping[str, float] = field(default_factory=dict)

    def sessions(self) -> dict[str, dict[str, str]]:
        """By user and source, the session it belongs to: its conversation."""
        found: dict[str, dict[str, str]] = {}
        for turn in self.turns:
            own = found.setdefault(turn.user_id or "", {})
            own |= dict.fromkeys(turn.source_ids, turn.conversation_id or "")
        return found


def misdirected(dataset: Dataset) -> Dataset:
    """The dataset with each question put to the memory of another user as well, which should answer nothing.

    It is the next one in whose memory nobody of a like name speaks: of another John, or Jon, it may answer a good deal.
    """
    speakers: dict[str, set[str]] = {}
    for turn in dataset.turns:
        speakers.setdefault(turn.user_id or "", set()).update({turn.speaker} if turn.speaker else ())
    users = list(speakers)
    following = dict[str, str]()
    for place, user in enumerate(users):
        after = [*users[place + 1 :], *users[:place], user]
        following[user] = next((one for one in after if not _alike(speakers[one], speakers[user])), after[0])
    others = [
        replace(q, user_id=following[q.user_id], evidence=frozenset(), stale=frozenset(), kind=MISDIRECTED, answer="")
        for q in dataset.questions
        if q.evidence and following[q.user_id] != q.user_id
    ]
    return replace(dataset, questions=[*dataset.questions, *others])


def _alike(some: Collection[str], others: Collection[str]) -> bool:
    return any(likeness(Name.of(one), Name.of(other)) for one in some for other in others)


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
    answer: str = ""


class _Chat(BaseModel):
    id: str
    turns: list[_Said] = Field(min_length=1)
    questions: list[_Asked]


def chats(path: Path) -> Dataset:
    """Chats with an assistant, each of a user of its own, and the questions put to them.

    The path is a file with a list of them, or a folder with a file for each.

    Raises:
        FormatError: there are no such chats.
    """
    read = [(one, checked(_Chat, one.data, one.where)) for one in documents(path)]
    check_distinct([chat.id for _, chat in read], str(path), "chat")
    turns = [_turn(one.source, chat, said) for one, chat in read for said in chat.turns]
    asked = (
        Question(chat.id, one.q, one.kind, one.evidence, one.stale, one.now, answer=one.answer)
        for _, chat in read
        for one in chat.questions
    )
    return Dataset("chats", turns, _with_known_evidence(turns, list(asked)))


@dataclass(frozen=True, slots=True)
class Document:
    """Something that was read from `source`; `where` is how errors call it."""

    source: Source
    where: str
    data: Any


def documents(path: Path) -> list[Document]:
    """Chats, or their labels, as the files of a folder have them in the order of their names, or a file as a list.

    Raises:
        FormatError: there are none.
    """
    if path.is_dir():
        files = [Source(file) for file in sorted(path.glob("*.json"))]
        if not files:
            raise FormatError(f"{path}: has no chats: no file in it ends in .json")
        return [Document(source, source.name, _document(source)) for source in files]
    source = Source(path)
    read = _some_of(_document(source), source.name, "chat")
    return [Document(source, f"{source.name}: chat {number}", data) for number, data in enumerate(read, start=1)]


def turns_of(document: Document) -> list[Turn]:
    """The turns of a chat, which is their user.

    Raises:
        FormatError: it is no chat.
    """
    chat = checked(_Chat, document.data, document.where)
    return [_turn(document.source, chat, said) for said in chat.turns]


def _turn(source: Source, chat: _Chat, said: _Said) -> Turn:
    fields = said.model_dump(exclude={"id"})
    place = {"user_id": chat.id, "turn_id": f"{chat.id}:{said.id}", "source_ids": (said.id,)}
    return source.turn(f"{source.name}: {chat.id} {said.id}", fields | place)


class _Memory(BaseModel):
    content: str
    type: EntryType | None = None
    role: Role = "user"
    created_at: AwareDatetime | None = None


class _Case(BaseModel):
    id: str = Field(min_length=1, max_length=100)
    setup_memories: list[_Memory]
    query: str
    expected_retrievals: list[str]
    kind: str = "golden"
    half: str = ""
    answer: str = ""
    other_user_memories: list[_Memory] = []
    outdated: list[str] = []
    now: AwareDatetime | None = None
    token_budget: int = Field(default=1000, ge=0, le=1_000_000)


class _Golden(BaseModel):
    cases: list[Any]


def golden(path: Path) -> Dataset:
    """Golden cases, each with a memory of its own: statements that have nothing to do with each other.

    Raises:
        FormatError: the file holds no golden cases, or one expects what is not among its memories.
    """
    source = Source(path)
    document = checked(_Golden, _document(source), source.name)
    cases = _list_of(_Case, document.cases, source.name, "case")
    check_distinct([case.id for case in cases], source.name, "case")
    turns = [turn for case in cases for turn in _memories(source, case)]
    questions = [_golden_question(source, case) for case in cases]
    return Dataset("golden", turns, questions, least={"recall@5": 0.8, "precision@5": 0.7})


def _memories(source: Source, case: _Case) -> Iterator[Turn]:
    """What is told to memory for a case: its user's statements, then those of somebody else."""
    for user, memories in ((case.id, case.setup_memories), (_other(case), case.other_user_memories)):
        for number, memory in enumerate(memories):
            said = {
                "user_id": user,
                "text": memory.content,
                "turn_id": f"{user}:{number}",
                "source_ids": (str(number),),
            }
            fields = memory.model_dump(exclude={"content"}, exclude_none=True) | {"conversation_id": str(number)}
            yield source.turn(f"{source.name}: case {case.id!r} memory {number + 1}", said | fields)


def _other(case: _Case) -> str:
    return f"{case.id}-other"


def _golden_question(source: Source, case: _Case) -> Question:
    numbers = {memory.content: str(number) for number, memory in enumerate(case.setup_memories)}
    for content in (*case.expected_retrievals, *case.outdated):
        if content not in numbers:
            raise FormatError(f"{source.name}: case {case.id!r}: {content!r} is none of its setup_memories")
    return Question(
        user_id=case.id,
        text=case.query,
        kind=case.kind,
        evidence=frozenset(numbers[content] for content in case.expected_retrievals),
        stale=frozenset(numbers[content] for content in case.outdated),
        now=case.now,
        half=case.half,
        answer=case.answer,
        token_budget=case.token_budget,
    )


class _Spoken(BaseModel):
    role: Role
    content: str


class _Haystack(BaseModel):
    question_id: str = Field(min_length=1, max_length=100)
    question_type: str
    question: str
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Spoken]]
    answer_session_ids: list[str]
    answer: str | int | float = ""


def longmemeval(path: Path, first: int | None = None) -> Dataset:
    """LongMemEval (Wu et al., ICLR 2025), ranked by sessions; each question is a user of its own with a haystack.

    Whether nothing is said to a question whose id ends in `_abs` is told, but it counts in no other metric, as in the
    original. Evidence are the `answer_session_ids`, also where the assistant answers. `first`: only so many questions.

    Raises:
        FormatError: the file is not LongMemEval.
    """
    source = Source(path)
    document = _document(source, _LARGEST)
    listed = document[:first] if isinstance(document, list) else document
    read = _list_of(_Haystack, listed, source.name, "question")
    turns = [turn for one in read for turn in _haystack(source, one)]
    questions = _with_known_evidence(turns, [_sought(source, one) for one in read])
    return Dataset("longmemeval", turns, questions, limit=_MOST_ITEMS, by_session=True)


def _haystack(source: Source, one: _Haystack) -> Iterator[Turn]:
    where = f"{source.name}: {one.question_id}"
    if not len(one.haystack_session_ids) == len(one.haystack_dates) == len(one.haystack_sessions):
        raise FormatError(f"{where}: haystack_session_ids, haystack_dates and haystack_sessions differ in length")
    sessions = zip(one.haystack_session_ids, one.haystack_dates, one.haystack_sessions, strict=True)
    for number, (session, date, spoken) in enumerate(sessions):
        began = _date(date, f"{where}: haystack_dates")
        for index, said in enumerate(spoken):
            if said.content.strip():
                place: dict[str, Any] = {"turn_id": f"{one.question_id}:{number}:{index}", "source_ids": (session,)}
                place |= {"user_id": one.question_id, "conversation_id": session, "role": said.role}
                fields = place | {"text": said.content, "created_at": later(began, index * _STEP)}
                yield source.turn(f"{where} {session} turn {index + 1}", fields)


def _sought(source: Source, one: _Haystack) -> Question:
    abstains = one.question_id.endswith("_abs")
    evidence = frozenset[str]() if abstains else frozenset(one.answer_session_ids)
    now = _date(one.question_date, f"{source.name}: {one.question_id}: question_date")
    kind = "abstention" if abstains else one.question_type
    return Question(one.question_id, one.question, kind, evidence, now=now, answer="" if abstains else str(one.answer))


def _date(text: str, where: str) -> datetime:
    """A moment of LongMemEval, which names the weekday but no zone."""
    try:
        return datetime.strptime(_WEEKDAY.sub("", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise FormatError(f"{where}: is not like '2023/05/30 (Tue) 23:40'") from None


def by_content(path: Path) -> Dataset:
    """The dataset of whichever kind the file is.

    Raises:
        FormatError: it is of none.
    """
    if path.is_dir():
        return chats(path)
    source = Source(path)
    document = _document(source, _LARGEST)
    first = document[0] if isinstance(document, list) and document else document
    keys = set(first) if isinstance(first, dict) else set()
    readers = {"cases": golden, "turns": chats, "conversation": locomo, "haystack_sessions": longmemeval}
    for key in keys & set(readers):
        return readers[key](path)
    raise FormatError(f"{source.name}: is neither chats nor LoCoMo, LongMemEval or golden cases")


def check_distinct(ids: Sequence[str], name: str, what: str) -> None:
    """Refuse two things with one id: their memories would be one.

    Raises:
        FormatError: two have the same.
    """
    if len(set(ids)) < len(ids):
        raise FormatError(f"{name}: two {what}s have the same id: each needs its own")


def _document(source: Source, most: int | None = None) -> Any:
    try:
        return parsed(source.whole(most), source.name)
    except OSError as error:
        raise FormatError(f"{source.name}: {error.strerror or error}") from error


def _list_of(model: type[M], document: Any, name: str, what: str) -> list[M]:
    listed = _some_of(document, name, what)
    return [checked(model, data, f"{name}: {what} {number}") for number, data in enumerate(listed, start=1)]


def _some_of(document: Any, name: str, what: str) -> list[Any]:
    if not isinstance(document, list):
        raise FormatError(f"{name}: is no list of {what}s")
    if not document:
        raise FormatError(f"{name}: has no {what}s")
    return document


def _with_known_evidence(turns: Sequence[Turn], questions: Sequence[Question]) -> list[Question]:
    """The questions without the evidence that is no turn of their user."""
    known = {(turn.user_id, source) for turn in turns for source in turn.source_ids}
    return [
        replace(question, evidence=frozenset(s for s in question.evidence if (question.user_id, s) in known))
        for question in questions
    ]
