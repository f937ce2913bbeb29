"""`memorybus bench variants`: how well names of one person are told from names of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from contracts.v1.entries import Entity, Entry
from services.bench.pairs import Judged, PairsFile, Quality, WrongOption, labelled_pairs, pairs_or_fail
from services.cli.common import out
from services.shared.core.aliases import people_of
from services.shared.core.facts import slug_of

EPILOG = """Examples:\n
  memorybus bench variants tests/quality/variants.tsv\n
  memorybus bench variants tests/quality/variants_held_out.tsv --wrong
"""

Label = Literal["same", "different", "open"]
Verdict = Literal["joined", "proposed", "apart"]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_BETWEEN = " / "


@validated(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Pair:
    """Whether two names are of one person, which nobody can know of an open one, and what a user says of them."""

    label: Label
    kind: str = Field(min_length=1)
    names: str = Field(pattern=".+ / .+")
    one: str = Field(min_length=1)
    other: str = Field(min_length=1)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, names, one and other; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, ("same", "different", "open"))


def judged(pairs: Sequence[Pair]) -> list[Judged[Pair, Verdict]]:
    """What the rules make of each pair, in a memory of its two statements."""
    return [Judged(pair, _verdict(pair)) for pair in pairs]


def _verdict(pair: Pair) -> Verdict:
    names = tuple(pair.names.split(_BETWEEN))
    people = people_of(_entry(n, text, names) for n, text in enumerate((pair.one, pair.other)))
    asked = {slug_of(name) for name in names}
    if any(asked <= set(person.names) for person in people.persons):
        return "joined"
    proposed = [{slug_of(one.one), slug_of(one.other)} for one in people.proposals]
    return "proposed" if asked in proposed else "apart"


def _entry(number: int, text: str, names: Sequence[str]) -> Entry:
    """A statement in which all of the names that stand there are recognized."""
    found = [name for name in sorted(names, key=len, reverse=True) if name in text]
    longest = [name for name in found if text.replace(found[0], "").count(name) or name == found[0]]
    entities = tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in longest)
    return Entry(id=str(number), user_id="me", text=text, entities=entities, created_at=_NOW, updated_at=_NOW)


def quality(results: Sequence[Judged[Pair, Verdict]]) -> Quality:
    """How well names of one person are joined."""
    same = sum(one.pair.label == "same" for one in results)
    joined = [one.pair.label for one in results if one.found == "joined"]
    return Quality(same, len(joined), joined.count("same"))


def variants(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled pairs of names: are they of one person?"""
    results = judged(pairs_or_fail(file, read_pairs))
    out.print(_summary(results))
    for one in results if wrong else ():
        if _is_wrong(one):
            out.print(f"[bold]{one.found}[/bold], {one.pair.label}: {escape(one.pair.names)}")
            out.print(f"  {escape(one.pair.one)} | {escape(one.pair.other)}", soft_wrap=True)


def _is_wrong(one: Judged[Pair, Verdict]) -> bool:
    return (one.found == "joined") != (one.pair.label == "same")


def _summary(results: Sequence[Judged[Pair, Verdict]]) -> Table:
    of = quality(results)
    table = Table(title=f"{len(results)} pairs: joined with precision {of.precision:.3f}, recall {of.recall:.3f}")
    for column in ("label", "joined", "proposed", "apart"):
        table.add_column(column, justify="left" if column == "label" else "right")
    for label in ("same", "different", "open"):
        counts = Counter(one.found for one in results if one.pair.label == label)
        table.add_row(label, *(str(counts[verdict]) for verdict in ("joined", "proposed", "apart")))
    return table
