"""`scripts/faults`: breaks memorybus in every way of the matrix, one after the other, and checks every promise.

Exits with 1 when a promise was broken, or a row could not be carried out.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from contracts.ports import Unavailable
from tests.faults import table
from tests.faults.process import NotReady
from tests.faults.rows import CannotRun, Context, Row
from tests.faults.rows_all import QUICK, ROWS
from tests.faults.trial import NotRecovered, Outcome

_WIDE = 140


class Run:
    """One run of some rows: what came out, what failed, and what could not run here."""

    def __init__(self, context: Context, console: Console) -> None:
        self.outcomes: list[Outcome] = []
        self.problems: list[str] = []
        self.missing: list[str] = []
        self._context = context
        self._console = console

    async def rows(self, names: Sequence[str]) -> None:
        """Carry out rows, and say what each found."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=len(names))
            for name in names:
                progress.update(task, description=name)
                tell = lambda what, name=name: progress.update(task, description=f"{name}: {what}")  # noqa: E731
                await self._row(name, ROWS[name], replace(self._context, tell=tell))
                progress.advance(task)

    async def _row(self, name: str, row: Row, context: Context) -> None:
        try:
            outcome = await row(context)
        except CannotRun as error:
            self.missing.append(f"{name}: {error}")
            self._console.print(f"[yellow]{name} cannot run here: {error}[/]", highlight=False)
        except (NotReady, NotRecovered, Unavailable, AssertionError) as error:
            self.problems.append(f"{name}: {error}")
            self._console.print(f"[bold red]{name}: {error}[/]", highlight=False, markup=True)
        else:
            self.outcomes.append(outcome)
            state = "[green]kept[/]" if outcome.good else "[bold red]broken[/]"
            counted = f"{outcome.runs:,} faults, {outcome.findings.acknowledged:,} acknowledged"
            self._console.print(f"{outcome.row}: {state} ({counted})", highlight=False)

    @property
    def code(self) -> int:
        """0 when every promise was kept in every row."""
        return int(bool(self.problems or self.missing or not all(one.good for one in self.outcomes)))


async def run(names: Sequence[str], *, seed: int, quick: bool, folder: Path, console: Console) -> Run:
    """Carry out rows in a folder."""
    done = Run(Context(folder, seed, quick), console)
    await done.rows(names)
    return done


def main() -> None:
    """Entry point of `scripts/faults`."""
    given = _parsed()
    logging.getLogger("services").setLevel(logging.ERROR)  # that connections break is what is wanted
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    names = given.row or list(QUICK if given.quick else ROWS)
    console.print(f"seed {seed}: the same again with --seed {seed}", highlight=False)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memorybus-faults-", ignore_cleanup_errors=True) as folder:
        work = run(names, seed=seed, quick=given.quick, folder=Path(folder), console=console)
        done = asyncio.run(work)
    title = f"seed {seed}, {time.monotonic() - began:.0f} s"
    table.show(done.outcomes, console, title=title)
    for problem in (*done.problems, *(f"could not run: {missing}" for missing in done.missing)):
        console.print(problem, style="bold red", markup=False, highlight=False)
    sys.exit(done.code)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the matrix that takes a minute or two")
    parser.add_argument("--seed", type=int, help="make the same load as a former run")
    parser.add_argument("--row", action="append", choices=ROWS, metavar="NAME", help=f"only these: {', '.join(ROWS)}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
