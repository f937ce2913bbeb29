"""`memorybus bench changes`: how well changes and contradictions are told from what only looks like them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from services.bench.pairs import labelled_pairs
from services.cli.common import fail, out
from services.shared.core.fact_changes import effects
from services.shared.core.updates import Relation, relation

EPILOG = """Examples:\n
  memorybus bench changes tests/quality/changes.tsv\n
  memorybus bench changes tests/quality/changes_held_out.tsv --wrong
"""


@validated(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Pair:
    """An older and a newer text of one speaker, how they relate, and what makes the pair easy or hard."""

    label: Relation
    kind: str = Field(min_length=1)
    old: str = Field(min_length=1)
    new: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair and what the rules make of it."""

    pair: Pair
    found: Relation


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, old and new; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, get_args(Relation))


def judged(pairs: Sequence[Pair]) -> list[Judged]:
    """What the rules make of the pairs."""
    return [Judged(pair, _judge(pair)) for pair in pairs]


def _judge(pair: Pair) -> Relation:
    (effect,) = effects(pair.new, [pair.old])
    if effect == "beside":
        return "compatible"
    return "update" if effect in ("replaced", "replaced in part") else relation(pair.old, pair.new)


def precision(results: Sequence[Judged], label: Relation) -> float:
    """The share of those found to be so that are; 1 if none was."""
    found = [one for one in results if one.found == label]
    return sum(one.pair.label == label for one in found) / len(found) if found else 1.0


def recall(results: Sequence[Judged], label: Relation) -> float:
    """The share of those that are so that were found; 1 if there are none."""
    there = [one for one in results if one.pair.label == label]
    return sum(one.found == label for one in there) / len(there) if there else 1.0


def changes(
    file: Annotated[Path, typer.Argument(help="Pairs: label, kind, old and new, with tabs between them.")],
    wrong: Annotated[bool, typer.Option("--wrong", help="Also show each pair that memorybus gets wrong.")] = False,
) -> None:
    """Judge labelled pairs of statements: does the newer one change the older one, or contradict it?"""
    try:
        results = judged(read_pairs(file))
    except (ValueError, OSError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        fail(f"{file}: {reason}")
    out.print(_summary(results))
    if wrong:
        for one in results:
            if one.found != one.pair.label and {one.found, one.pair.label} & {"update", "contradiction"}:
                told = f"[bold]{one.pair.label}[/bold] ({escape(one.pair.kind)}), judged {one.found}:"
                out.print(told, f"  {escape(one.pair.old)}", f"  {escape(one.pair.new)}", sep="\n")


def _summary(results: Sequence[Judged]) -> Table:
    table = Table(title=f"{len(results)} pairs")
    table.add_column("relation")
    for column in ("pairs", "found", "precision", "recall"):
        table.add_column(column, justify="right")
    labels: tuple[Relation, ...] = ("update", "contradiction")
    for label in labels:
        pairs = sum(one.pair.label == label for one in results)
        found = sum(one.found == label for one in results)
        shares = (precision(results, label), recall(results, label))
        table.add_row(label, str(pairs), str(found), *(f"{share:.3f}" for share in shares))
    return table
