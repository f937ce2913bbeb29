"""`memorybus bench changes`: how well changes and contradictions are told from what only looks like them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from contracts.errors import Unavailable
from contracts.ports import Reader
from contracts.v1.claims import Relation
from services.bench.pairs import Judged, PairsFile, Quality, WrongOption, labelled_pairs, pairs_or_fail
from services.cli.common import fail, out
from services.cli.tables import table
from services.shared.embedders import open_embedder
from services.shared.knowledge.changes import CONTRADICTION, UPDATE
from services.shared.settings import Settings

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


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, old and new; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, get_args(Label))


async def judged(pairs: Sequence[Pair], reader: Reader) -> list[Judged[Pair, Label]]:
    """What a reader makes of the pairs."""
    relations = await reader.compare([(pair.old, pair.new) for pair in pairs])
    return [Judged(pair, label_of(relation)) for pair, relation in zip(pairs, relations, strict=True)]


def label_of(relation: Relation) -> Label:
    """What a memory takes a relation for."""
    if relation.update >= UPDATE:
        return "update"
    if relation.contradiction >= CONTRADICTION:
        return "contradiction"
    return "compatible" if relation.compatible >= relation.unrelated else "unrelated"


async def _judged_by_the_built_in_model(pairs: Sequence[Pair]) -> list[Judged[Pair, Label]]:
    model = await open_embedder("memorybus", cache_dir=Settings().cache)
    if model is None or not isinstance(model, Reader):
        raise Unavailable("the built-in model reads nothing")
    try:
        return await judged(pairs, model)
    finally:
        await model.close()


def quality(results: Sequence[Judged[Pair, Label]], label: Label) -> Quality:
    """How well pairs with this label are found."""
    there = sum(one.pair.label == label for one in results)
    found = [one.pair.label for one in results if one.found == label]
    return Quality(there, len(found), found.count(label))


def changes(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled pairs of statements: does the newer one change the older one, or contradict it?"""
    pairs = pairs_or_fail(file, read_pairs)
    try:
        results = asyncio.run(_judged_by_the_built_in_model(pairs))
    except Unavailable as error:
        fail(str(error))
    out.print(_summary(results))
    for one in results if wrong else ():
        if one.found != one.pair.label and {one.found, one.pair.label} & {"update", "contradiction"}:
            told = f"[bold]{one.pair.label}[/bold] ({escape(one.pair.kind)}), judged {one.found}:"
            out.print(told, f"  {escape(one.pair.old)}", f"  {escape(one.pair.new)}", sep="\n")


def _summary(results: Sequence[Judged[Pair, Label]]) -> Table:
    labels: tuple[Label, ...] = ("update", "contradiction")
    rows = (
        (label, str(of.there), str(of.found), f"{of.precision:.3f}", f"{of.recall:.3f}")
        for label, of in ((label, quality(results, label)) for label in labels)
    )
    return table(("relation", "pairs", "found", "precision", "recall"), rows, title=f"{len(results)} pairs")
