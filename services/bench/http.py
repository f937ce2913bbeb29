"""`memorybus bench http`: how fast pages of entries and searches come over HTTP."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import httpx
import typer

from contracts.v1.retrieval import RetrieveRequest
from services.bench.measure import percentile
from services.bench.process import measured
from services.bench.retrieve import USER, filled
from services.bench.texts import Talk
from services.cli.common import out, run
from services.cli.tables import table
from services.shared.client import MemoryClient
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench http --entries 10000\n
  memorybus bench http --requests 500
"""
_WARM_UP = 20
_UNLIMITED = {
    "MEMORYBUS_CURATE_SOFT_CAP": "0",
    "MEMORYBUS_GATEWAY_QUERIES_PER_MINUTE": "1000000",
    "MEMORYBUS_GATEWAY_REQUESTS_PER_MINUTE": "1000000",
}
"""Everything is counted as ever, and nothing is refused."""


def http(
    entries: Annotated[int, typer.Option(help="Entries of the one user.", min=100)] = 10_000,
    requests: Annotated[int, typer.Option(help="Requests of each kind, in turns.", min=10)] = 300,
) -> None:
    """Fill a memory with entries of one user, then list and search them over HTTP on one kept connection.

    The kinds take turns, and so does the same search over the bus: what is more over HTTP is the difference.
    """
    run(_bench(entries, requests))


async def _bench(entries: int, requests: int) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        settings = Settings(data=Path(folder) / "up", ner="none")
        await filled(settings, entries)
        as_user = {"Memory-User": USER}
        async with (
            measured(settings.data, ["--ner", "none"], environment=_UNLIMITED) as (up, client),
            httpx.AsyncClient(base_url=f"{up.http}/v1/memory", headers=as_user, trust_env=False) as asking,
        ):
            kinds = _kinds(asking, client)
            rounds = [[await _milliseconds(ask) for ask in kinds.values()] for _ in range(_WARM_UP + requests)]
    taken = zip(kinds, zip(*rounds[_WARM_UP:], strict=True), strict=True)
    rows = ((what, f"{percentile(took, 0.5):.1f}", f"{percentile(took, 0.95):.1f}") for what, took in taken)
    title = f"HTTP, {entries:,} entries of one user, {requests} requests each"
    out.print(table(("what", "p50 ms", "p95 ms"), rows, title=title))


def _kinds(asking: httpx.AsyncClient, client: MemoryClient) -> dict[str, Callable[[], Awaitable[object]]]:
    questions = Talk(seed=99).questions()
    return {
        "list 20": lambda: asking.get("/entries", params={"limit": 20}),
        "list 100": lambda: asking.get("/entries", params={"limit": 100}),
        "list 20 of a type": lambda: asking.get("/entries", params={"limit": 20, "type": "preference"}),
        "list 20 with a word": lambda: asking.get("/entries", params={"limit": 20, "q": next(questions).split()[-1]}),
        "search": lambda: asking.post("/search", json={"query": next(questions)}),
        "search over the bus": lambda: client.retrieve(RetrieveRequest(user_id=USER, query=next(questions))),
    }


async def _milliseconds(ask: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    answer = await ask()
    if isinstance(answer, httpx.Response):
        answer.raise_for_status()
    return (time.perf_counter() - started) * 1000
