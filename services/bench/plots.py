"""A page of what is printed, with plots: nothing in it is loaded from elsewhere, and no script runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import StringIO

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Table

_WIDTH = 140
_LONGEST = 80
_COLOURS = ("blue", "dark_orange3", "green")
_STYLE = "pre { font: 13px/1.35 ui-monospace, 'DejaVu Sans Mono', monospace; margin: 2rem; overflow-x: auto; }"


def page(title: str, parts: Iterable[RenderableType]) -> str:
    """The page with these parts; a text in it is no markup."""
    console = Console(record=True, file=StringIO(), width=_WIDTH, markup=False, highlight=False, emoji=False)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))
    head = f'<meta charset="utf-8"/><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = f"<h1>{escape(title)}</h1><pre>{console.export_html(inline_styles=True, code_format='{code}')}</pre>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def bars(title: str, figures: Mapping[str, Mapping[str, float]], shown: Sequence[str], *, top: float = 1.0) -> Table:
    """For each name a bar of each of at most three figures, from 0 to `top`."""
    table = Table(title, "", "", box=None)
    for name, of in figures.items():
        for metric, colour in zip(shown, _COLOURS, strict=False):
            if metric in of:
                bar = Bar(top, 0, of[metric], width=_LONGEST, color=colour)
                table.add_row(name if metric == shown[0] else "", f"{metric} {of[metric]:.3g}", bar)
    return table
