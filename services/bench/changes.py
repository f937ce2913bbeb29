"""`memorybus bench changes`: how well changes and contradictions are told from what only looks like them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from services.bench.pairs import Judged, PairsFile, Quality, WrongOption, labelled_pairs, pairs_or_fail
from services.cli.common import out
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


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, old and new; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, get_args(Relation))


def judged(pairs: Sequence[Pair]) -> list[Judged[Pair, Relation]]:
    """What the rules make of the pairs."""
    return [Judged(pair, _judge(pair)) for pair in pairs]


def _judge(pair: Pair) -> Relation:
    (effect,) = effects(pair.new, [pair.old])
    if effect == "beside":
        return "compatible"
    return "update" if effect in ("replaced", "replaced in part") else relation(pair.old, pair.new)


def quality(results: Sequence[Judged[Pair, Relation]], label: Relation) -> Quality:
    """How well pairs with this label are found."""
    there = sum(one.pair.label == label for one in results)
    found = [one.pair.label for one in results if one.found == label]
    return Quality(there, len(found), found.count(label))


def changes(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled pairs of statements: does the newer one change the older one, or contradict it?"""
    results = judged(pairs_or_fail(file, read_pairs))
    out.print(_summary(results))
    for one in results if wrong else ():
        if one.found != one.pair.label and {one.found, one.pair.label} & {"update", "contradiction"}:
            told = f"[bold]{one.pair.label}[/bold] ({escape(one.pair.kind)}), judged {one.found}:"
            out.print(told, f"  {escape(one.pair.old)}", f"  {escape(one.pair.new)}", sep="\n")


def _summary(results: Sequence[Judged[Pair, Relation]]) -> Table:
    table = Table(title=f"{len(results)} pairs")
    table.add_column("relation")
    for column in ("pairs", "found", "precision", "recall"):
        table.add_column(column, justify="right")
    labels: tuple[Relation, ...] = ("update", "contradiction")
    for label in labels:
        of = quality(results, label)
        table.add_row(label, str(of.there), str(of.found), f"{of.precision:.3f}", f"{of.recall:.3f}")
    return table
