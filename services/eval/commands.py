"""`memorybus eval DATASET`: publish, wait, ask, and compare with what should be found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from services.cli.common import bars, err, fail, out, run, settings_from
from services.eval import datasets, variants
from services.eval.datasets import Dataset
from services.eval.llm import Answered, ask_model, open_model
from services.eval.misspelling import misspelt
from services.eval.mlflow_log import Experiment, Untracked
from services.eval.report import Report, Run, shortfalls
from services.eval.runs import Asked, evaluate
from services.eval.settings import EvalSettings
from services.eval.variants import BadSweep, Variant
from services.shared.commands.formats import FormatError
from services.shared.llm.chat import ChatModel
from services.shared.settings import UnusableSetting

LOCOMO_EPILOG = """Examples:\n
  memorybus eval locomo locomo10.json\n
  memorybus eval locomo locomo10.json --ablation --outages --json report.json\n
  memorybus eval locomo locomo10.json --misdirected\n
  MLFLOW_TRACKING_URI=http://127.0.0.1:5000 memorybus eval locomo locomo10.json --mlflow memory\n
  memorybus eval locomo locomo10.json --sweep beta,tau,mmr_lambda=0.8:0.9:1\n
  MEMORYBUS_RETRIEVE_RELEVANCE=cosine memorybus eval locomo locomo10.json\n
  MEMORYBUS_TEXT_STORE=opensearch memorybus eval locomo locomo10.json\n
  MEMORYBUS_EVAL_LLM_MODEL=qwen3:8b memorybus eval locomo locomo10.json --llm http://127.0.0.1:11434/v1
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
  memorybus eval golden --sweep min_score,limit --html report.html\n
  memorybus eval golden cases.json --json report.json
"""

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="File with turns and judged questions.")]
CasesArgument = Annotated[
    Path, typer.Argument(metavar="[PATH]", help="File with golden cases; without it those of memorybus.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report there too.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots there.")]
MlflowOption = Annotated[
    str,
    typer.Option(
        "--mlflow",
        metavar="EXPERIMENT",
        help="Log the figures as runs of this experiment, where MLFLOW_TRACKING_URI points.",
        show_default=False,
    ),
]
AblationOption = Annotated[
    bool, typer.Option("--ablation", help="Ask again with each component of the ranking switched off, or alone.")
]
SweepOption = Annotated[
    str,
    typer.Option(
        "--sweep",
        metavar="SETTING[=VALUE:VALUE…],…",
        help="Ask again with each value of settings of retrieve, or of the limit: alpha,beta,gamma,tau,rrf_k,limit.",
        show_default=False,
    ),
]
LlmOption = Annotated[
    str,
    typer.Option(
        "--llm",
        metavar="URL",
        help="Let a model answer with and without memory: base address of an OpenAI-compatible server.",
        show_default=False,
    ),
]
OutagesOption = Annotated[
    bool, typer.Option("--outages", help="Ask again without vector store, embedder, and half of the vectors.")
]

MisdirectedOption = Annotated[
    bool,
    typer.Option("--misdirected", help="Put each question to another user's memory, too: it should answer nothing."),
]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be done beside the run itself."""

    json: Path | None
    html: Path | None
    mlflow: str
    ablation: bool
    sweep: str
    outages: bool
    llm: str

    def variants(self) -> list[Variant]:
        """The further runs; what takes vectors away comes last."""
        return [
            *(variants.ablation() if self.ablation else []),
            *variants.sweep(self.sweep),
            *(variants.outages() if self.outages else []),
        ]


def locomo(
    path: PathArgument,
    report: JsonOption = None,
    html: HtmlOption = None,
    mlflow: MlflowOption = "",
    ablation: AblationOption = False,
    sweep: SweepOption = "",
    outages: OutagesOption = False,
    llm: LlmOption = "",
    typing_errors: Annotated[
        int | None, typer.Option(metavar="SEED", help="Put one typing error into each question.")
    ] = None,
    misdirected: MisdirectedOption = False,
) -> None:
    """Ask the questions of LoCoMo, scored by turns; each conversation is a user of its own.

    A whole memorybus runs in a temporary folder, with the settings of the environment. On servers that these name
    (OpenSearch, Qdrant) it has indexes and a collection of its own, which are removed afterwards.
    """
    read: Callable[[Path], Dataset] = datasets.locomo
    if typing_errors is not None:
        read = partial(_misspelt, seed=typing_errors)
    _evaluate(path, _also(read, misdirected), Wishes(report, html, mlflow, ablation, sweep, outages, llm))


def _also(read: Callable[[Path], Dataset], misdirected: bool) -> Callable[[Path], Dataset]:
    return (lambda path: datasets.misdirected(read(path))) if misdirected else read


def _misspelt(path: Path, seed: int) -> Dataset:
    return misspelt(datasets.locomo(path), seed)


def chats(
    path: PathArgument,
    report: JsonOption = None,
    html: HtmlOption = None,
    mlflow: MlflowOption = "",
    ablation: AblationOption = False,
    sweep: SweepOption = "",
    outages: OutagesOption = False,
    llm: LlmOption = "",
    misdirected: MisdirectedOption = False,
) -> None:
    """Ask about chats with an assistant, by kind of question; each chat is a user of its own.

    A file is a list of {id, turns: [{id, conversation_id, role, created_at, text}], questions: [{q, kind, evidence,
    stale, now, answer}]}: `evidence` are the turns that answer, `stale` those with a value that changed later. A folder
    has a file for each of them.
    """
    _evaluate(path, _also(datasets.chats, misdirected), Wishes(report, html, mlflow, ablation, sweep, outages, llm))


def longmemeval(
    path: PathArgument,
    first: Annotated[int | None, typer.Option(min=1, metavar="N", help="Ask only the first N questions.")] = None,
    report: JsonOption = None,
    html: HtmlOption = None,
    mlflow: MlflowOption = "",
    ablation: AblationOption = False,
    sweep: SweepOption = "",
    outages: OutagesOption = False,
    llm: LlmOption = "",
) -> None:
    """Ask the questions of LongMemEval, scored by sessions; each has a haystack of its own, some 500 turns in `_s`.

    hit@k is recall_any@k of the original, all@k recall_all@k, and ndcg@k ndcg_any@k. Questions that are to be abstained
    from (`_abs`) count in none of them.
    """
    _evaluate(
        path, partial(datasets.longmemeval, first=first), Wishes(report, html, mlflow, ablation, sweep, outages, llm)
    )


def golden(
    path: CasesArgument = datasets.GOLDEN,
    report: JsonOption = None,
    html: HtmlOption = None,
    mlflow: MlflowOption = "",
    ablation: AblationOption = False,
    sweep: SweepOption = "",
    outages: OutagesOption = False,
    llm: LlmOption = "",
) -> None:
    """Ask golden cases, each of a small memory of its own; fails when less is found than has to be.

    A file is {cases: [{id, setup_memories: [{content, type}], query, expected_retrievals: [content]}]}. A case may also
    have `kind`, `half`, `now`, `answer`, `token_budget`, `outdated` contents, and `other_user_memories`, which nobody
    may find.
    """
    _evaluate(path, datasets.golden, Wishes(report, html, mlflow, ablation, sweep, outages, llm))


def _evaluate(path: Path, read: Callable[[Path], Dataset], wishes: Wishes) -> None:
    refuse_a_bus()
    try:
        chosen = wishes.variants()
        dataset = read(path)
        knobs = EvalSettings()
        model = open_model(wishes.llm, knobs) if wishes.llm else None
        experiment = Experiment.open(wishes.mlflow) if wishes.mlflow else None
    except (FormatError, BadSweep, UnusableSetting, Untracked) as error:
        fail(str(error))
    asked, *others = run(_asked(dataset, chosen))
    runs = [Run.of(*pair) for pair in zip(chosen, others, strict=True)]
    report = Report.of(dataset, asked, runs, run(_answered(model, asked, knobs.llm_questions)) if model else None)
    out.print(*report.shown(), sep="\n")
    if wishes.json is not None:
        write(wishes.json, json.dumps(report.as_json(), indent=2) + "\n")
    if wishes.html is not None:
        write(wishes.html, report.page())
    if experiment is not None:
        _log(experiment, report)
    if short := shortfalls(dataset, report.metrics):
        fail("; ".join(short))


def _log(experiment: Experiment, report: Report) -> None:
    try:
        out.print(f"logged as run {experiment.log(report)} of MLflow")
    except Untracked as error:
        fail(str(error))


def refuse_a_bus() -> None:
    """End where turns would go to a bus that somebody uses."""
    if settings_from().nats_url:
        fail("MEMORYBUS_NATS_URL names a bus: eval fills a memory of its own, unset the variable")


async def _asked(dataset: Dataset, chosen: Sequence[Variant]) -> list[Asked]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memorybus-eval-")))
        progress = stack.enter_context(bars(err))
        return await evaluate(dataset, folder / "up", chosen, progress)


async def _answered(model: ChatModel, asked: Asked, most: int) -> Answered:
    try:
        with bars(err) as progress:
            return await ask_model(model, asked.questions, asked.contexts, most, progress)
    finally:
        await model.close()


def write(file: Path, text: str) -> None:
    """Write a file, or say why not."""
    try:
        file.write_text(text)
    except OSError as error:
        fail(f"{file}: {error.strerror or error}")
