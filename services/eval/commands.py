"""`memorybus eval DATASET`: publish, wait, ask, and compare with what should be found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from services.cli.common import bars, err, fail, out, run
from services.eval import datasets
from services.eval.datasets import Dataset
from services.eval.report import Report, shortfalls
from services.eval.runs import Asked, evaluate
from services.shared.commands.formats import FormatError

LOCOMO_EPILOG = """Examples:\n
  memorybus eval locomo locomo10.json\n
  memorybus eval locomo locomo10.json --json report.json\n
  MEMORYBUS_RETRIEVE_RELEVANCE=cosine memorybus eval locomo locomo10.json
"""
CHATS_EPILOG = """Examples:\n
  memorybus eval chats chats.json\n
  MEMORYBUS_EMBEDDER=none memorybus eval chats chats.json --json report.json
"""
LONGMEMEVAL_EPILOG = """Examples:\n
  memorybus eval longmemeval longmemeval_s_cleaned.json --first 50\n
  memorybus eval longmemeval longmemeval_s_cleaned.json --json report.json
"""
GOLDEN_EPILOG = """Examples:\n
  memorybus eval golden\n
  memorybus eval golden cases.json --json report.json
"""

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="File with turns and judged questions.")]
CasesArgument = Annotated[
    Path, typer.Argument(metavar="[PATH]", help="File with golden cases; without it those of memorybus.")
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the report there too.", show_default=False)
]


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


def longmemeval(
    path: PathArgument,
    first: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask only the first N questions.", show_default=False)
    ] = None,
    report: JsonOption = None,
) -> None:
    """Ask the questions of LongMemEval, scored by sessions; each has a haystack of its own, some 500 turns in `_s`.

    hit@k is recall_any@k of the original, all@k recall_all@k, and ndcg@k ndcg_any@k. Questions that are to be abstained
    from (`_abs`) count in none of them.
    """
    _evaluate(path, partial(datasets.longmemeval, first=first), report)


def golden(path: CasesArgument = datasets.GOLDEN, report: JsonOption = None) -> None:
    """Ask golden cases, each of a small memory of its own; fails when less is found than has to be.

    A file is {cases: [{id, setup_memories: [{content, type}], query, expected_retrievals: [content]}]}. A case may also
    have `kind`, `half`, `now`, `token_budget`, `outdated` contents, and `other_user_memories`, which nobody may find.
    """
    _evaluate(path, datasets.golden, report)


def _evaluate(path: Path, read: Callable[[Path], Dataset], file: Path | None) -> None:
    try:
        dataset = read(path)
    except FormatError as error:
        fail(str(error))
    report = Report.of(dataset, run(_asked(dataset)))
    out.print(*report.shown(), sep="\n")
    if file is not None:
        _write(file, json.dumps(report.as_json(), indent=2) + "\n")
    if short := shortfalls(dataset, report.metrics):
        fail("; ".join(short))


async def _asked(dataset: Dataset) -> Asked:
    with tempfile.TemporaryDirectory(prefix="memorybus-eval-") as folder, bars(err) as progress:
        return await evaluate(dataset, Path(folder) / "up", progress)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        fail(f"{file}: {error.strerror or error}")
