"""A page of tables and plots: nothing in it is loaded from elsewhere, and no script runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

WIDTH = 720
_HEIGHT, _LEFT = 240, 50
_LINES = 5
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


def document(title: str, parts: Iterable[str]) -> str:
    """The page with these parts, which are markup; the title is text."""
    head = f'<meta charset="utf-8"/><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A table of texts."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div>'


def lines(places: Sequence[str], series: Mapping[str, Sequence[float | None]], *, top: float = 1.0) -> str:
    """A line for each of at most three series over the named places, in their order, from 0 to `top`."""
    step = (WIDTH - 2 * _LEFT) / max(len(places) - 1, 1)
    across = [_LEFT + 10 + number * step for number in range(len(places))]
    drawn = []
    for number in range(_LINES + 1):
        value = top * number / _LINES
        drawn.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{_y(value, top)}" y2="{_y(value, top)}"/>')
        drawn.append(f'<text class="soft" x="{_LEFT - 8}" y="{_y(value, top)}" text-anchor="end">{value:.3g}</text>')
    for x, name in zip(across, places, strict=True):
        drawn.append(f'<text class="soft" x="{x:.1f}" y="{_HEIGHT + 20}" text-anchor="middle">{escape(name)}</text>')
    for number, (name, values) in enumerate(series.items()):
        points = [(x, value) for x, value in zip(across, values, strict=True) if value is not None]
        path = " ".join(f"{x:.1f},{_y(value, top)}" for x, value in points)
        drawn.append(f'<polyline class="s{number}" points="{path}"/>')
        drawn += [_point(number, name, x, value, top) for x, value in points]
    return key(list(series)) + svg(_HEIGHT + 28, drawn)


def _point(number: int, name: str, x: float, value: float, top: float) -> str:
    told = f"<title>{escape(name)} {value:.3f}</title>"
    return f'<circle class="s{number}" cx="{x:.1f}" cy="{_y(value, top)}" r="3">{told}</circle>'


def _y(value: float, top: float) -> str:
    return f"{_HEIGHT - value / top * (_HEIGHT - 10):.1f}"


def key(names: Sequence[str]) -> str:
    """Which colour is which."""
    marks = (f'<b style="color: var(--s{place})">■</b> {escape(name)}' for place, name in enumerate(names))
    return f'<p class="key">{" · ".join(marks)}</p>'


def svg(height: int, drawn: Iterable[str]) -> str:
    """A drawing of the width that all have."""
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(drawn)}</svg>'
