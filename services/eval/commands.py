"""`memorybus eval locomo` and `memorybus eval chats`: publish, wait, ask, and compare with what should be found."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from contracts.v1.retrieval import RetrieveRequest
from services.bench.measure import percentile
from services.bench.process import measured
from services.cli.common import bars, err, fail, out, run
from services.eval import datasets
from services.eval.datasets import Dataset
from services.eval.metrics import DEEPEST, Judged, means
from services.shared.client import MemoryClient
from services.shared.commands.formats import FormatError, Question
from services.shared.commands.progress import Progress
from services.shared.commands.publishing import Tally, at_once, digest, publish_turns

LOCOMO_EPILOG = """Examples:\n
  memorybus eval locomo locomo10.json\n
  memorybus eval locomo locomo10.json --json report.json\n
  MEMORYBUS_RETRIEVE_RELEVANCE=cosine memorybus eval locomo locomo10.json
"""
CHATS_EPILOG = """Examples:\n
  memorybus eval chats chats.json\n
  MEMORYBUS_EMBEDDER=none memorybus eval chats chats.json --json report.json
"""
_BUDGET = 1_000_000
_PATIENCE = 30.0
_SHOWN_BY_KIND = ("hit@1", "hit@3", "recall@10", "mrr")

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="File with turns and judged questions.")]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the report there too.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Report:
    """The figures over all questions and by kind of question; latency in milliseconds."""

    dataset: str
    questions: int
    metrics: dict[str, float]
    latency_ms: dict[str, float]
    kinds: dict[str, dict[str, float]]

    def as_json(self) -> dict[str, Any]:
        """The report as it is written to a file."""
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "metrics": _rounded(self.metrics),
            "latency_ms": _rounded(self.latency_ms),
            "kinds": {kind: _rounded(figures) for kind, figures in self.kinds.items()},
        }


def locomo(path: PathArgument, report: JsonOption = None) -> None:
    """Ask the questions of LoCoMo, scored by turns; each conversation is a user of its own.

    A whole memorybus runs in a temporary folder, with the settings of the environment.
    """
    _evaluate(path, datasets.locomo, report)


def chats(path: PathArgument, report: JsonOption = None) -> None:
    """Ask about chats with an assistant, by kind of question; each chat is a user of its own.

    A file is a list of {id, turns: [{id, conversation_id, role, created_at, text}], questions: [{q, kind, evidence,
    stale, now}]}: `evidence` are the turns that answer, `stale` those with a value that changed later.
    """
    _evaluate(path, datasets.chats, report)


def _evaluate(path: Path, read: Callable[[Path], Dataset], file: Path | None) -> None:
    try:
        dataset = read(path)
    except FormatError as error:
        fail(str(error))
    report = run(_report(dataset))
    out.print(_overall(report))
    out.print(_by_kind(report))
    if file is not None:
        file.write_text(json.dumps(report.as_json(), indent=2) + "\n")


async def _report(dataset: Dataset) -> Report:
    with tempfile.TemporaryDirectory(prefix="memorybus-eval-") as folder, bars(err) as progress:
        async with measured(Path(folder) / "up") as (_, client):
            turns = dataset.turns
            await publish_turns(client, at_once(turns), Tally(), total=len(turns), progress=progress)
            _, problem = await digest(client, progress)
            if problem:
                fail(problem)
            judged, took = await _ask(client, dataset, progress)
    kinds = sorted({question.kind for question in dataset.questions})
    return Report(
        dataset=dataset.name,
        questions=len(judged),
        metrics=means(judged),
        latency_ms={"p50": percentile(took, 0.5), "p95": percentile(took, 0.95)},
        kinds={kind: means(_of_kind(kind, dataset.questions, judged)) for kind in kinds},
    )


async def _ask(client: MemoryClient, dataset: Dataset, progress: Progress) -> tuple[list[Judged], list[float]]:
    """What each question found, and how many milliseconds its answer took."""
    sessions = dataset.sessions()
    judged: list[Judged] = []
    took: list[float] = []
    for done, question in enumerate(dataset.questions, start=1):
        started = time.perf_counter()
        found = await _found(client, question)
        took.append((time.perf_counter() - started) * 1000)
        judged.append(Judged(found, question.evidence, question.stale, sessions[question.user_id]))
        progress("asking", done, len(dataset.questions))
    return judged, took


async def _found(client: MemoryClient, question: Question) -> list[tuple[str, ...]]:
    request = RetrieveRequest(
        user_id=question.user_id, query=question.text, limit=DEEPEST, token_budget=_BUDGET, now=question.now
    )
    return [item.source_ids for item in (await client.retrieve(request, patience=_PATIENCE)).items]


def _of_kind(kind: str, questions: Sequence[Question], judged: Sequence[Judged]) -> list[Judged]:
    return [one for question, one in zip(questions, judged, strict=True) if question.kind == kind]


def _overall(report: Report) -> Table:
    latency = ", ".join(f"{name} {value:.1f} ms" for name, value in report.latency_ms.items())
    table = Table(title=f"{report.dataset}: {report.questions:,} questions, {latency}")
    table.add_column("metric")
    table.add_column("mean", justify="right")
    for metric, value in report.metrics.items():
        table.add_row(metric, f"{value:.3f}")
    return table


def _by_kind(report: Report) -> Table:
    table = Table()
    table.add_column("kind of question")
    for metric in _SHOWN_BY_KIND:
        table.add_column(metric, justify="right")
    for kind, figures in report.kinds.items():
        table.add_row(kind, *(f"{figures[metric]:.3f}" if metric in figures else "" for metric in _SHOWN_BY_KIND))
    return table


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}
