"""`memorybus bench engines`: OpenSearch beside SQLite as text store, in one run: speed, and whether they agree."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

import typer
from rich.table import Table

from contracts.v1.retrieval import RetrieveRequest
from services.bench import retrieve as reading
from services.bench import write as writing
from services.bench.isolation import remove_indexes
from services.bench.measure import percentile
from services.bench.process import Up, measured, milliseconds_to_retrieve
from services.bench.texts import Talk
from services.cli.common import out, run
from services.cli.tables import table
from services.shared.client import MemoryClient
from services.shared.commands.formats import Question, Source, read_locomo_questions, read_turns
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench engines --opensearch-url http://127.0.0.1:9200\n
  memorybus bench engines --turns 500 --entries 2000 --locomo locomo.json
"""
Engine = Literal["sqlite", "opensearch"]
_ENGINES: tuple[Engine, ...] = ("sqlite", "opensearch")
_WARM_UP_TURNS = 200
_WARM_UP_QUESTIONS = 100
_TOP = 10


@dataclass(slots=True)
class Figures:
    """What one engine did: turns per second, milliseconds of each answer, and the turns each question brought."""

    rate: float = 0.0
    answers: list[float] = field(default_factory=list)
    found: list[tuple[str, ...]] = field(default_factory=list)


def engines(
    opensearch_url: Annotated[str | None, typer.Option(help="OpenSearch to measure.", metavar="URL")] = None,
    turns: Annotated[int, typer.Option(help="Turns to publish.", min=100)] = 2000,
    entries: Annotated[int, typer.Option(help="Entries of the user who is asked about.", min=500)] = 10_000,
    queries: Annotated[int, typer.Option(help="Questions to ask, one after the other.", min=10)] = 300,
    embedder: Annotated[str, typer.Option(help="minilm or none.")] = "minilm",
    ner: Annotated[str, typer.Option(help="spacy or none.")] = "spacy",
    locomo: Annotated[
        Path | None, typer.Option(help="LoCoMo file whose questions both are asked.", exists=True)
    ] = None,
) -> None:
    """Run the same turns and questions through both text stores, with the embedded vectors beside each.

    OpenSearch gets indexes of its own, which are removed afterwards.
    """
    settings = Settings(embedder=embedder, ner=ner)
    url = opensearch_url or settings.opensearch_url
    options = ["--embedder", embedder, "--ner", ner]
    figures = run(_bench(url, options, turns, entries, queries, locomo))
    out.print(_speeds(figures))
    if locomo is not None:
        out.print(_agreement(figures, read_locomo_questions(Source(locomo, "locomo"))))


async def _bench(
    url: str, options: Sequence[str], turns: int, entries: int, queries: int, locomo: Path | None
) -> dict[Engine, Figures]:
    figures = {engine: Figures() for engine in _ENGINES}
    for engine, one in figures.items():
        with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
            one.rate = await _written(_settings(engine, url, Path(folder) / "write"), options, turns)
            one.answers = await _answered(_settings(engine, url, Path(folder) / "read"), entries, queries)
            if locomo is not None:
                one.found = await _found(_settings(engine, url, Path(folder) / "locomo"), locomo)
    return figures


def _settings(engine: Engine, url: str, folder: Path) -> Settings:
    prefix = f"bench-{uuid4().hex[:12]}"
    return Settings(data=folder, text_store=engine, opensearch_url=url, opensearch_prefix=prefix, ner="none")


def _up(settings: Settings, options: Sequence[str]) -> AbstractAsyncContextManager[tuple[Up, MemoryClient]]:
    environment = {
        "MEMORYBUS_TEXT_STORE": settings.text_store,
        "MEMORYBUS_OPENSEARCH_URL": settings.opensearch_url,
        "MEMORYBUS_OPENSEARCH_PREFIX": settings.opensearch_prefix,
    }
    return measured(settings.data, options, environment=environment)


async def _written(settings: Settings, options: Sequence[str], turns: int) -> float:
    """Turns per second, end to end, once everything is warm."""
    try:
        async with _up(settings, options) as (_, client):
            warm_up = list(Talk(seed=41).turns(_WARM_UP_TURNS, name="warm-up"))
            await writing.end_to_end(client, warm_up, in_flight=64, before=0)
            batch = list(Talk(seed=5).turns(turns, users=8))
            return await writing.end_to_end(client, batch, in_flight=64, before=_WARM_UP_TURNS)
    finally:
        remove_indexes(settings, settings.opensearch_prefix)


async def _answered(settings: Settings, entries: int, queries: int) -> list[float]:
    """Milliseconds of each answer over the bus, after a warm-up."""
    try:
        await reading.filled(settings, entries)
        async with _up(settings, ["--ner", "none"]) as (_, client):
            questions = list(itertools.islice(Talk(seed=99).questions(), queries))
            asked = [*questions[:_WARM_UP_QUESTIONS], *questions]
            took = [await milliseconds_to_retrieve(client, reading.USER, question) for question in asked]
            return took[-len(questions) :]
    finally:
        remove_indexes(settings, settings.opensearch_prefix)


async def _found(settings: Settings, locomo: Path) -> list[tuple[str, ...]]:
    """For each question the source ids of the ten best entries."""
    batch = list(read_turns(Source(locomo, "locomo")))
    try:
        async with _up(settings, ["--ner", "none"]) as (_, client):
            await writing.end_to_end(client, batch, in_flight=64, before=0)
            return [await _best(client, asked) for asked in read_locomo_questions(Source(locomo, "locomo"))]
    finally:
        remove_indexes(settings, settings.opensearch_prefix)


async def _best(client: MemoryClient, asked: Question) -> tuple[str, ...]:
    request = RetrieveRequest(user_id=asked.user_id, query=asked.text, limit=_TOP, token_budget=100_000, min_score=0.0)
    reply = await client.retrieve(request)
    return tuple(item.source_ids[0] for item in reply.items)


def _speeds(figures: dict[Engine, Figures]) -> Table:
    embedded, cluster = (figures[engine] for engine in _ENGINES)
    ratio = f"{cluster.rate / embedded.rate:.0%}"
    rows = [("write, turns/s", f"{embedded.rate:,.0f}", f"{cluster.rate:,.0f}", ratio)]
    for share in (0.5, 0.95):
        one, other = percentile(embedded.answers, share), percentile(cluster.answers, share)
        rows.append((f"retrieve p{share * 100:.0f}, ms", f"{one:.1f}", f"{other:.1f}", f"{other / one:.2f} ×"))
    title = "text stores, the same turns and questions"
    return table(("what", *_ENGINES, "opensearch ÷ sqlite"), rows, title=title)


def _agreement(figures: dict[Engine, Figures], asked: Sequence[Question]) -> Table:
    """How many of the ten best both have in common, and how often each finds a turn that holds the answer."""
    embedded, cluster = (figures[engine].found for engine in _ENGINES)
    common = [
        len(set(one) & set(other)) / max(len(one), len(other), 1) for one, other in zip(embedded, cluster, strict=True)
    ]
    rows = [
        ("in common", f"{sum(common) / len(common):.1%}"),
        ("the same in the same order", f"{sum(map(tuple.__eq__, embedded, cluster)) / len(asked):.1%}"),
    ]
    answerable = [index for index, question in enumerate(asked) if question.evidence]
    for engine in _ENGINES:
        found = figures[engine].found
        hits = sum(not asked[index].evidence.isdisjoint(found[index]) for index in answerable)
        rows.append((f"evidence among them, {engine}", f"{hits / len(answerable):.3f}"))
    return table(("what", "figure"), rows, title=f"{len(asked)} questions, the ten best")
