"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table


def table(
    columns: Sequence[str],
    rows: Iterable[Iterable[RenderableType]],
    *,
    figures: Sequence[str] | None = None,
    **look: Any,
) -> Table:
    """A table with columns of figures: all but the first, where they are not named; `look` is as of rich's tables."""
    made, figures = Table(**look), columns[1:] if figures is None else figures
    for column in columns:
        made.add_column(column, justify="right" if column in figures else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def plain(columns: Sequence[str], rows: Iterable[Iterable[RenderableType]], **more: Any) -> Table:
    """The same without lines."""
    return table(columns, rows, box=None, padding=(0, 2, 0, 0), **more)
