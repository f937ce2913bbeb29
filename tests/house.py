"""How large and how deep the house is: `.venv/bin/python -m tests.house` prints the figures.

Lines, files and functions are counted in the syntax trees; depth is the number of distinct functions that a new
statement passes in dedupe, and a question in retrieve, on real SQLite and the real embedded Qdrant engine; OpenSearch's
requests are counted in its client, where a node can run. Of every page it tells how long it is, and its sentences, in
words, and which bar it misses.
"""

from __future__ import annotations

import ast
import asyncio
import statistics
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from opensearchpy import AsyncTransport
from rich.console import Console
from rich.table import Table

from contracts.ports import TextStore, VectorStore
from contracts.v1.entries import EntryAccepted, EntryEvent
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import DatedTurn
from services.dedupe.handler import judge_proposals
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.ingest.handler import Arrived, log_turns
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore
from services.shared.tokens import Cl100kCounter
from tests.faults.state_machine_ports import ExactVectors, TinyAnnotator, TinyEmbedder
from tests.pages import sizes_of_pages
from tests.servers.opensearch import server_url
from tests.stores.opensearch_openers import a_store

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("contracts", "services", "services/shared", "services/shared/stores", "services/shared/stores/opensearch")
_OURS = tuple(f"{ROOT / package}/" for package in ("contracts", "services"))
_SAID_AT = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
_GAP = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Size:
    """What a package consists of."""

    files: int
    lines: int
    longest: tuple[int, str]
    functions: list[int]
    """Lines of each function."""

    @classmethod
    def of(cls, package: str) -> Size:
        """Count the Python files of a package, those of its parts too."""
        texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / package).rglob("*.py")}
        lines = {name: len(text.splitlines()) for name, text in texts.items()}
        functions = [length for text in texts.values() for length in _function_lengths(text)]
        return cls(len(texts), sum(lines.values()), max((n, name) for name, n in lines.items()), sorted(functions))


def _function_lengths(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.end_lineno - node.lineno + 1


@dataclass(slots=True)
class Stages:
    """The four stages, called one after the other as the bus would."""

    store: TextStore
    vectors: VectorStore | None = None
    embedder: TinyEmbedder = field(default_factory=TinyEmbedder)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def say(self, text: str) -> None:
        """Let a turn pass all stages."""
        await self.decide(await self.log(text))

    async def log(self, text: str) -> list[Any]:
        """Let a turn pass ingest; what that proposes."""
        number = next(self.numbers)
        at = _SAID_AT + timedelta(minutes=number)
        turn = DatedTurn(user_id="ann", role="user", text=text, turn_id=f"t{number}", created_at=at)
        arrived = [Arrived(number=number, turn=turn)]
        return await log_turns(arrived, store=self.store, missing_from_stream=_no_numbers, defer=_nothing, gap=_GAP)

    async def decide(self, proposed: list[Any]) -> None:
        """Let what is proposed pass the other stages."""
        said: list[EntryEvent] = await judge_proposals(proposed, store=self.store)
        if accepted := [event for event in said if isinstance(event, EntryAccepted)]:
            enriched = await enrich_entries(accepted, store=self.store, annotator=TinyAnnotator())
            await embed_entries(enriched, store=self.store, vectors=self.vectors, embedder=self.embedder)

    async def ask(self, query: str) -> None:
        """Answer a question."""
        settings = RetrieveSettings(min_score=0.0)
        retriever = Retriever(self.store, self.vectors, self.embedder, Cl100kCounter(), settings)
        assert (await retriever.retrieve(RetrieveRequest(user_id="ann", query=query))).items


async def _no_numbers(_: object) -> set[int]:
    return set()


async def _nothing(_: object) -> None:
    """Has no effect."""


@asynccontextmanager
async def embedded() -> AsyncIterator[Stages]:
    """The stages on SQLite and the embedded Qdrant engine, with a few entries."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = await SqliteTextStore.open(folder / "memory.sqlite3")
        vectors = await EdgeVectorStore.open(folder / "vectors", dimensions=TinyEmbedder.identity.dimensions)
        stages = Stages(store, vectors)
        try:
            for number in range(8):
                await stages.say(f"My locker at work has the code {4000 + 7 * number}.")
            await stages.ask("locker code")
            yield stages
        finally:
            await vectors.close()
            await store.close()


class Profile:
    """The functions of ours that are called while it is on, in any thread that is started after it was made."""

    def __init__(self) -> None:
        self.passed: set[tuple[str, str]] = set()
        self._is_on = False
        threading.setprofile(self._note)

    async def of(self, work: Callable[[], Awaitable[object]]) -> int:
        """How many functions are passed meanwhile; comprehensions and lambdas are none."""
        self.passed.clear()
        self._is_on = True
        sys.setprofile(self._note)
        try:
            await work()
        finally:
            sys.setprofile(None)
            self._is_on = False
        return len(self.passed)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if self._is_on and event == "call" and code.co_filename.startswith(_OURS) and code.co_name[0] != "<":
            self.passed.add((code.co_filename, code.co_qualname))


async def depths() -> dict[str, int]:
    """How many distinct functions of ours a new statement passes in dedupe, and a question in retrieve."""
    profile = Profile()
    async with embedded() as stages:
        proposed = await stages.log("My bicycle lock opens with 5511.")
        return {
            "a new statement in dedupe": await profile.of(lambda: judge_proposals(proposed, store=stages.store)),
            "a question in retrieve": await profile.of(lambda: stages.ask("which code does my locker have?")),
        }


@contextmanager
def counted_requests() -> Iterator[list[str]]:
    """What OpenSearch is asked meanwhile: method and path of each request."""
    asked: list[str] = []
    original = AsyncTransport.perform_request

    async def perform(self: AsyncTransport, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(f"{method} {url}")
        return await original(self, method, url, *args, **kwargs)

    with patch.object(AsyncTransport, "perform_request", perform):
        yield asked


async def opensearch_requests(url: str) -> dict[str, list[str]]:
    """What OpenSearch is asked for a new statement, and for a repeat, over all stages in one process.

    Of a few the least: what a busy machine logs slowly is looked after once more.
    """
    statements, repeats = [], []
    async with a_store(url) as store:
        stages = Stages(store, ExactVectors())
        await stages.say("My locker at work has the code 4000.")
        for number in range(5510, 5515):
            with counted_requests() as statement:
                await stages.say(f"My bicycle lock opens with {number}.")
            with counted_requests() as repeat:
                await stages.say(f"my bicycle lock opens with {number}!")
            statements.append(statement)
            repeats.append(repeat)
    return {"a new statement": min(statements, key=len), "a repeat": min(repeats, key=len)}


def sizes() -> Table:
    """The size of each package."""
    table = Table("package", "files", "lines", "longest file", "functions", "median", "p90", box=None)
    for package in PACKAGES:
        size = Size.of(package)
        middle, most = statistics.median(size.functions), statistics.quantiles(size.functions, n=10)[-1]
        longest = f"{size.longest[0]} {size.longest[1]}"
        counted = (f"{number:,}" for number in (size.files, size.lines))
        table.add_row(package, *counted, longest, f"{len(size.functions):,}", f"{middle:.0f}", f"{most:.0f}")
    return table


def page_sizes() -> Table:
    """The size of each page, and which bar it misses."""
    table = Table("page", "lines", "characters", "longest line", "median", "longest sentence", "misses", box=None)
    for name, (size, missed) in sizes_of_pages().items():
        counted = (f"{number:,}" for number in (size.lines, size.characters, size.longest_line))
        table.add_row(
            name, *counted, f"{size.median_sentence:g}", f"{size.longest_sentence}", "; ".join(missed) or "none"
        )
    return table


def main() -> None:
    """Print all figures."""
    console = Console(width=140)
    console.print(sizes())
    console.print(page_sizes())
    for what, functions in asyncio.run(depths()).items():
        console.print(f"distinct functions of {what}: {functions}", highlight=False)
    url, where = server_url()
    asked = asyncio.run(opensearch_requests(url)) if url else {}
    for what, requests in asked.items():
        console.print(f"OpenSearch requests of {what}: {len(requests)}", highlight=False)
        console.print(*(f"  {request}" for request in requests), sep="\n", highlight=False)
    if url is None:
        console.print(f"OpenSearch requests were not counted: {where}", highlight=False)


if __name__ == "__main__":
    main()
