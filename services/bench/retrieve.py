"""`memorybus bench retrieve`: how fast memory answers, beside what its model and engines take alone."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import Progress
from rich.table import Table

from contracts.ports import Accepted, Embedder, Filters, Scope, TextStore, Vector, VectorPoint, VectorStore
from contracts.v1.turns import DatedTurn, LoggedTurn, Turn
from services.bench.measure import percentile
from services.bench.process import Up, measured, milliseconds_to_retrieve
from services.bench.texts import Talk
from services.cli.common import out, run
from services.curate.settings import CurateSettings
from services.dedupe.handler import candidate_entry
from services.ingest.handler import place_in_sessions, propose
from services.ingest.settings import IngestSettings
from services.retrieve.settings import RetrieveSettings
from services.shared.app import Host, check_identity, open_embedder_of
from services.shared.client import MemoryClient
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench retrieve --entries 10000\n
  memorybus bench retrieve --entries 100000 --queries 500
"""
USER = "bench-0"
_OTHER, _OTHERS = "bench-other", 200
_CHUNK = 500
_WARM_UP = 20
_EVERY = 0.05
_TRIMMING = 600.0  # seconds; what is left by then is said
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
    """Fill a memory with entries of one user, then ask it questions over the bus.

    First nothing is trimmed, however many entries there are. Where they are more than MEMORYBUS_CURATE_SOFT_CAP, it is
    then asked once more while curate trims them.
    """
    run(_bench(entries, queries))


async def _bench(entries: int, queries: int) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        settings = Settings(data=Path(folder) / "up", ner="none")
        asked = list(itertools.islice(Talk(seed=99).questions(), queries))
        alone = await filled(settings, entries, asked)
        async with _up(settings, soft_cap=0) as (_, client):
            both = [await milliseconds_to_retrieve(client, USER, question) for question in asked[:_WARM_UP] + asked]
            answered = both[-len(asked) :]
        _report(entries, answered, alone)
        cap = CurateSettings().soft_cap
        if 0 < cap < entries:
            await _bench_trimming(settings, entries - cap, cap)


def _up(settings: Settings, *, soft_cap: int) -> AbstractAsyncContextManager[tuple[Up, MemoryClient]]:
    return measured(settings.data, ["--ner", "none"], environment={"MEMORYBUS_CURATE_SOFT_CAP": str(soft_cap)})


async def _bench_trimming(settings: Settings, too_many: int, cap: int) -> None:
    """Ask for this user and another one while curate archives what is above the soft cap."""
    answered: dict[str, list[float]] = {USER: [], _OTHER: []}
    async with _up(settings, soft_cap=cap) as (_, client):
        others = [turn.model_copy(update={"user_id": _OTHER}) for turn in Talk(seed=41).turns(_OTHERS, name="other")]
        await client.publish_all(others)
        asked, started = Talk(seed=99).questions(), time.perf_counter()
        while (left := (await client.status(USER)).entries - cap) > 0 and time.perf_counter() - started < _TRIMMING:
            for _ in range(10):
                for user_id, times in answered.items():
                    times.append(await milliseconds_to_retrieve(client, user_id, next(asked)))
                await asyncio.sleep(_EVERY)
    seconds = time.perf_counter() - started
    out.print(f"while curate trims {too_many:,} entries ({too_many - max(0, left):,} of them in {seconds:.0f} s):")
    for who, times in zip(("that user", "another user"), answered.values(), strict=True):
        out.print(f"  retrieve of {who}: p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms")


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
    await store.append(logged, proposals)
    finished = {"enriched": True, "embedding_state": "ready"}
    done = [candidate_entry(proposal).model_copy(update=finished) for proposal in proposals]
    await store.apply([Accepted(entry) for entry in done])
    weights = random.standard_normal((len(done), 6)).astype(np.float32)
    mixed = np.einsum("nk,nkd->nd", weights, basis[random.integers(0, len(basis), (len(done), 6))])
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    await vectors.upsert([VectorPoint(entry, vector) for entry, vector in zip(done, mixed, strict=True)])


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
    title = f"retrieve, {entries:,} entries of one user, nothing is trimmed, {len(answered)} questions over the bus"
    table = Table(title=title)
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
