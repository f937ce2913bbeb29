"""The matrix as a table that fills while it runs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tests.faults.findings import KINDS, Kind
from tests.faults.trial import Outcome

_SHOWN: tuple[Kind, ...] = ("lost", "duplicated", "zombie")


def table_of(outcomes: list[Outcome], *, title: str) -> Table:
    """One row for each outcome, and their sum."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in ("fault", "runs", "not reached", "acknowledged", *_SHOWN, "otherwise wrong", "recovered in"):
        table.add_column(name, justify="left" if name == "fault" else "right")
    for one in outcomes:
        table.add_row(*_cells(one), style="" if one.good else "bold red")
    if len(outcomes) > 1:
        table.add_section()
        table.add_row(*_sum(outcomes))
    return table


def _cells(one: Outcome) -> list[str]:
    name = f"{one.row} ({one.note})" if one.note else one.row
    counts = [one.runs, len(one.unreached), one.findings.acknowledged, *_findings(one)]
    return [name, *(f"{count:,}" for count in counts), f"{one.recovered:.1f} s"]


def _findings(one: Outcome) -> list[int]:
    shown = [one.findings.count(kind) for kind in _SHOWN]
    return [*shown, sum(one.findings.count(kind) for kind in KINDS) - sum(shown)]


def _sum(outcomes: list[Outcome]) -> list[str]:
    counted = [[one.runs, len(one.unreached), one.findings.acknowledged, *_findings(one)] for one in outcomes]
    sums = [sum(column) for column in zip(*counted, strict=True)]
    slowest = max(one.recovered for one in outcomes)
    return ["all", *(f"{number:,}" for number in sums), f"≤ {slowest:.1f} s"]


def show(outcomes: list[Outcome], console: Console, *, title: str) -> None:
    """Print the table, and every finding in words."""
    console.print(table_of(outcomes, title=title))
    kills = sum(one.runs for one in outcomes if "kill -9" in one.row)
    console.print(f"{kills:,} times something was killed with SIGKILL", highlight=False)
    for one in outcomes:
        if not one.good:
            console.print(f"\n[bold red]{one.row}[/]\n{one.findings}", highlight=False)
        if one.unreached:
            console.print(f"[dim]{one.row}: not reached: {', '.join(one.unreached)}[/]", highlight=False)
