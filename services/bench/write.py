"""`memorybus bench write`: how fast turns become memories, and what bounds it, in one run."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import httpx
import typer
from rich.table import Table

from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.measure import fsyncs_per_second, percentile, stage_percentiles
from services.bench.process import measured, until_digested
from services.bench.texts import Talk
from services.cli.common import out, run
from services.shared.annotators.spacy import SpacyAnnotator
from services.shared.app import open_embedder_of
from services.shared.bus.connection import connect
from services.shared.bus.provisioning import provision
from services.shared.bus.server import NatsServer
from services.shared.client import MemoryClient
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench write\n
  memorybus bench write --turns 5000 --embedder none --ner none\n
  memorybus bench write --embedder none --ner none --sync interval
"""
_ALONE = 512  # texts for measuring a model alone
_WARM_UP = 64  # turns of another user, so that models are loaded before the clock starts


@dataclass(slots=True)
class Alone:
    """Rates of what bounds the pipeline, each alone, on the cores that the pipeline uses too; per second, 0 = off."""

    fsync: float = 0.0
    bus: float = 0.0
    embedder: float = 0.0
    annotator: float = 0.0

    @property
    def allowed(self) -> float | None:
        """Turns per second if the CPU-bound stages did nothing but take turns on the cores."""
        seconds = sum(1 / rate for rate in (self.embedder, self.annotator) if rate)
        return 1 / seconds if seconds else None


def write(
    turns: Annotated[int, typer.Option(help="Turns to publish.", min=10)] = 2000,
    users: Annotated[int, typer.Option(help="Users they belong to.", min=1)] = 8,
    in_flight: Annotated[int, typer.Option(help="Publishes under way at a time.", min=1)] = 64,
    embedder: Annotated[str, typer.Option(help="minilm or none.")] = "minilm",
    ner: Annotated[str, typer.Option(help="spacy or none.")] = "spacy",
    sync: Annotated[str, typer.Option(help="always or interval.")] = "always",
    probes: Annotated[int, typer.Option(help="Single turns for the latency on an idle pipeline.", min=1)] = 60,
) -> None:
    """Measure the write path: the bus, embedder and NER alone, then everything end to end."""
    settings = Settings(embedder=embedder, ner=ner, sync=sync)
    run(_bench(settings, turns=turns, users=users, in_flight=in_flight, probes=probes))


async def _bench(settings: Settings, *, turns: int, users: int, in_flight: int, probes: int) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        root = Path(folder)
        with out.status("measuring the parts alone ..."):
            alone = await _measure_alone(settings, root, turns, users, in_flight)
        options = ["--embedder", settings.embedder, "--ner", settings.ner, "--sync", settings.sync]
        out.print("starting memorybus, and waiting until every stage is warm ...", style="dim")
        async with measured(root / "up", options) as (up, client):
            await end_to_end(client, list(Talk(seed=41).turns(_WARM_UP, name="warm-up")), in_flight, before=0)
            with out.status(f"publishing {turns} turns ..."):
                batch = list(Talk(seed=5).turns(turns, users=users))
                rate = await end_to_end(client, batch, in_flight, before=_WARM_UP)
            async with httpx.AsyncClient() as http:
                exposition = (await http.get(f"{up.http}/metrics")).text
            stages = stage_percentiles(exposition, "memorybus_item_seconds", (0.5, 0.95))
            with out.status("measuring latency on the idle pipeline ..."):
                words, meaning = await _latencies(client, probes, with_vectors=settings.embedder != "none")
    _report(settings, alone, rate, stages, words, meaning)


async def _measure_alone(settings: Settings, root: Path, turns: int, users: int, in_flight: int) -> Alone:
    talk = Talk(11)
    texts = [talk.sentence() for _ in range(_ALONE)]
    alone = Alone(fsync=fsyncs_per_second(root))
    alone.bus = await _bus_alone(settings, root / "bus", turns, users, in_flight)
    embedder = await open_embedder_of(settings)
    if embedder is not None:
        alone.embedder = await _rate(embedder.embed, texts)
        await embedder.close()
    if settings.ner != "none":
        annotator = SpacyAnnotator(processes=settings.ner_processes)
        await annotator.ready()
        alone.annotator = await _rate(annotator.annotate, texts)
        await annotator.close()
    return alone


async def _rate(work: Callable[[list[str]], Awaitable[object]], texts: list[str], batch: int = 128) -> float:
    await work(texts[:batch])
    started = time.perf_counter()
    for start in range(0, len(texts), batch):
        await work(texts[start : start + batch])
    return len(texts) / (time.perf_counter() - started)


async def _bus_alone(settings: Settings, folder: Path, turns: int, users: int, in_flight: int) -> float:
    """Acknowledged publishes per second with the same publisher, the same window, and nobody reading."""
    server = NatsServer(folder, port=0, sync=settings.sync)
    await server.start()
    try:
        client = MemoryClient(await connect(server.url, name="bench"))
        await provision(client.bus.js, settings)
        batch = list(Talk(seed=3).turns(turns, users=users))
        started = time.perf_counter()
        await client.publish_all(batch, in_flight=in_flight)
        rate = turns / (time.perf_counter() - started)
        await client.nats.close()
        return rate
    finally:
        await server.stop()


async def end_to_end(client: MemoryClient, batch: list[Turn], in_flight: int, *, before: int) -> float:
    """Turns per second from the first publish until the last is stored, enriched and embedded."""
    started = time.perf_counter()
    await client.publish_all(batch, in_flight=in_flight)
    await until_digested(client, before + len(batch))
    return len(batch) / (time.perf_counter() - started)


async def _latencies(client: MemoryClient, probes: int, *, with_vectors: bool) -> tuple[list[float], list[float]]:
    """Seconds from publishing a turn until it is found by its words, and by its meaning, one turn at a time."""
    words, meaning = [], []
    talk = Talk(seed=23)
    for _ in range(probes):
        marker = f"marker{uuid4().hex[:10]}"
        started = time.perf_counter()
        turn = Turn(user_id="bench-latency", role="user", text=f"{marker} {talk.sentence()}", conversation_id=marker)
        await client.publish(turn)
        words.append(await _until_found(client, marker, started, "lexical"))
        if with_vectors:
            meaning.append(await _until_found(client, marker, started, "semantic"))
    return words, meaning


async def _until_found(client: MemoryClient, marker: str, started: float, leg: str) -> float:
    asked = {"limit": 50, "min_score": 0.0, "token_budget": 1_000_000}  # it is to be found, not to be told first
    query = RetrieveRequest(user_id="bench-latency", query=f"what about {marker}", **asked)
    while time.perf_counter() - started < 10:
        reply = await client.retrieve(query)
        for item in reply.items:
            if marker in item.text and getattr(item.signals, leg):
                return time.perf_counter() - started
        await asyncio.sleep(0.002)
    raise TimeoutError(f"{marker} was not found by the {leg} leg within 10 s")


def _report(
    settings: Settings,
    alone: Alone,
    rate: float,
    stages: dict[str, list[float]],
    words: list[float],
    meaning: list[float],
) -> None:
    table = Table(title=f"write path (embedder {settings.embedder}, ner {settings.ner}, sync {settings.sync})")
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_column("note")
    table.add_row("disk", f"{alone.fsync:,.0f} fsync/s", "512 bytes each")
    table.add_row("bus alone", f"{alone.bus:,.0f} turns/s", "acknowledged publishes, nobody reading")
    if alone.embedder:
        table.add_row("embedder alone", f"{alone.embedder:,.0f} texts/s", f"{settings.embedder_threads} threads")
    if alone.annotator:
        table.add_row("NER alone", f"{alone.annotator:,.0f} texts/s", f"{settings.ner_processes} processes")
    table.add_row("[bold]end to end[/bold]", f"[bold]{rate:,.0f} turns/s[/bold]", "stored, enriched, embedded")
    if alone.allowed:
        table.add_row("share of what CPU allows", f"{rate / alone.allowed:.0%}", f"of {alone.allowed:,.0f} turns/s")
    table.add_row("share of the bus", f"{rate / alone.bus:.0%}", "")
    for stage, (p50, p95) in stages.items():
        table.add_row(f"stage {stage}", f"{p50 * 1000:.2f} / {p95 * 1000:.2f} ms", "p50 / p95 for a turn")
    _latency_row(table, "found by words", words)
    _latency_row(table, "found by meaning", meaning)
    out.print(table)


def _latency_row(table: Table, what: str, seconds: list[float]) -> None:
    if seconds:
        p50, p95 = percentile(seconds, 0.5) * 1000, percentile(seconds, 0.95) * 1000
        table.add_row(what, f"{p50:.0f} / {p95:.0f} ms", f"p50 / p95 after publishing, {len(seconds)} turns, idle")
