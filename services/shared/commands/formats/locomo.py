"""LoCoMo (Maharana et al., ACL 2024): long conversations of two people, in sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from contracts.v1.turns import Turn
from services.shared.commands.formats.source import WITHOUT_TEXT, FormatError, Source, checked, later, parsed

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_([0-9]{1,6})")
_STEP = timedelta(seconds=30)


class _Said(BaseModel):
    """One turn; a shared picture is there as its caption."""

    speaker: str
    dia_id: str
    text: str = ""
    blip_caption: str | None = None

    def words(self) -> str:
        """The text, then what was shared."""
        caption = (self.blip_caption or "").strip()
        return " ".join(part for part in (self.text.strip(), f"[shares {caption}]" if caption else "") if part)


class _Judged(BaseModel):
    """A question, and which turns answer it; a few entries name two turns at once, or none."""

    question: str
    evidence: list[str] = []
    category: int = 0
    answer: str | int | float = ""


class _Sample(BaseModel):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_Judged] = []


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user's memory, and the source ids of all turns that answer it.

    `stale` are the turns with a value that changed later, `now` is the moment to answer as of, `half` the part of the
    questions that it belongs to, `answer` what is to be answered, as far as the dataset tells.
    """

    user_id: str
    text: str
    kind: str
    evidence: frozenset[str]
    stale: frozenset[str] = frozenset()
    now: datetime | None = None
    half: str = ""
    token_budget: int = 1_000_000
    answer: str = ""


def read_locomo(source: Source) -> Iterator[Turn]:
    """The turns of one sample or of a list of samples."""
    for sample in _samples(source):
        yield from _sample(source, sample)


def read_locomo_questions(source: Source) -> list[Question]:
    """The questions of all samples, each for the user that `read_locomo` makes of its sample."""
    return [
        Question(
            sample.sample_id,
            judged.question,
            _CATEGORIES.get(judged.category, "other"),
            frozenset(_EVIDENCE.findall(" ".join(judged.evidence))),
            answer=str(judged.answer),
        )
        for sample in _samples(source)
        for judged in sample.qa
    ]


def _samples(source: Source) -> Iterator[_Sample]:
    document = parsed(source.whole(), source.name)
    samples = document if isinstance(document, list) else [document]
    for number, data in enumerate(samples, start=1):
        yield checked(_Sample, data, f"{source.name}: sample {number}")


def _sample(source: Source, sample: _Sample) -> Iterator[Turn]:
    """The sessions of a sample by number; a date of a session that is not there means nothing."""
    sessions = sorted((int(match[1]), match[0]) for match in map(_SESSION.fullmatch, sample.conversation) if match)
    for _, session in sessions:
        where = f"{source.name}: {sample.sample_id!r} {session}"
        turns = sample.conversation[session]
        if not isinstance(turns, list):
            raise FormatError(f"{where}: is no list of turns")
        began = _time(sample.conversation.get(f"{session}_date_time"), where)
        for index, data in enumerate(turns):
            spot = f"{where} turn {index + 1}"
            said = checked(_Said, data, spot)
            if not said.words():
                source.skipped[WITHOUT_TEXT] += 1
                continue
            place = {"conversation_id": f"{sample.sample_id}/{session}", "created_at": later(began, index * _STEP)}
            yield source.turn(spot, place | _fields(source, sample.sample_id, said))


def _fields(source: Source, sample_id: str, said: _Said) -> dict[str, Any]:
    """Each sample is a user of its own, or with --user a space of that user. Both speakers are people."""
    return {
        "user_id": source.user or sample_id,
        "space": source.space or (sample_id if source.user else "default"),
        "turn_id": f"{sample_id}:{said.dia_id}",
        "source_ids": (said.dia_id,),
        "role": "user",
        "speaker": said.speaker,
        "text": said.words(),
    }


def _time(text: object, where: str) -> datetime:
    """When a session began. The data names no zone; it is taken as UTC."""
    try:
        return datetime.strptime(str(text), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        raise FormatError(f"{where}_date_time: is not like '1:56 pm on 8 May, 2023'") from None
