"""`memorybus bench peers`: memorybus and mem0 side by side, with the same turns, questions and embedding model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.table import Table

from contracts.errors import Unavailable
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench import peers_mem0
from services.bench.measure import percentile
from services.bench.process import measured
from services.bench.write import end_to_end
from services.cli.common import fail, out, run, settings_from
from services.shared.commands.formats import FormatError, Question, Source, read_locomo_questions, read_turns
from services.shared.embedders.minilm import built_in_files
from services.shared.tasks import ended

EPILOG = """Examples:\n
  memorybus bench peers locomo10.json\n
  memorybus bench peers locomo10.json --turns 200 --queries 50
"""
MEM0 = "2.2.1"
_WITH = ("onnxruntime", "tokenizers", "numpy")  # in the versions that memorybus runs with
_DEEPEST = 10
_WARM_UP = "warm-up"
_PATIENCE = 30.0
_END_WITHIN = 10.0
_LONGEST_ANSWER = 2**20

Found = Sequence[set[str]]
"""For each of the ten best the sources that it stands for."""


@dataclass(slots=True)
class Peer:
    """One of them: how it is written to and asked, both telling the seconds that took, and what was measured of it."""

    name: str
    pid: int
    folder: Path
    write: Callable[[Sequence[Turn]], Awaitable[float]]
    ask: Callable[[str, str], Awaitable[tuple[float, Found]]]
    written: int = 0
    writing: float = 0.0
    took: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    reciprocal_ranks: list[float] = field(default_factory=list)

    async def take(self, turns: Sequence[Turn]) -> None:
        """Write, and note how long that took."""
        self.writing += await self.write(turns)
        self.written += len(turns)

    async def answer(self, question: Question) -> None:
        """Ask, and note how long that took, and how good it was."""
        seconds, found = await self.ask(question.user_id, question.text)
        self.took.append(seconds * 1000)
        self.recalls.append(len(question.evidence & set[str]().union(*found)) / len(question.evidence))
        first = (1 / rank for rank, item in enumerate(found, start=1) if not question.evidence.isdisjoint(item))
        self.reciprocal_ranks.append(next(first, 0.0))

    def figures(self) -> list[str]:
        """What the table shows, while the process runs."""
        sizes = [file.stat().st_size for file in self.folder.rglob("*") if file.is_file()]
        return [
            f"{self.written / self.writing:,.0f}",
            f"{percentile(self.took, 0.5):.1f}",
            f"{percentile(self.took, 0.95):.1f}",
            f"{fmean(self.recalls):.3f}",
            f"{fmean(self.reciprocal_ranks):.3f}",
            f"{resident(self.pid):,.0f}",
            f"{len(sizes)} of {sum(sizes) / 2**20:.1f} MB",
        ]


_ROWS = ("write, turns/s", "search p50, ms", "p95", "recall@10", "MRR of the ten", "in memory, MB", "files on disk")


def peers(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="File of LoCoMo: turns, and questions on them.")],
    turns: Annotated[int | None, typer.Option(help="Turns of each conversation at most.", min=1)] = None,
    queries: Annotated[int | None, typer.Option(help="Questions of each conversation at most.", min=1)] = None,
) -> None:
    """Write to memorybus and mem0 by turns, then ask both by turns; mem0 is installed into the cache the first time.

    Both have the same embedding model, and mem0 no language model (`infer=False`).
    """
    try:
        whole, judged = list(read_turns(Source(path, "locomo"))), read_locomo_questions(Source(path, "locomo"))
    except FormatError as error:
        fail(str(error))
    users = dict.fromkeys(turn.user_id or "" for turn in whole)
    said = [list(islice((turn for turn in whole if turn.user_id == user), turns)) for user in users]
    known = {(turn.user_id, source) for own in said for turn in own for source in turn.source_ids}
    answerable = [one for one in judged if one.evidence and all((one.user_id, each) in known for each in one.evidence)]
    asked = [one for user in users for one in islice((q for q in answerable if q.user_id == user), queries)]
    if not asked:
        fail(f"{path}: no question is answered by what is said there")
    python = prepared(settings_from().cache / f"peers-mem0-{MEM0}")
    run(_bench(python, said, asked))


def prepared(folder: Path) -> Path:
    """The Python of an environment with mem0, made the first time."""
    python, done = folder / "bin" / "python", folder / "done"
    if not done.exists():
        out.print(f"Installing mem0 {MEM0} into {folder} …", soft_wrap=True)
        venv.create(folder, clear=True, with_pip=True)
        needed = [f"mem0ai=={MEM0}", *(f"{name}=={version(name)}" for name in _WITH)]
        try:
            subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *needed], check=True)
        except subprocess.CalledProcessError:
            fail("mem0 could not be installed: its message is above, and it is tried again the next time")
        done.touch()
    return python


async def _bench(python: Path, said: Sequence[Sequence[Turn]], asked: Sequence[Question]) -> None:
    with tempfile.TemporaryDirectory(prefix="memorybus-bench-") as folder:
        async with _memorybus(Path(folder, "memorybus")) as ours, _mem0(python, Path(folder, "mem0")) as theirs:
            both = (ours, theirs)
            for peer in both:  # warm before anything is measured
                await peer.write([said[0][0].model_copy(update={"user_id": _WARM_UP})])
                await peer.ask(_WARM_UP, asked[0].text)
            for turns in said:
                for peer in both:
                    await peer.take(turns)
            for question in asked:
                for peer in both:
                    await peer.answer(question)
            table = Table(title=f"{ours.written:,} turns, {len(asked):,} questions, the same embedding model")
            for head in ("what", *(peer.name for peer in both)):
                table.add_column(head, justify="left" if head == "what" else "right")
            for row in zip(_ROWS, *(peer.figures() for peer in both), strict=True):
                table.add_row(*row)
            out.print(table)


@asynccontextmanager
async def _memorybus(folder: Path) -> AsyncIterator[Peer]:
    """memorybus as installed, over its bus; what is written is digested then."""
    async with measured(folder) as (up, client):
        written = 0

        async def write(turns: Sequence[Turn]) -> float:
            nonlocal written
            before, written = written, written + len(turns)
            return len(turns) / await end_to_end(client, list(turns), in_flight=64, before=before)

        async def ask(user_id: str, text: str) -> tuple[float, Found]:
            request = RetrieveRequest(user_id=user_id, query=text, limit=_DEEPEST, token_budget=100_000, min_score=0.0)
            started = time.perf_counter()
            reply = await client.retrieve(request, patience=_PATIENCE)
            return time.perf_counter() - started, [set(item.source_ids) for item in reply.items]

        yield Peer("memorybus", up.pid, folder, write, ask)


@asynccontextmanager
async def _mem0(python: Path, folder: Path) -> AsyncIterator[Peer]:
    """mem0 in a process of its own, which measures itself: the way to it costs it nothing.

    Who said something stands before it, as memorybus is told that beside it.
    """
    process = await asyncio.create_subprocess_exec(
        *(python, "-P", peers_mem0.__file__, folder, *built_in_files(settings_from().cache)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=sys.stderr,
        env={"HOME": str(folder), "MEM0_DIR": str(folder / "home"), "MEM0_TELEMETRY": "false"},
        limit=_LONGEST_ANSWER,
    )

    async def told(**asked: Any) -> tuple[float, list[str]]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        line = await process.stdout.readline()
        if not line:
            raise Unavailable("mem0 has ended: its message is above")
        answer = json.loads(line)
        return answer["seconds"], answer["found"]

    async def write(turns: Sequence[Turn]) -> float:
        said = [{"text": f"{turn.speaker}: {turn.text}", "source": turn.source_ids[0]} for turn in turns]
        return (await told(user=turns[0].user_id, said=said))[0]

    async def ask(user_id: str, text: str) -> tuple[float, Found]:
        seconds, found = await told(user=user_id, query=text, limit=_DEEPEST)
        return seconds, [{source} for source in found]

    try:
        yield Peer(f"mem0 {MEM0}", process.pid, folder, write, ask)
    finally:
        if process.returncode is None:
            process.terminate()
            await ended(process, within=_END_WITHIN)


def resident(pid: int) -> float:
    """Megabytes that a process has in memory, with those that it started."""
    command = ["ps", "-o", "rss=", "--pid", str(pid), "--ppid", str(pid)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sum(map(int, told.split())) / 1024
