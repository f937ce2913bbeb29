"""`memorybus bench retrieve`: how fast memory answers, beside what its model and engines take alone."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import Progress
from rich.table import Table

from contracts.ports import (
    TURN,
    Accepted,
    Embedder,
    Filters,
    Scope,
    TextStore,
    Vector,
    VectorPoint,
    VectorStore,
)
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import DatedTurn, LoggedTurn, Turn
from services.cli.bench.measure import percentile
from services.cli.bench.process import up_process
from services.cli.bench.texts import Talk
from services.cli.common import out, run
from services.dedupe.handler import candidate_entry
from services.ingest.handler import place_in_sessions, propose
from services.ingest.settings import IngestSettings
from services.retrieve.settings import RetrieveSettings
from services.shared.app import Host, check_identity, open_embedder_of
from services.shared.client import memory_client
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench retrieve --entries 10000\n
  memorybus bench retrieve --entries 100000 --queries 500
"""
USER = "bench-0"
_CHUNK = 500
_REAL_VECTORS = 400


@dataclass(slots=True)
class Alone:
    """Milliseconds of the model and of each engine, alone and idle."""

    embedding: list[float] = field(default_factory=list)
    lexical: list[float] = field(default_factory=list)
    semantic: list[float] = field(default_factory=list)

    def sum_of_slowest(self, share: float) -> float:
        """Query embedding plus the slower engine, at a percentile."""
        slower = max(percentile(self.lexical, share), percentile(self.semantic, share))
        return percentile(self.embedding, share) + slower


def retrieve(
    entries: Annotated[int, typer.Option(help="Entries of the one user.", min=100)] = 10_000,
    queries: Annotated[int, typer.Option(help="Questions to ask, one after the other.", min=10)] = 300,
) -> None:
    """Fill a memory with entries of one user, then ask it questions over the bus."""
    run(_bench(entries, queries))


async def _bench(entries: int, queries: int) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        settings = Settings(data=Path(folder) / "up", ner="none")
        asked = list(itertools.islice(questions(), queries))
        alone = await filled(settings, entries, asked)
        async with up_process(settings.data, ["--ner", "none"]) as up, memory_client(up.nats) as client:
            answered = []
            for question in itertools.chain(asked[:20], asked):
                started = time.perf_counter()
                await client.retrieve(RetrieveRequest(user_id=USER, query=question))
                answered.append((time.perf_counter() - started) * 1000)
    _report(entries, answered[20:], alone)


async def filled(settings: Settings, entries: int, asked: Sequence[str] = ()) -> Alone:
    """Fill a memory with entries of one user, then time its model and engines alone with these questions."""
    host = Host(settings, "nats://127.0.0.1:1")
    store, embedder, vectors = await host.text_store(), await open_embedder_of(settings), await host.vector_store()
    assert embedder is not None
    assert vectors is not None
    try:
        await check_identity(store, embedder.identity)
        await _fill(store, vectors, embedder, entries)
        return await _engines_alone(asked, store, vectors, embedder)
    finally:
        await host.close()
        await embedder.close()


def questions() -> Iterator[str]:
    """Questions without end, always the same ones."""
    talk = Talk(seed=99)
    while True:
        yield talk.question()


async def _fill(store: TextStore, vectors: VectorStore, embedder: Embedder, count: int) -> None:
    """Write entries as the pipeline would. Their vectors are mixtures of real ones: engines do not read meaning."""
    talk = Talk(seed=5)
    basis = await embedder.embed([talk.sentence() for _ in range(_REAL_VECTORS)])
    random = np.random.default_rng(1)
    turns = talk.turns(count)
    with Progress(console=out, transient=True) as progress:
        bar = progress.add_task("filling the memory", total=count)
        while chunk := list(itertools.islice(turns, _CHUNK)):
            await _write(chunk, store, vectors, basis, random)
            progress.advance(bar, len(chunk))


async def _write(
    chunk: list[Turn], store: TextStore, vectors: VectorStore, basis: Vector, random: np.random.Generator
) -> None:
    dated = [DatedTurn.model_validate(dict(turn)) for turn in chunk]
    logged: list[LoggedTurn] = place_in_sessions(dated, [None] * len(dated), IngestSettings().session_gap)
    proposals = [propose(turn) for turn in logged]
    await store.log(logged, proposals)
    done = [_finished(candidate_entry(proposal)) for proposal in proposals]
    await store.settle([Accepted(entry) for entry in done])
    weights = random.standard_normal((len(done), 6)).astype(np.float32)
    mixed = np.einsum("nk,nkd->nd", weights, basis[random.integers(0, len(basis), (len(done), 6))])
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    await vectors.upsert([VectorPoint(entry, {TURN: vector}) for entry, vector in zip(done, mixed, strict=True)])


def _finished(entry: Entry) -> Entry:
    return entry.model_copy(update={"enriched": True, "embedding_state": "ready"})


async def _engines_alone(asked: Sequence[str], store: TextStore, vectors: VectorStore, embedder: Embedder) -> Alone:
    alone = Alone()
    scope, filters, knobs = Scope(USER), Filters(), RetrieveSettings()
    for question in asked:
        started = time.perf_counter()
        vector = (await embedder.embed([question]))[0]
        embedded = time.perf_counter()
        await store.search(scope, question, limit=knobs.lexical_depth, filters=filters)
        searched = time.perf_counter()
        await vectors.search(scope, vector, limit=knobs.semantic_depth, filters=filters)
        finished = time.perf_counter()
        alone.embedding.append((embedded - started) * 1000)
        alone.lexical.append((searched - embedded) * 1000)
        alone.semantic.append((finished - searched) * 1000)
    return alone


def _report(entries: int, answered: list[float], alone: Alone) -> None:
    table = Table(title=f"retrieve, {entries:,} entries of one user, {len(answered)} questions over the bus")
    table.add_column("what")
    table.add_column("p50 ms", justify="right")
    table.add_column("p95 ms", justify="right")
    rows = {
        "query embedding alone": alone.embedding,
        "text store alone": alone.lexical,
        "vector store alone": alone.semantic,
        "[bold]retrieve[/bold]": answered,
    }
    for what, values in rows.items():
        table.add_row(what, f"{percentile(values, 0.5):.1f}", f"{percentile(values, 0.95):.1f}")
    ratios = [percentile(answered, share) / alone.sum_of_slowest(share) for share in (0.5, 0.95)]
    table.add_row("÷ (embedding + slower engine)", *(f"{ratio:.2f} ×" for ratio in ratios))
    out.print(table)
