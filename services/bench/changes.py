"""`memorybus bench changes`: how well changes and contradictions are told from what only looks like them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from contracts.ports import Reader
from contracts.v1.claims import Relation
from services.bench.pairs import (
    PairsFile,
    Quality,
    WrongOption,
    labelled_pairs,
    pairs_or_fail,
    read_by_the_built_in_model,
)
from services.cli.common import out
from services.cli.tables import table
from services.shared.knowledge.changes import CONTRADICTION, UPDATE

Label: TypeAlias = Literal["update", "contradiction", "compatible", "unrelated"]

EPILOG = """Examples:\n
  memorybus bench changes tests/quality/changes.tsv\n
  memorybus bench changes tests/quality/changes_held_out.tsv --wrong
"""


@validated(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Pair:
    """An older and a newer text of one speaker, how they relate, and what makes the pair easy or hard."""

    label: Label
    kind: str = Field(min_length=1)
    old: str = Field(min_length=1)
    new: str = Field(min_length=1)


Judged: TypeAlias = tuple[Pair, Label]
"""A pair, and what it is found to be."""


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, old and new; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, get_args(Label))


async def judged(pairs: Sequence[Pair], reader: Reader) -> list[Judged]:
    """What a reader makes of the pairs."""
    relations = await reader.compare([(pair.old, pair.new) for pair in pairs])
    return list(zip(pairs, map(label_of, relations), strict=True))


def label_of(relation: Relation) -> Label:
    """What a memory takes a relation for."""
    if relation.update >= UPDATE:
        return "update"
    if relation.contradiction >= CONTRADICTION:
        return "contradiction"
    return "compatible" if relation.compatible >= relation.unrelated else "unrelated"


def quality(results: Sequence[Judged], label: Label) -> Quality:
    """How well pairs with this label are found."""
    there = sum(pair.label == label for pair, _ in results)
    found = [pair.label for pair, judged_as in results if judged_as == label]
    return Quality(there, len(found), found.count(label))


def changes(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled pairs of statements: does the newer one change the older one, or contradict it?"""
    pairs = pairs_or_fail(file, read_pairs)
    results = read_by_the_built_in_model(lambda reader: judged(pairs, reader))
    out.print(_summary(results))
    for pair, found in results if wrong else ():
        if found != pair.label and {found, pair.label} & {"update", "contradiction"}:
            told = f"[bold]{pair.label}[/bold] ({escape(pair.kind)}), judged {found}:"
            out.print(told, f"  {escape(pair.old)}", f"  {escape(pair.new)}", sep="\n")


def _summary(results: Sequence[Judged]) -> Table:
    labels: tuple[Label, ...] = ("update", "contradiction")
    rows = (
        (label, str(of.there), str(of.found), f"{of.precision:.3f}", f"{of.recall:.3f}")
        for label, of in ((label, quality(results, label)) for label in labels)
    )
    return table(("relation", "pairs", "found", "precision", "recall"), rows, title=f"{len(results)} pairs")
