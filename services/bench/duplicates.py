"""`memorybus bench duplicates`: how well repeats are told from what only looks like them, on labelled pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from services.bench.pairs import PairsFile, Quality, WrongOption, labelled_pairs, pairs_or_fail
from services.cli.common import out
from services.cli.tables import table
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import SIMHASH_BITS, fingerprint, hamming
from services.shared.dedup.similarity import agreement, same_statement

EPILOG = """Examples:\n
  memorybus bench duplicates tests/quality/near_duplicates.tsv\n
  memorybus bench duplicates tests/quality/near_duplicates.tsv --wrong
"""
Label: TypeAlias = Literal["repeated", "conflicting", "reworded", "unrelated"]
Rule: TypeAlias = Callable[[str, str], bool]


@validated(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Pair:
    """Two texts of one speaker, how they relate, and in what they differ."""

    label: Label
    kind: str = Field(min_length=1)
    a: str = Field(min_length=1)
    b: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Merges(Quality):
    """How well a rule merges repeats: which pairs it merged though it must not, and which repeats it missed."""

    wrong: tuple[Pair, ...]
    missed: tuple[Pair, ...]

    def wrongly(self, label: Label) -> int:
        """How many pairs with this label were merged."""
        return sum(pair.label == label for pair in self.wrong)


def exactly(a: str, b: str) -> bool:
    """Whether two texts have the same normal form."""
    return read(a).normal == read(b).normal


def simhash_alike(a: str, b: str) -> bool:
    """Whether the SimHashes of two texts differ in at most three bits, the usual bound for web pages."""
    one, other = (fingerprint(reading.normal, reading.words).simhash for reading in (read(a), read(b)))
    return hamming(one, other) <= SIMHASH_BITS


RULES: dict[str, Rule] = {
    "memorybus": same_statement,
    f"SimHash ≤ {SIMHASH_BITS} alone": simhash_alike,
    "exact, normalized, alone": exactly,
}


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a tab-separated file with the columns label, kind, a and b; see `labelled_pairs`."""
    return labelled_pairs(path, Pair, get_args(Label))


def judged(pairs: Sequence[Pair], rule: Rule) -> Merges:
    """What a rule makes of the pairs."""
    merged = [pair for pair in pairs if rule(pair.a, pair.b)]
    wrong = tuple(pair for pair in merged if pair.label != "repeated")
    kept, repeats = set(merged), [pair for pair in pairs if pair.label == "repeated"]
    missed = tuple(pair for pair in repeats if pair not in kept)
    return Merges(len(repeats), len(merged), len(merged) - len(wrong), wrong, missed)


def duplicates(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled pairs of texts: which are repeats that memory keeps once?"""
    pairs = pairs_or_fail(file, read_pairs)
    qualities = {name: judged(pairs, rule) for name, rule in RULES.items()}
    out.print(_summary(pairs, qualities))
    ours = qualities["memorybus"]
    out.print(_kinds(pairs, ours))
    if wrong:
        _show((*ours.wrong, *ours.missed))


def _summary(pairs: Sequence[Pair], qualities: dict[str, Merges]) -> Table:
    counts = Counter(pair.label for pair in pairs)
    told = ", ".join(f"{counts[label]} {label}" for label in get_args(Label))
    _, *others = get_args(Label)
    rows = (
        (name, f"{of.precision:.3f}", f"{of.recall:.3f}", *(str(of.wrongly(label)) for label in others))
        for name, of in qualities.items()
    )
    columns = ("rule", "precision", "recall", "merged: conflicting", "reworded", "unrelated")
    return table(columns, rows, title=f"{len(pairs)} pairs: {told}")


def _kinds(pairs: Sequence[Pair], found: Merges) -> Table:
    counts = Counter(pair.kind for pair in pairs if pair.label == "repeated")
    missed = Counter(pair.kind for pair in found.missed)
    rows = ((escape(kind), str(count), str(count - missed[kind])) for kind, count in counts.items())
    return table(("kind", "pairs", "found"), rows, title="repeats by what differs")


def _show(pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        why = agreement(pair.a, pair.b) or f"apart by {escape(_differing(pair))}"
        out.print(f"[bold]{pair.label}[/bold], judged {why}:", f"  {escape(pair.a)}", f"  {escape(pair.b)}", sep="\n")


def _differing(pair: Pair) -> str:
    """The words that only one of two texts has; those that have the same ones differ in names or their order."""
    a, b = (Counter(read(text).words) for text in (pair.a, pair.b))
    return ", ".join((a - b) | (b - a)) or "names or order"
