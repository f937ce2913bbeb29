"""`memorybus eval coverage`: how much of what is asked for stands in facts, spine and summaries, as it is read."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from contracts.errors import TextRefused
from contracts.ports import Embedder
from contracts.v1.entries import Entry
from contracts.v1.turns import Turn
from services.cli.common import fail, out
from services.cli.tables import table
from services.eval.datasets import chats
from services.shared.app import open_embedder_of
from services.shared.commands.formats import FormatError, Question
from services.shared.context.embedding import embed_each, made_by
from services.shared.context.summaries import Sentence
from services.shared.knowledge.profile import claimed
from services.shared.knowledge.summaries import session_summary, spine_of
from services.shared.language.analysis import telling_terms
from services.shared.lifecycle.sessions import sessions_of
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus eval coverage chats.json\n
  memorybus eval coverage chats.json --questions 200
"""

_HALF = 0.5
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Covered:
    """A question, and how much is shown of the words of a turn that answers it, of the one that is shown best."""

    question: Question
    share: float

    @property
    def is_covered(self) -> bool:
        """Whether half of the words of such a turn are shown, or more."""
        return self.share >= _HALF


@dataclass(frozen=True, slots=True)
class Overview:
    """What is shown of the turns of a user, by source, and how many characters there are of either."""

    shown: Mapping[str, frozenset[str]]
    turns: Mapping[str, str]

    @property
    def characters(self) -> tuple[int, int]:
        """Of what is shown, and of all that was said."""
        shown = (_shown(self.turns[source], found) for source, found in self.shown.items())
        return sum(shown), sum(map(len, self.turns.values()))

    def share(self, source: str) -> float:
        """The share of the telling words of a turn that are shown."""
        words = frozenset(telling_terms(self.turns.get(source, "")))
        shown = frozenset(telling_terms(" ".join(self.shown.get(source, ()))))
        return len(words & shown) / len(words) if words else 0.0


def _shown(text: str, parts: Iterable[str]) -> int:
    """How many characters of a text are in these parts of it, each counted once."""
    places = [(text.find(part), len(part)) for part in parts]
    return len({place for begin, length in places for place in range(begin, begin + length)})


async def overviews(turns: Iterable[Turn], embedder: Embedder) -> dict[str, Overview]:
    """The overview of each user who said these turns, after all of them, as an embedder reads them that can.

    Raises:
        Unavailable: the embedder cannot be asked now.
    """
    of: defaultdict[str, list[Entry]] = defaultdict(list)
    for turn in turns:
        of[turn.user_id or ""].append(_entry(turn))
    return {user: _overview(await _read(entries, embedder)) for user, entries in of.items()}


async def _read(entries: Sequence[Entry], embedder: Embedder) -> list[Entry]:
    read = list(entries)
    for first in range(0, len(read), _TOGETHER):
        texts = [entry.text for entry in read[first : first + _TOGETHER]]
        async for found in embed_each(embedder, texts):
            for place, one in found.items():
                if not isinstance(one, TextRefused) and one.reading is not None:
                    read[first + place] = made_by(read[first + place], embedder, one.reading.claims)
    return read


def _entry(turn: Turn) -> Entry:
    at = turn.created_at or datetime.now(UTC)
    return Entry(
        id=turn.source_ids[0],
        user_id=turn.user_id or "",
        text=turn.text,
        role=turn.role,
        conversation_id=turn.conversation_id,
        session_id=turn.conversation_id,
        created_at=at,
        updated_at=at,
    )


def _overview(entries: Sequence[Entry]) -> Overview:
    texts = {entry.id: entry.text for entry in entries}
    shown: defaultdict[str, set[str]] = defaultdict(set)
    for sentence in _sentences(entries):
        for source in sentence.source_ids:
            shown[source].add(sentence.text)
    for fact in claimed(entries):
        if fact.state == "sure" and fact.until is None:
            shown[fact.entry.id].add(fact.text)
    return Overview({source: frozenset(found) for source, found in shown.items()}, texts)


def _sentences(entries: Sequence[Entry]) -> Iterator[Sentence]:
    spine = spine_of(entries)
    yield from (*spine.profile, *spine.projects, *spine.people, *spine.open_loops)
    for session in sessions_of(entries, now=max(entry.created_at for entry in entries) + timedelta(days=1)):
        made = session_summary(session.entries)
        yield from (made.one_liner,) if made.one_liner else ()
        yield from (*made.what_mattered, *made.open_loops, *made.commitments)


def covered(questions: Sequence[Question], of: Mapping[str, Overview], count: int) -> list[Covered]:
    """So many of the questions that have an answer, evenly spread, each with what is shown of its answer."""
    asked = [one for one in questions if one.evidence]
    chosen = asked if count >= len(asked) else [asked[n * len(asked) // count] for n in range(count)]
    return [Covered(one, max(of[one.user_id].share(source) for source in one.evidence)) for one in chosen]


def coverage(
    file: Annotated[Path, typer.Argument(help="Chats, as `memorybus eval chats` takes them.")],
    questions: Annotated[int, typer.Option("--questions", "-n", min=1, help="Questions, evenly spread.")] = 60,
) -> None:
    """Count the questions of which facts, spine and summaries show half of the words of a turn that answers."""
    try:
        dataset = chats(file)
    except (FormatError, OSError) as error:
        fail(str(error))
    of = asyncio.run(_as_read(dataset.turns))
    found = covered(dataset.questions, of, questions)
    shown, said = (sum(sizes) for sizes in zip(*(one.characters for one in of.values()), strict=True))
    out.print(_table(found))
    out.print(f"shown: {shown:,} of {said:,} characters")


async def _as_read(turns: Iterable[Turn]) -> dict[str, Overview]:
    embedder = await open_embedder_of(Settings(embedder="memorybus", reader="memorybus"))
    assert embedder is not None
    try:
        return await overviews(turns, embedder)
    finally:
        await embedder.close()


def _table(found: Sequence[Covered]) -> Table:
    total = sum(one.is_covered for one in found)
    title = f"{total} of {len(found)} questions are covered: {total / max(1, len(found)):.2f}"
    asked = Counter(one.question.kind for one in found)
    covered = Counter(one.question.kind for one in found if one.is_covered)
    rows = ((kind, str(covered[kind]), str(asked[kind])) for kind in sorted(asked))
    return table(("kind of question", "covered", "asked"), rows, title=title)
