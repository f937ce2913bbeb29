"""The figures of a run, as tables, as JSON, and against the least that is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from services.bench.measure import percentile
from services.bench.plots import bars, page
from services.cli.tables import table
from services.eval.datasets import Dataset
from services.eval.llm import Answered
from services.eval.metrics import means
from services.eval.runs import Asked
from services.eval.variants import Variant

_SHOWN_BY_KIND = ("hit@1", "hit@3", "recall@10", "precision@5", "mrr", "new_above_old", "silent")

_SHOWN_BY_RUN = ("hit@1", "recall@5", "recall@10", "mrr", "precision@5", "silent", "tokens")

_DRAWN = ("recall@10", "mrr", "precision@5")

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Run:
    """The figures with other settings than those of the environment."""

    variant: Variant
    metrics: Figures
    latency_ms: Figures

    @classmethod
    def of(cls, variant: Variant, asked: Asked) -> Run:
        """The figures of what was found with a variant."""
        return cls(variant, means(asked.judged), latency(asked))

    def as_json(self) -> dict[str, Any]:
        """The run as it is written to a file."""
        return {
            "table": self.variant.table,
            "name": self.variant.name,
            "settings": dict(self.variant.settings),
            "metrics": rounded(self.metrics),
            "latency_ms": rounded(self.latency_ms),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The figures over all questions, by half and by kind of question; latency in milliseconds."""

    dataset: str
    questions: int
    metrics: Figures
    latency_ms: Figures
    halves: Mapping[str, Figures]
    kinds: Mapping[str, Figures]
    runs: Sequence[Run] = ()
    answered: Answered | None = None

    @classmethod
    def of(cls, dataset: Dataset, asked: Asked, runs: Sequence[Run] = (), answered: Answered | None = None) -> Report:
        """The report on what was found, on runs with other settings, and on what a model answered."""
        halves = sorted({question.half for question in asked.questions if question.half})
        kinds = sorted({question.kind for question in asked.questions})
        return cls(
            dataset=dataset.name,
            questions=len(asked.judged),
            metrics=means(asked.judged),
            latency_ms=latency(asked),
            halves={half: means(asked.of_half(half)) for half in halves},
            kinds={kind: means(asked.of_kind(kind)) for kind in kinds},
            runs=runs,
            answered=answered,
        )

    def as_json(self) -> dict[str, Any]:
        """The report as it is written to a file."""
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "metrics": rounded(self.metrics),
            "latency_ms": rounded(self.latency_ms),
            "halves": {half: rounded(figures) for half, figures in self.halves.items()},
            "kinds": {kind: rounded(figures) for kind, figures in self.kinds.items()},
            "runs": [run.as_json() for run in self.runs],
            **({"llm": self.answered.as_json()} if self.answered else {}),
        }

    def shown(self) -> list[RenderableType]:
        """The report as it is printed."""
        took = "".join(f", {name} {value:.1f} ms" for name, value in self.latency_ms.items())
        return [
            f"{self.dataset}: {self.questions:,} questions{took}",
            self._overall(),
            self._by_kind(),
            *self._by_run(),
            *self._by_model(),
        ]

    def page(self) -> str:
        """What is printed as a page, with plots."""
        title = f"{self.dataset}: {self.questions:,} questions"
        drawn = [bars(name, of, _DRAWN) for name, of in {"kind of question": self.kinds, **self.drawn()}.items()]
        return page(title, [*self.shown(), *drawn])

    def drawn(self) -> dict[str, dict[str, Figures]]:
        """By table, the metrics of each run, after those of the report."""
        return {
            name: {"as set": self.metrics, **{title: figures for title, figures, _ in runs}}
            for name, runs in self.tables().items()
        }

    def _overall(self) -> Table:
        shown = {"all": self.metrics, **{f"half {half}": figures for half, figures in self.halves.items()}}
        rows = ((metric, *(figure(metric, of) for of in shown.values())) for metric in self.metrics)
        return table(("metric", *shown), rows)

    def _by_kind(self) -> Table:
        metrics = [metric for metric in _SHOWN_BY_KIND if metric in self.metrics]
        rows = ((kind, *(figure(metric, of) for metric in metrics)) for kind, of in self.kinds.items())
        return table(("kind of question", *metrics), rows, box=None)

    def _by_run(self) -> Iterator[Table]:
        metrics = [metric for metric in _SHOWN_BY_RUN if metric in self.metrics]
        for name, runs in self.tables().items():
            rows = (
                (title, *(figure(metric, figures) for metric in metrics), f"{took.get('p95', 0):.0f}")
                for title, figures, took in (("as set", self.metrics, self.latency_ms), *runs)
            )
            yield table((name, *metrics, "p95 ms"), rows, box=None)

    def _by_model(self) -> Iterator[RenderableType]:
        if (answered := self.answered) is None:
            return
        rows = ((name, *(f"{value:.3f}" for value in of.values())) for name, of in answered.figures().items())
        yield table((f"{answered.questions:,} questions answered by a model", "f1", "contains"), rows, box=None)
        if answered.failed:
            yield f"{answered.failed:,} got no answer: {answered.last_failure}"

    def tables(self) -> dict[str, list[tuple[str, Figures, Figures]]]:
        """By table, the name, metrics and latency of each run."""
        found: dict[str, list[tuple[str, Figures, Figures]]] = {}
        for run in self.runs:
            found.setdefault(run.variant.table, []).append((run.variant.name, run.metrics, run.latency_ms))
        return found


def latency(asked: Asked) -> dict[str, float]:
    """Percentiles of the answers' time in milliseconds; none without questions."""
    return {f"p{share}": percentile(asked.took, share / 100) for share in (50, 95) if asked.took}


def shortfalls(dataset: Dataset, metrics: Figures) -> list[str]:
    """What is worse than it may be, a sentence each; a context over its budget and a foreign item may never be."""
    said = [
        f"{metric} is {metrics[metric]:.3f}, at least {least:.2f} is expected"
        for metric, least in dataset.least.items()
        if metrics.get(metric, least) < least
    ]
    if metrics.get("within_budget", 1.0) < 1:
        said.append(f"only {metrics['within_budget']:.1%} of the contexts kept to their token budget, all have to")
    if metrics.get("cross_user", 0):
        said.append(f"{metrics['cross_user']:.0f} items of other users were returned, none may ever be")
    return said


def figure(metric: str, figures: Figures) -> str:
    """A figure in a table."""
    if metric not in figures:
        return ""
    return f"{figures[metric]:,.0f}" if metric in ("tokens", "cross_user") else f"{figures[metric]:.3f}"


def rounded(figures: Figures) -> dict[str, float]:
    """Figures as they are written."""
    return {name: round(value, 4) for name, value in figures.items()}
