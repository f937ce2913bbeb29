"""`memorybus eval fit`: the weights of the ranking, fitted on judged questions of one's own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from services.cli.common import bars, err, fail, out, run
from services.cli.tables import table
from services.eval import datasets
from services.eval.commands import refuse_a_bus, write
from services.eval.datasets import Dataset
from services.eval.fitting import Sample, fit, gather_samples, judged_with, without_own
from services.eval.metrics import Judged, means
from services.eval.report import figure
from services.eval.runs import take_in
from services.retrieve.settings import RetrieveSettings
from services.retrieve.weights import load_weights
from services.shared.commands.formats import FormatError
from services.shared.settings import UnusableSetting

EPILOG = """Examples:\n
  memorybus eval fit chats.json --output weights.json\n
  memorybus eval fit chats.json locomo10.json --output weights.json --strength 10\n
  MEMORYBUS_RETRIEVE_WEIGHTS=weights.json memorybus eval chats others.json
"""
_SHOWN = ("hit@1", "hit@3", "recall@5", "recall@10", "recall@20", "mrr")
_FEW = 2


def fit_weights(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Judged questions as the other commands read them."),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the weights; else they are only judged.")
    ] = None,
    strength: Annotated[
        float, typer.Option(min=0.001, max=1_000_000, help="How firmly weights stay where they are now.")
    ] = 1.0,
) -> None:
    """Fit the weights of the ranking to judged questions, and show what that gains for users who are not fitted to.

    Weights start from those of now, and few questions move them little. Apart are kept questions to people and to
    memories in which an assistant speaks. MEMORYBUS_RETRIEVE_WEIGHTS=FILE puts the weights in use.
    """
    refuse_a_bus()
    if output is not None and not output.parent.is_dir():
        fail(f"{output.parent}: is no folder: the weights could not be written there")
    try:
        now = load_weights(RetrieveSettings().weights)
        read = [datasets.by_content(path) for path in paths]
    except (FormatError, UnusableSetting) as error:
        fail(str(error))
    samples = run(_samples(read))
    if not samples:
        fail("nothing can be fitted to: no question has evidence, or no embedder is chosen")
    if len({sample.question.user_id for sample in samples}) < _FEW:
        fail("questions of two users at least are needed: what is gained is shown on users who are not fitted to")
    with bars(err) as progress:
        others = without_own(samples, now, strength, progress)
    out.print(_table(judged_with(samples, now), others))
    if output is None:
        return
    write(output, json.dumps({"weights": fit(samples, now, strength)}, indent=1) + "\n")
    out.print(f"{len(samples):,} questions; the weights are in {output}: set MEMORYBUS_RETRIEVE_WEIGHTS to it")


async def _samples(read: Sequence[Dataset]) -> list[Sample]:
    found: list[Sample] = []
    for dataset in read:
        with tempfile.TemporaryDirectory(prefix="memorybus-fit-") as folder, bars(err) as progress:
            await take_in(dataset, Path(folder) / "up", progress)
            found += await gather_samples(dataset, Path(folder) / "up", progress)
    return found


def _table(now: Sequence[Judged], others: Sequence[Judged]) -> Table:
    ranked = {"weights of now": means(now), "fitted on the other users": means(others)}
    rows = ((name, *(figure(metric, figures) for metric in _SHOWN)) for name, figures in ranked.items())
    return table(("ranking of the candidates alone", *_SHOWN), rows, box=None)
