"""`memorybus bench lookalikes`: of statements that differ in a code or their day alone, is the right one first?"""

from __future__ import annotations

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, permutations
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import UNHURRIED, in_no_hurry, measured, until_digested
from services.cli.common import out, run
from services.cli.tables import table

EPILOG = """Examples:\n
  memorybus bench lookalikes\n
  memorybus bench lookalikes --length 90\n
  memorybus bench lookalikes --embedder none\n
  memorybus bench lookalikes others.json
"""
TABLE = Path(__file__).with_name("lookalikes.json")
CODES_USER = "codes"
_END = datetime(2026, 10, 5, 7, 0, tzinfo=UTC)
"""When the last statement of all series is made."""
_DIGITS = ("248", "137", "569", "158", "279")
"""Their permutations are the numbers of codes: each has five others of the same digits."""


class Memory(Protocol):
    """What is asked."""

    async def retrieve(self, request: RetrieveRequest, *, patience: float) -> RetrieveReply: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the turns of which one is to be told first; of these it is enough that one is told at all."""

    kind: str
    user_id: str
    question: str
    wanted: frozenset[str]
    now: datetime


@dataclass(slots=True)
class Tally:
    """How many of the questions of a kind had the right answer first, and told at all; and those that had not."""

    asked: int = 0
    first: int = 0
    told: int = 0
    missed: tuple[str, ...] = ()

    def share(self, of: int) -> float:
        """This many of those that were asked."""
        return of / self.asked if self.asked else 0.0


def lookalikes(
    path: Annotated[
        Path, typer.Argument(metavar="[PATH]", help="File with templates and series.", show_default=False)
    ] = TABLE,
    length: Annotated[int, typer.Option(help="Statements of a series.", min=2)] = 60,
    embedder: Annotated[str, typer.Option(help="minilm or none.")] = "minilm",
    verbose: Annotated[bool, typer.Option("--verbose", help="Name the questions whose answer is not first.")] = False,
) -> None:
    """Ask for one of 300 statements that differ in a code, and for the newest, the first and a month's of series."""
    table = json.loads(path.read_text())
    tallies = run(_bench(table, length, ["--embedder", embedder, "--ner", "none"]))
    _report(tallies, verbose=verbose)


async def _bench(table: Mapping[str, Any], length: int, options: Sequence[str]) -> Mapping[str, Tally]:
    turns = [*code_turns(table), *series_turns(table, length)]
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        async with measured(Path(folder) / "up", options, environment=in_no_hurry({})) as (_, client):
            await client.publish_all(turns)
            await until_digested(client, len(turns))
            return await judged(client, [*code_cases(table), *series_cases(table, length)])


async def judged(memory: Memory, cases: Iterable[Case]) -> Mapping[str, Tally]:
    """What a memory tells first, by kind of question."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for case in cases:
        request = RetrieveRequest(user_id=case.user_id, query=case.question, now=case.now)
        reply = await memory.retrieve(request, patience=UNHURRIED)
        told, tally = [item.source_ids for item in reply.items], tallies[case.kind]
        is_first = bool(told) and not case.wanted.isdisjoint(told[0])
        tally.asked += 1
        tally.first += is_first
        tally.told += not case.wanted.isdisjoint(chain.from_iterable(told))
        tally.missed += () if is_first else (f"{case.question} → {reply.items[0].text if told else 'nothing'}",)
    return tallies


def code_turns(table: Mapping[str, Any]) -> Iterator[Turn]:
    """Thirty statements of each template, an hour after the other, those of all templates among each other."""
    said = [(name, text) for template in table["templates"] for name, text in _statements(table, template)]
    random.Random(3).shuffle(said)
    for hour, (name, text) in enumerate(said):
        yield _turn(CODES_USER, name, text, _END - timedelta(hours=len(said) - hour))


def code_cases(table: Mapping[str, Any]) -> Iterator[Case]:
    """For each statement one of the questions of its template."""
    now = _END + timedelta(hours=2)
    for template in table["templates"]:
        for place, (name, _) in enumerate(_statements(table, template)):
            number, person = _names(table)[place]
            asked = template["questions"][place % len(template["questions"])].format(n=number, name=person)
            yield Case("code", CODES_USER, asked, frozenset({name}), now)


def _statements(table: Mapping[str, Any], template: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, (number, person) in enumerate(_names(table)):
        word = template["words"][place % len(template["words"])]
        yield f"{template['text']}-{place}", template["text"].format(n=number, name=person, word=word)


def _names(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    numbers = ["".join(digits) for those in _DIGITS for digits in permutations(those)]
    return list(zip(numbers, table["names"], strict=True))


def series_turns(table: Mapping[str, Any], length: int) -> Iterator[Turn]:
    """The statements of each series, each series said by a user of its own."""
    for number, series in enumerate(table["series"]):
        values = random.Random(number)
        for place in range(length):
            text = series["text"].format(
                a=values.randint(5, 95), b=values.randint(10, 59), c=values.randint(101, 999), i=place + 1,
                place=values.choice(table["places"]),
            )  # fmt: skip
            yield _turn(f"series-{number}", f"{number}-{place}", text, _said_at(series, length - 1 - place))


def series_cases(table: Mapping[str, Any], length: int) -> Iterator[Case]:
    """For each series questions for the latest, and for what was said of it first and in a month in the middle."""
    for number, series in enumerate(table["series"]):
        user_id, moments = f"series-{number}", [_said_at(series, length - 1 - place) for place in range(length)]
        now = moments[-1] + timedelta(hours=2)
        for question in series["latest"]:
            yield Case("latest", user_id, question, frozenset({f"{number}-{length - 1}"}), now)
        yield Case("first", user_id, f"What was {series['about']} at first?", frozenset({f"{number}-0"}), now)
        middle = moments[length // 2]
        then = (place for place, at in enumerate(moments) if (at.year, at.month) == (middle.year, middle.month))
        wanted = frozenset(f"{number}-{place}" for place in then)
        yield Case("month", user_id, f"What was {series['about']} in {middle:%B %Y}?", wanted, now)


def _said_at(series: Mapping[str, Any], later: int) -> datetime:
    """When that statement of a series is made after which there are so many more."""
    return _END - timedelta(hours=later * int(series["every_hours"]))


def _turn(user_id: str, name: str, text: str, at: datetime) -> Turn:
    return Turn(
        user_id=user_id,
        role="user",
        text=text,
        turn_id=name,
        conversation_id=f"{user_id}-{at:%Y-%m-%d-%H}",
        created_at=at,
        source_ids=(name,),
    )


def _report(tallies: Mapping[str, Tally], *, verbose: bool) -> None:
    rows = (
        (kind, str(tally.asked), f"{tally.share(tally.first):.3f}", f"{tally.share(tally.told):.3f}")
        for kind, tally in tallies.items()
    )
    out.print(table(("asked for", "questions", "first", "told"), rows, title="statements that look alike"))
    for kind, tally in tallies.items() if verbose else ():
        for missed in islice(tally.missed, 100):
            out.print(f"{kind}: {missed}", style="dim", highlight=False)
