"""`memorybus bench facts`: how well facts are told from what only looks like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from services.bench.pairs import PairsFile, Quality, WrongOption, labelled_pairs, pairs_or_fail
from services.cli.common import out
from services.shared.core.facts import facts_in

EPILOG = """Examples:\n
  memorybus bench facts tests/quality/facts.tsv\n
  memorybus bench facts tests/quality/facts_held_out.tsv --wrong
"""

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_NONE = "-"


@validated(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Sentence:
    """What makes a sentence easy or hard, its facts as "slug.slot=value" joined by " + ", or "-", and what is said."""

    kind: str = Field(min_length=1)
    facts: str = Field(min_length=1)
    text: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence, the facts in it, and those that the rules find."""

    sentence: Sentence
    there: frozenset[str]
    found: frozenset[str]


def read_sentences(path: Path) -> list[Sentence]:
    """The sentences of a tab-separated file with the columns kind, facts and text; see `labelled_pairs`."""
    return labelled_pairs(path, Sentence, ("slug.slot=value", _NONE))


def judged(sentences: Sequence[Sentence]) -> list[Judged]:
    """What the rules find in sentences of a user."""
    return [Judged(one, _labelled(one.facts), _found(one.text)) for one in sentences]


def _labelled(facts: str) -> frozenset[str]:
    return frozenset(fact.casefold() for fact in facts.split(" + ") if fact != _NONE)


def _found(text: str) -> frozenset[str]:
    facts = facts_in(text, role="user", speaker=None, said_at=_NOW)
    keys = [(fact.memory_key.split("|", 2)[2].replace("|", "."), fact.value) for fact in facts]
    return frozenset(f"{key}={value}".casefold() for key, value in keys)


def quality(results: Sequence[Judged]) -> Quality:
    """How well the facts of the sentences are found."""
    return Quality(
        there=sum(len(one.there) for one in results),
        found=sum(len(one.found) for one in results),
        right=sum(len(one.there & one.found) for one in results),
    )


def facts(file: PairsFile, wrong: WrongOption = False) -> None:
    """Judge labelled sentences: which facts does a user state in them?"""
    results = judged(pairs_or_fail(file, read_sentences))
    out.print(_summary(results))
    for one in results if wrong else ():
        if one.found != one.there:
            out.print(f"[bold]{escape(one.sentence.kind)}[/bold]: {escape(one.sentence.text)}")
            out.print(f"  missed {_listed(one.there - one.found)}, wrongly found {_listed(one.found - one.there)}")


def _listed(facts: frozenset[str]) -> str:
    return escape("; ".join(sorted(facts)) or "nothing")


def _summary(results: Sequence[Judged]) -> Table:
    table = Table(title=f"{len(results)} sentences, {sum(not one.there for one in results)} without a fact")
    for column in ("facts", "found", "precision", "recall"):
        table.add_column(column, justify="right")
    of = quality(results)
    table.add_row(str(of.there), str(of.found), f"{of.precision:.3f}", f"{of.recall:.3f}")
    return table
