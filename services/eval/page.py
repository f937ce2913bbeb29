"""A report as one HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from services.bench import plots
from services.eval.report import Figures, Report, figure

_BARS = ("recall@10", "mrr")
_LINES = ("recall@10", "mrr", "precision@5")
_COLUMNS = ("hit@1", "recall@5", "recall@10", "recall@20", "precision@5", "mrr", "new_above_old", "silent", "tokens")
_COMPARED = ("ablation", "outages")
_LABELS, _ROW = 220, 34

Row = tuple[str, Figures]


def page(report: Report) -> str:
    """The page."""
    title = f"{report.dataset}: {report.questions:,} questions"
    took = ", ".join(f"{name} {value:.1f} ms" for name, value in report.latency_ms.items())
    head = f"<h1>{escape(title)}</h1><p>Time to answer: {escape(took)}</p>"
    return plots.document(title, [head, *_own(report), *_runs(report), *_model(report)])


def _own(report: Report) -> Iterable[str]:
    halves = {"all": report.metrics, **{f"half {name}": figures for name, figures in report.halves.items()}}
    metrics = ([metric, *(figure(metric, of) for of in halves.values())] for metric in report.metrics)
    yield "<h2>All questions</h2>" + plots.table(["metric", *halves], metrics)
    kinds = list(report.kinds.items())
    yield "<h2>By kind of question</h2>" + _bars(kinds) + _figures("kind", kinds)


def _runs(report: Report) -> Iterable[str]:
    for name, runs in report.tables().items():
        rows = [("as set", report.metrics), *((title, figures) for title, figures, _ in runs)]
        plot = _bars(rows) if name in _COMPARED else _lines(rows[1:])
        yield f"<h2>{escape(name)}</h2>{plot}{_figures('run', rows)}"


def _model(report: Report) -> Iterable[str]:
    if report.answered is not None:
        rows = ([name, *(f"{value:.3f}" for value in of.values())] for name, of in report.answered.figures().items())
        title = f"<h2>{report.answered.questions:,} questions answered by {escape(report.answered.model)}</h2>"
        yield title + plots.table(("answered", "f1", "contains"), rows)


def _figures(corner: str, rows: Sequence[Row]) -> str:
    known = [metric for metric in _COLUMNS if any(metric in figures for _, figures in rows)]
    body = ([name, *(figure(metric, figures) for metric in known)] for name, figures in rows)
    return plots.table([corner, *known], body)


def _lines(rows: Sequence[Row]) -> str:
    """A line for each metric over the values of a setting."""
    values = [name.rpartition(" ")[2] for name, _ in rows]
    return plots.lines(values, {metric: [figures.get(metric) for _, figures in rows] for metric in _LINES})


def _bars(rows: Sequence[Row]) -> str:
    """Two bars a row, from 0 to 1."""
    shown = [(name, figures) for name, figures in rows if any(metric in figures for metric in _BARS)]
    drawn = [_scale(len(shown) * _ROW)]
    for number, (name, figures) in enumerate(shown):
        top = number * _ROW
        drawn.append(f'<text x="{_LABELS - 8}" y="{top + 21}" text-anchor="end">{escape(name)}</text>')
        drawn += [_bar(name, metric, place, top, figures.get(metric, 0.0)) for place, metric in enumerate(_BARS)]
    return plots.key(_BARS) + plots.svg(len(shown) * _ROW + 24, drawn)


def _bar(name: str, metric: str, place: int, top: int, value: float) -> str:
    box = f'x="{_LABELS}" y="{top + 5 + 13 * place}" width="{_length(value):.1f}" height="11"'
    return f'<rect class="s{place}" {box}><title>{escape(name)}: {metric} {value:.3f}</title></rect>'


def _scale(height: int) -> str:
    lines = (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        f'<text class="soft" x="{x:.1f}" y="{height + 16}" text-anchor="middle">{share}</text>'
        for share, x in ((share, _LABELS + _length(share)) for share in (0, 0.25, 0.5, 0.75, 1))
    )
    return "".join(lines)


def _length(value: float) -> float:
    return value * (plots.WIDTH - _LABELS - 20)
