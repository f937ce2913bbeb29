"""`memorybus bench retrieve`: how fast memory answers, how that grows, and what its model and engines take alone."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from contracts.errors import Unavailable
from contracts.ports import Accepted, Embedder, Filters, Scope, TextStore, Vector, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from contracts.v1.turns import DatedTurn, LoggedTurn, Proposal, Turn
from services.bench import plots
from services.bench.measure import percentile
from services.bench.process import Up, measured, milliseconds_to_retrieve
from services.bench.texts import Talk
from services.cli.common import fail, out, plural, run
from services.cli.tables import table
from services.curate.settings import CurateSettings
from services.dedupe.handler import candidate_entry
from services.ingest.handler import place_in_sessions, propose
from services.ingest.settings import IngestSettings
from services.retrieve.settings import RetrieveSettings
from services.shared.app import Host, check_identity, open_embedder_of
from services.shared.client import MemoryClient, RequestFailed
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench retrieve --entries 10000\n
  memorybus bench retrieve --entries 10000 --entries 100000 --html growth.html\n
  memorybus bench retrieve --entries 1000000 --users 1000\n
  memorybus bench retrieve --entries 100000 --trimming
"""
USER = "bench-0"
_OTHER, _OTHERS = "bench-other", 200
_CHUNK = 1000
_MOST_KNOWN = 10_000
_WARM_UP = 20
_CALLERS = (1, 8, 32)
_SHARES = (0.5, 0.95, 0.99)
_PERCENTILES = tuple(f"p{share * 100:.0f} ms" for share in _SHARES)
_EVERY = 0.05
_TRIMMING = 600.0  # seconds; what is left by then is said
_REAL_VECTORS = 400
_LATE = ("no answer within", "deadline_exceeded")


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


@dataclass(slots=True)
class Load:
    """What so many callers got, each asking again as soon as it was answered: milliseconds of each answer, and how
    often there was none, by why.
    """

    callers: int
    took: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.took) / self.seconds

    def at(self, share: float) -> float:
        """A percentile; without any answer, all the time that was waited."""
        return percentile(self.took, share) if self.took else self.seconds * 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """A memory of one size: what filling it took, what it weighs, and how fast it answers."""

    entries: int
    filling: float
    megabytes: float
    alone: Alone
    loads: Sequence[Load]


def retrieve(
    entries: Annotated[
        list[int] | None,
        typer.Option(help="Entries of all users; again for another size.", min=100, show_default="10000"),
    ] = None,
    users: Annotated[int, typer.Option(help="Users who have as many of them each.", min=1)] = 1,
    queries: Annotated[int, typer.Option(help="Questions to ask with 1, with 8 and with 32 callers.", min=10)] = 300,
    trimming: Annotated[bool, typer.Option("--trimming", help="Ask also while curate archives entries.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with plots there.")] = None,
) -> None:
    """Fill a memory, then ask it questions over the bus: one after the other, and 8 and 32 at the same time.

    Nothing is trimmed, however many entries there are. With --trimming it is then asked once more while curate archives
    what is above MEMORYBUS_CURATE_SOFT_CAP.
    """
    wanted = sorted(set(entries or [10_000]))
    if wanted[0] < users:
        fail(f"{users:,} users need as many entries at least")
    sizes = [run(_bench(size, users, queries, trimming)) for size in wanted]
    if len(sizes) > 1:
        out.print(_growth(sizes))
    if html is not None:
        html.write_text(_page(sizes, users))


def user_ids(users: int) -> list[str]:
    """The users who are asked for."""
    return [USER, *(f"bench{number}-0" for number in range(1, users))]


async def _bench(entries: int, users: int, queries: int, trimming: bool) -> Measured:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        settings = Settings(data=Path(folder) / "up", ner="none")
        questions, started = Talk(seed=99).questions(), time.perf_counter()
        await filled(settings, entries, users=users)
        filling = time.perf_counter() - started
        alone = await _alone(settings, list(itertools.islice(questions, queries)), user_ids(users))
        async with _up(settings, soft_cap=0) as (up, client):
            asked = zip(itertools.cycle(user_ids(users)), questions, strict=False)
            await ask_all(client, list(itertools.islice(asked, _WARM_UP)), 1)
            loads = [await ask_all(client, list(itertools.islice(asked, queries)), callers) for callers in _CALLERS]
            measured_size = Measured(entries, filling, megabytes(up.pid), alone, loads)
        out.print(_table(measured_size, users))
        out.print(f"filled in {filling:.0f} s; the process has {measured_size.megabytes:,.0f} MB in memory")
        if trimming and 0 < (cap := CurateSettings().soft_cap) < entries // users:
            await _bench_trimming(settings, entries // users - cap, cap)
    return measured_size


async def ask_all(client: MemoryClient, asked: Sequence[tuple[str, str]], callers: int) -> Load:
    """Ask these users these questions, so many at the same time."""
    load, waiting = Load(callers), iter(asked)

    async def call() -> None:
        for user_id, question in waiting:
            try:
                load.took.append(await milliseconds_to_retrieve(client, user_id, question))
            except (Unavailable, RequestFailed) as error:
                load.failed["timeouts" if any(late in str(error) for late in _LATE) else "refused"] += 1

    started = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    load.seconds = time.perf_counter() - started
    return load


def megabytes(pid: int) -> float:
    """What a process has in memory."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(told.stdout) / 1024


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


async def filled(settings: Settings, entries: int, *, users: int = 1) -> None:
    """Fill a memory with entries of so many users, `USER` the first."""
    async with _engines(settings) as (store, vectors, embedder):
        await check_identity(store, embedder.identity)
        await _fill(store, vectors, embedder, entries, users)


@asynccontextmanager
async def _engines(settings: Settings) -> AsyncIterator[tuple[TextStore, VectorStore, Embedder]]:
    """Stores and model without a bus."""
    host = Host(settings, "nats://127.0.0.1:1")
    store, embedder, vectors = await host.text_store(), await open_embedder_of(settings), await host.vector_store()
    assert embedder is not None
    assert vectors is not None
    try:
        yield store, vectors, embedder
    finally:
        await host.close()
        await embedder.close()


async def _fill(store: TextStore, vectors: VectorStore, embedder: Embedder, count: int, users: int) -> None:
    """Write entries as the pipeline would. Their vectors are mixtures of real ones: engines do not read meaning."""
    talk = Talk(seed=5)
    basis = await embedder.embed([talk.sentence() for _ in range(_REAL_VECTORS)])
    random = np.random.default_rng(1)
    turns, known = _turns(count, users), dict[str, Entry]()
    with Progress(console=out, transient=True) as progress:
        bar = progress.add_task("filling the memory", total=count)
        while chunk := list(itertools.islice(turns, _CHUNK)):
            await _write(chunk, store, vectors, basis, random, known)
            progress.advance(bar, len(chunk))


def _turns(count: int, users: int) -> Iterator[Turn]:
    """Turns of one user after the other, who all say the same: what is read in a text is read once."""
    for user_id in user_ids(users):
        yield from Talk(seed=5).turns(count // users, name=user_id.removesuffix("-0"))


def _entry(proposal: Proposal, known: dict[str, Entry]) -> Entry:
    """The finished entry of a proposal; from what is known of its text, where another user has said it."""
    if (same := known.get(proposal.text)) is None:
        same = candidate_entry(proposal).model_copy(update={"enriched": True, "embedding_state": "ready"})
        if len(known) < _MOST_KNOWN:
            known[proposal.text] = same
    turn = proposal.turn
    whose = {"user_id": turn.user_id, "session_id": turn.session_id, "turn_id": turn.turn_id}
    return same.model_copy(update={"id": proposal.id, "created_at": turn.created_at, **whose})


async def _write(
    chunk: list[Turn],
    store: TextStore,
    vectors: VectorStore,
    basis: Vector,
    random: np.random.Generator,
    known: dict[str, Entry],
) -> None:
    dated = [DatedTurn.model_validate(dict(turn)) for turn in chunk]
    logged: list[LoggedTurn] = place_in_sessions(dated, [None] * len(dated), IngestSettings().session_gap)
    proposals = [propose(turn) for turn in logged]
    await store.append(logged, proposals)
    done = [_entry(proposal, known) for proposal in proposals]
    await store.apply([Accepted(entry) for entry in done])
    weights = random.standard_normal((len(done), 6)).astype(np.float32)
    mixed = np.einsum("nk,nkd->nd", weights, basis[random.integers(0, len(basis), (len(done), 6))])
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    await vectors.upsert([VectorPoint(entry, vector) for entry, vector in zip(done, mixed, strict=True)])


async def _alone(settings: Settings, asked: Sequence[str], users: Sequence[str]) -> Alone:
    """Time the model and the engines of a memory alone with these questions."""
    alone, filters, knobs = Alone(), Filters(), RetrieveSettings()
    async with _engines(settings) as (store, vectors, embedder):
        for user_id, question in zip(itertools.cycle(users), asked, strict=False):
            scope, started = Scope(user_id), time.perf_counter()
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


def _whose(entries: int, users: int) -> str:
    return f"{entries:,} entries of {'one user' if users == 1 else f'{users:,} users'}"


def _table(size: Measured, users: int) -> Table:
    alone = {
        "query embedding alone": size.alone.embedding,
        "text store alone": size.alone.lexical,
        "vector store alone": size.alone.semantic,
    }
    rows: list[list[RenderableType]] = [
        [what, *(f"{percentile(values, share):.1f}" for share in _SHARES)] for what, values in alone.items()
    ]
    for load in size.loads:
        times = (f"{load.at(share):.1f}" for share in _SHARES)
        failed = (str(load.failed[why]) for why in ("timeouts", "refused"))
        rows.append([Text(f"retrieve, {plural(load.callers, 'caller')}", "bold"), *times, f"{load.rate:.1f}", *failed])
    ratios = (size.loads[0].at(share) / size.alone.sum_of_slowest(share) for share in _SHARES)
    rows.append(["1 caller ÷ (embedding + slower engine)", *(f"{ratio:.2f} ×" for ratio in ratios)])
    title = f"retrieve over the bus, {_whose(size.entries, users)}, nothing is trimmed"
    return table(("what", *_PERCENTILES, "answers/s", "timeouts", "refused"), rows, title=title)


def _growth(sizes: Sequence[Measured]) -> Table:
    """By size, percentiles with one caller, answers per second with the most, megabytes, and what filling took."""
    rows = []
    for size in sizes:
        times = (size.loads[0].at(share) for share in _SHARES)
        figures = (*times, size.loads[-1].rate, size.megabytes, size.filling)
        rows.append((f"{size.entries:,}", *(f"{figure:,.1f}" for figure in figures)))
    columns = ("entries", *_PERCENTILES, f"answers/s with {_CALLERS[-1]} callers", "MB", "filled in s")
    return table(columns, rows, title="how it grows, one caller")


def _page(sizes: Sequence[Measured], users: int) -> str:
    """Tables, and plots by size and by callers."""
    parts: list[RenderableType] = [_growth(sizes)]
    parts.append(_plot("entries, one caller", {f"{size.entries:,}": size.loads[0] for size in sizes}))
    for size in sizes:
        loads = {plural(load.callers, "caller"): load for load in size.loads}
        parts += [_table(size, users), _plot(f"{size.entries:,} entries", loads)]
    return plots.page(f"retrieve, {plural(users, 'user')}", parts)


def _plot(title: str, loads: Mapping[str, Load]) -> Table:
    figures = {
        name: {shown: load.at(share) for shown, share in zip(_PERCENTILES, _SHARES, strict=True)}
        for name, load in loads.items()
    }
    return plots.bars(title, figures, _PERCENTILES, top=max(max(of.values()) for of in figures.values()))
