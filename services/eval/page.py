"""A report as one HTML page with plots: nothing in it is loaded from elsewhere, and no script runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from services.eval.report import Figures, Report, figure

_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1d2330, #e6e9ef); --soft: light-dark(#6b7280, #9aa3b2);
  --line: light-dark(#d9dde5, #3a4150); --paper: light-dark(#fff, #14171d);
  --s0: light-dark(#2563c9, #6fa3f5); --s1: light-dark(#c2570c, #f0955a); --s2: light-dark(#15803d, #5fc785); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { text-align: left; }
svg { width: 100%; max-width: 46rem; height: auto; } text { fill: var(--ink); font-size: 12px; }
.soft { fill: var(--soft); } .grid { stroke: var(--line); } .key { color: var(--soft); }
.s0 { fill: var(--s0); stroke: var(--s0); } .s1 { fill: var(--s1); stroke: var(--s1); }
.s2 { fill: var(--s2); stroke: var(--s2); } polyline { fill: none !important; stroke-width: 2; }
"""
_BARS = ("recall@10", "mrr")
_LINES = ("recall@10", "mrr", "precision@5")
_COLUMNS = ("hit@1", "recall@5", "recall@10", "recall@20", "precision@5", "mrr", "new_above_old", "silent", "tokens")
_COMPARED = ("ablation", "outages")
_WIDTH, _LABELS, _ROW, _HEIGHT = 720, 220, 34, 240

Row = tuple[str, Figures]


def page(report: Report) -> str:
    """The page."""
    title = escape(f"{report.dataset}: {report.questions:,} questions")
    took = ", ".join(f"{name} {value:.1f} ms" for name, value in report.latency_ms.items())
    parts = [f"<h1>{title}</h1><p>Time to answer: {escape(took)}</p>", *_own(report), *_runs(report)]
    head = f'<meta charset="utf-8"/><title>{title}</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _own(report: Report) -> Iterable[str]:
    halves = {"all": report.metrics, **{f"half {name}": figures for name, figures in report.halves.items()}}
    metrics = ([metric, *(figure(metric, of) for of in halves.values())] for metric in report.metrics)
    yield "<h2>All questions</h2>" + _table(["metric", *halves], metrics)
    kinds = list(report.kinds.items())
    yield "<h2>By kind of question</h2>" + _bars(kinds) + _figures("kind", kinds)


def _runs(report: Report) -> Iterable[str]:
    for name, runs in report.tables().items():
        rows = [("as set", report.metrics), *((title, figures) for title, figures, _ in runs)]
        plot = _bars(rows) if name in _COMPARED else _lines(rows[1:])
        yield f"<h2>{escape(name)}</h2>{plot}{_figures('run', rows)}"


def _figures(corner: str, rows: Sequence[Row]) -> str:
    known = [metric for metric in _COLUMNS if any(metric in figures for _, figures in rows)]
    body = ([name, *(figure(metric, figures) for metric in known)] for name, figures in rows)
    return _table([corner, *known], body)


def _table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div>'


def _bars(rows: Sequence[Row]) -> str:
    """Two bars a row, from 0 to 1."""
    shown = [(name, figures) for name, figures in rows if any(metric in figures for metric in _BARS)]
    drawn = [_scale(len(shown) * _ROW)]
    for number, (name, figures) in enumerate(shown):
        top = number * _ROW
        drawn.append(f'<text x="{_LABELS - 8}" y="{top + 21}" text-anchor="end">{escape(name)}</text>')
        drawn += [_bar(name, metric, place, top, figures.get(metric, 0.0)) for place, metric in enumerate(_BARS)]
    return _key(_BARS) + _svg(len(shown) * _ROW + 24, drawn)


def _bar(name: str, metric: str, place: int, top: int, value: float) -> str:
    box = f'x="{_LABELS}" y="{top + 5 + 13 * place}" width="{_length(value):.1f}" height="11"'
    return f'<rect class="s{place}" {box}><title>{escape(name)}: {metric} {value:.3f}</title></rect>'


def _lines(rows: Sequence[Row]) -> str:
    """A line for each metric over the values of a setting, in their order, from 0 to 1."""
    step = (_WIDTH - 90) / max(len(rows) - 1, 1)
    places = [50 + number * step for number in range(len(rows))]
    drawn = []
    for tenth in range(0, 11, 2):
        y = _depth(tenth / 10)
        drawn.append(f'<line class="grid" x1="40" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text class="soft" x="32" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for x, (name, _) in zip(places, rows, strict=True):
        value = escape(name.rpartition(" ")[2])
        drawn.append(f'<text class="soft" x="{x:.1f}" y="{_HEIGHT + 20}" text-anchor="middle">{value}</text>')
    for place, metric in enumerate(_LINES):
        points = [(x, _depth(of[metric]), of[metric]) for x, (_, of) in zip(places, rows, strict=True) if metric in of]
        drawn.append(f'<polyline class="s{place}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)}"/>')
        drawn += [
            f'<circle class="s{place}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{metric} {value:.3f}</title></circle>'
            for x, y, value in points
        ]
    return _key(_LINES) + _svg(_HEIGHT + 28, drawn)


def _scale(height: int) -> str:
    lines = (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        f'<text class="soft" x="{x:.1f}" y="{height + 16}" text-anchor="middle">{share}</text>'
        for share, x in ((share, _LABELS + _length(share)) for share in (0, 0.25, 0.5, 0.75, 1))
    )
    return "".join(lines)


def _length(value: float) -> float:
    return value * (_WIDTH - _LABELS - 20)


def _depth(value: float) -> float:
    return _HEIGHT - value * (_HEIGHT - 10)


def _key(metrics: Sequence[str]) -> str:
    marks = (f'<b style="color: var(--s{place})">■</b> {metric}' for place, metric in enumerate(metrics))
    return f'<p class="key">{" · ".join(marks)}</p>'


def _svg(height: int, drawn: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(drawn)}</svg>'
