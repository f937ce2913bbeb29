"""`memorybus bench proxy`: what memory in front of a model costs, against the same model asked directly."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import typer

from services.bench.measure import percentile
from services.bench.process import measured
from services.bench.retrieve import USER, filled, megabytes
from services.bench.texts import Talk
from services.cli.common import out, run
from services.cli.tables import table
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus bench proxy --entries 10000\n
  memorybus bench proxy --entries 1000 --requests 50 --streams 50
"""
_WARM_UP = 10
_CHUNKS = 20
_PAUSE = 0.005  # seconds between two chunks
_SLOW_CHUNKS = 50
_SLOW_PAUSE = 0.1
_UNLIMITED = {
    "MEMORYBUS_CURATE_SOFT_CAP": "0",
    "MEMORYBUS_GATEWAY_QUERIES_PER_MINUTE": "1000000",
    "MEMORYBUS_PROXY_PATIENCE_MS": "5000",
}
"""Every question is answered, however long it takes: nothing is fast for having been given up."""


@dataclass(frozen=True, slots=True)
class Felt:
    """What a client met of one stream, in milliseconds; `used` tells whether it came with memories."""

    first: float
    chunks: list[float]
    used: bool


def proxy(
    entries: Annotated[int, typer.Option(help="Entries of the one user.", min=100)] = 10_000,
    requests: Annotated[int, typer.Option(help="Streams each way, in turns.", min=10)] = 100,
    streams: Annotated[int, typer.Option(help="Streams at once.", min=1, max=240)] = 200,
) -> None:
    """Ask a scripted model on this machine, directly and through the proxy by turns; then hold many streams at once."""
    run(_bench(entries, requests, streams))


async def _bench(entries: int, requests: int, streams: int) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        settings = Settings(data=Path(folder) / "up", ner="none")
        await filled(settings, entries)
        async with _model() as model:
            environment = _UNLIMITED | {"MEMORYBUS_OPENAI_BASE_URL": f"{model}/v1"}
            async with (
                measured(settings.data, ["--ner", "none"], environment=environment) as (up, _),
                _client(model) as direct,
                _client(up.http) as proxied,
            ):
                await _by_turns(direct, proxied, entries, requests)
                await _at_once(proxied, streams, lambda: megabytes(up.pid))


async def _by_turns(direct: httpx.AsyncClient, proxied: httpx.AsyncClient, entries: int, requests: int) -> None:
    questions = Talk(seed=99).questions()
    rounds = []
    for _ in range(_WARM_UP + requests):
        rounds.append([await _stream(http, next(questions), _CHUNKS, _PAUSE) for http in (direct, proxied)])
    rounds = rounds[_WARM_UP:]
    rows = []
    firsts = [[felt.first for felt in way] for way in zip(*rounds, strict=True)]
    chunks = [[ms for felt in way for ms in felt.chunks] for way in zip(*rounds, strict=True)]
    for what, (one, other) in (("first token, ms", firsts), ("each further chunk, ms", chunks)):
        figures = [[percentile(taken, share) for share in (0.5, 0.95)] for taken in (one, other)]
        added = [after - before for before, after in zip(*figures, strict=True)]
        rows.append((what, *(f"{figure:.2f}" for figure in (*figures[0], *figures[1], *added))))
    columns = ("what", "direct p50", "p95", "proxied p50", "p95", "added p50", "p95")
    title = f"Streams of {_CHUNKS} chunks, {entries:,} entries of one user, {requests} each way"
    out.print(table(columns, rows, title=title))
    out.print(f"{sum(proxied.used for _, proxied in rounds)} of {requests} came with memories")


async def _at_once(proxied: httpx.AsyncClient, streams: int, resident: Callable[[], float]) -> None:
    questions = Talk(seed=7).questions()
    before, started = resident(), time.perf_counter()
    asking = [_stream(proxied, next(questions), _SLOW_CHUNKS, _SLOW_PAUSE) for _ in range(streams)]
    running = asyncio.gather(*asking)
    most = before
    while not running.done():
        most = max(most, await asyncio.to_thread(resident))
        await asyncio.sleep(0.2)
    felt = await running
    chunks = [ms for one in felt for ms in one.chunks]
    out.print(
        f"{streams} streams at once, {sum(one.used for one in felt)} with memories: all ended whole after "
        f"{time.perf_counter() - started:.1f} s (the model takes {_SLOW_CHUNKS * _SLOW_PAUSE:.1f} s); "
        f"each further chunk p50 {percentile(chunks, 0.5):.2f}, p95 {percentile(chunks, 0.95):.2f} ms; "
        f"resident memory {before:.0f} MB before, {most:.0f} MB at most"
    )


def _client(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=8)
    headers = {"Memory-User": USER}
    return httpx.AsyncClient(base_url=f"{url}/v1", headers=headers, limits=limits, trust_env=False, timeout=120)


async def _stream(http: httpx.AsyncClient, question: str, chunks: int, pause: float) -> Felt:
    messages = [{"role": "user", "content": question}]
    body = {"model": "bench", "stream": True, "messages": messages, "chunks": chunks, "pause": pause}
    started, first, later, seen = time.perf_counter(), 0.0, list[float](), b""
    async with http.stream("POST", "/chat/completions", json=body) as answer:
        answer.raise_for_status()
        async for part in answer.aiter_raw():
            now = time.perf_counter()
            first = first or now - started
            seen += part
            *events, seen = seen.split(b"\n\n")
            sent = (json.loads(event[6:]) for event in events if not event.endswith(b"[DONE]"))
            later += [(now - float(one["choices"][0]["delta"]["content"])) * 1000 for one in sent]
        used = "memory-used" in answer.headers
    if len(later) != chunks:
        raise RuntimeError(f"a stream of {chunks} chunks had {len(later)}")
    return Felt(first * 1000, later[1:], used)


@asynccontextmanager
async def _model() -> AsyncIterator[str]:
    """A model that says at once what time it is, and again after each pause."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=512)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in range(asked["chunks"]):
                if number:
                    await asyncio.sleep(asked["pause"])
                choice = {"index": 0, "delta": {"content": repr(time.perf_counter())}}
                _write(writer, f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
                await writer.drain()
            _write(writer, b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    writer.close()


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
