"""`memorybus bench stalls`: what one user's flood of long texts, and of reads of them, costs another user."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from typing import Annotated, Any

import httpx
import typer

from contracts import flow
from contracts.errors import Unavailable
from contracts.flow import Answer
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.measure import percentile
from services.bench.process import measured, until_digested
from services.bench.texts import Talk
from services.bench.write import end_to_end
from services.cli.common import out, run
from services.cli.tables import table
from services.shared.client import MemoryClient, RequestFailed
from services.shared.tasks import end

EPILOG = """Examples:\n
  memorybus bench stalls\n
  memorybus bench stalls --texts 2000 --words 3000\n
  memorybus bench stalls --texts 300 --reads 200\n
  memorybus bench stalls --texts 5000 --words 20 --embedder none --ner none
"""
_OTHER = "other-0"
_OTHERS_ENTRIES = 200
_EVERY = 0.1  # seconds between two questions, and two looks at the health page
_TURN_EVERY = 1.0
_PATIENCE = 2.0
_READS_AT_ONCE = 12
_READ_PATIENCE = 120.0
_READS: tuple[Answer[Any, Any], ...] = (flow.PROFILE, flow.CARDS, flow.LOOPS, flow.SESSIONS)
_HOSTILE_CHARS = 8000
_FRAGMENTS = (
    ".", ",", "-", ";", "> ", "👍", "\n", "“a” ", "<a>", "(", "1. ", "- [ ] ", "user: ", "I ", "not ", "A-", "http://",
    "\u0301", "no longer ", "I live in Turku. ",
)  # fmt: skip
_WORDS = "i you the my sister lives in Turku and works at Siemens is not to that if forget told Anna".split()


@dataclass(slots=True)
class Felt:
    """What was met while one flood was digested: milliseconds of each kind, and the seconds the flood took."""

    retrieve: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0


def stalls(
    texts: Annotated[int, typer.Option(help="Texts that one user publishes at once.", min=10)] = 600,
    words: Annotated[int, typer.Option(help="Words of each.", min=10)] = 150,
    embedder: Annotated[str, typer.Option(help="minilm or none.")] = "minilm",
    ner: Annotated[str, typer.Option(help="spacy or none.")] = "spacy",
    reads: Annotated[int, typer.Option(help="How often the user then reads what is made of all of them.", min=4)] = 60,
    hostile_texts: Annotated[int, typer.Option(help="Texts that are slow to read.", min=1)] = 50,
) -> None:
    """Have one user publish a flood of unlike texts, one of texts that differ in two numbers only, then hostile ones.

    After the first and the last they read the profile, cards, open loops and sessions made of them again and again,
    twelve at a time. Hostile are texts of 8,000 characters that repeat a sign or a word.
    Meanwhile another user asks and says something now and then, and the health page is looked at.
    """
    run(_bench(texts, words, reads, hostile_texts, ["--embedder", embedder, "--ner", ner]))


async def _bench(texts: int, words: int, reads: int, hostile_texts: int, options: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        async with measured(Path(folder) / "up", options) as (up, client):
            await end_to_end(client, list(Talk(seed=41).turns(_OTHERS_ENTRIES, name="other")), 64, before=0)
            floods = {
                "unlike": unlike(texts, words),
                "alike": alike(texts, words),
                "hostile": islice(hostile(), hostile_texts),
            }
            felt = {name: await _flood(client, up.http, turns_of(name, said)) for name, said in floods.items()}
            felt["reads"] = await _read(client, up.http, "flood-unlike", reads)
            felt["reads of hostile"] = await _read(client, up.http, "flood-hostile", reads)
    _report(texts, words, felt)


def unlike(texts: int, words: int) -> Iterator[str]:
    """Texts of so many words that have little in common."""
    talk = Talk(seed=5)
    for _ in range(texts):
        said: list[str] = []
        while len(said) < words:
            said += talk.sentence().split()
        yield " ".join(said[:words])


def alike(texts: int, words: int) -> Iterator[str]:
    """One text of so many words, as a template: each differs from all others in two numbers."""
    (template,) = unlike(1, words)
    told = template.split(" ")
    for number in range(texts):
        told[words // 3], told[2 * words // 3] = str(1000 + number), str(7 * number)
        yield " ".join(told)


def hostile() -> Iterator[str]:
    """Texts on which rules that go back over what they read take long: one fragment again and again, with a word after
    each in every second round."""
    random = Random(3)
    for number in count():
        fragment = _FRAGMENTS[number % len(_FRAGMENTS)]
        is_mixed = number // len(_FRAGMENTS) % 2 == 1
        pieces = (f"{fragment}{random.choice(_WORDS)} " if is_mixed else fragment for _ in count())
        text, length = [f"{number} "], 0
        while length < _HOSTILE_CHARS:
            text.append(next(pieces))
            length += len(text[-1])
        yield "".join(text)[:_HOSTILE_CHARS]


def turns_of(name: str, said: Iterable[str]) -> list[Turn]:
    """The texts as turns of one conversation."""
    return [Turn(user_id=f"flood-{name}", role="user", text=text, conversation_id="c") for text in said]


async def _flood(client: MemoryClient, http: str, turns: list[Turn]) -> Felt:
    felt = Felt()
    async with _meanwhile(client, http, felt):
        started = time.perf_counter()
        await client.publish_all(turns)
        await until_digested(client, len(turns), user_id=turns[0].user_id)
        felt.seconds = time.perf_counter() - started
    return felt


async def _read(client: MemoryClient, http: str, user: str, reads: int) -> Felt:
    """Read what takes longest, so many times."""
    felt, places = Felt(), asyncio.Semaphore(_READS_AT_ONCE)

    async def read(answer: Answer[Any, Any]) -> None:
        async with places:
            await client.request(answer, answer.request(user_id=user), patience=_READ_PATIENCE)

    async with _meanwhile(client, http, felt):
        started = time.perf_counter()
        await asyncio.gather(*map(read, islice(cycle(_READS), reads)))
        felt.seconds = time.perf_counter() - started
    return felt


@asynccontextmanager
async def _meanwhile(client: MemoryClient, http: str, felt: Felt) -> AsyncIterator[None]:
    """Ask, say something and look at the health page until the flood is over."""
    questions = Talk(seed=99).questions()
    async with httpx.AsyncClient(timeout=60.0) as pages:

        async def ask() -> None:
            await client.retrieve(RetrieveRequest(user_id=_OTHER, query=next(questions)), patience=_PATIENCE)

        async def look() -> None:
            (await pages.get(f"{http}/healthz")).raise_for_status()

        tasks = [
            asyncio.create_task(_timed_again_and_again(ask, felt.retrieve, felt, every=_EVERY)),
            asyncio.create_task(_timed_again_and_again(look, felt.health, felt, every=_EVERY)),
            asyncio.create_task(_timed_again_and_again(_say_and_find(client), felt.found, felt, every=_TURN_EVERY)),
        ]
        try:
            yield
        finally:
            await end(tasks)


def _say_and_find(client: MemoryClient) -> Callable[[], Awaitable[None]]:
    numbers = count()

    async def say_and_find() -> None:
        marker = f"marker{next(numbers)}x{time.time_ns()}"
        await client.publish(Turn(user_id=_OTHER, role="user", text=f"Remember the word {marker}."))
        query = RetrieveRequest(user_id=_OTHER, query=marker, limit=5, min_score=0.0)
        while True:
            reply = await client.retrieve(query, patience=60.0)
            if any(marker in item.text for item in reply.items):
                return
            await asyncio.sleep(0.02)

    return say_and_find


async def _timed_again_and_again(
    do: Callable[[], Awaitable[None]], times: list[float], felt: Felt, *, every: float
) -> None:
    while True:
        started = time.perf_counter()
        try:
            await do()
        except (Unavailable, RequestFailed, httpx.HTTPError):
            felt.failed += 1
        took = time.perf_counter() - started
        times.append(took * 1000)
        await asyncio.sleep(max(0.0, every - took))


def _report(texts: int, words: int, felt: dict[str, Felt]) -> None:
    figures: dict[str, Callable[[Felt], list[float]]] = {
        "retrieve of the other user": lambda one: one.retrieve,
        "/healthz": lambda one: one.health,
        "a turn of the other user is found by words after": lambda one: one.found,
    }
    rows = [
        *(
            (f"{what}, p50 / p95 / p99 / most ms", *(_percentiles(times(one)) for one in felt.values()))
            for what, times in figures.items()
        ),
        ("not answered", *(str(one.failed) for one in felt.values())),
        ("took", *(f"{one.seconds:.1f} s" for one in felt.values())),
        ("[bold]alike ÷ unlike[/bold]", "", f"{felt['alike'].seconds / felt['unlike'].seconds:.2f} ×"),
    ]
    title = f"{texts:,} texts of {words:,} words by one user, reads of them, and another user meanwhile"
    out.print(table(("what", *felt), rows, title=title))


def _percentiles(times: list[float]) -> str:
    if not times:
        return "none within the time"
    return " / ".join(f"{percentile(times, share):,.0f}" for share in (0.5, 0.95, 0.99, 1.0))
