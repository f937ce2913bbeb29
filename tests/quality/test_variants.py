"""Names of one person in labelled pairs: what is proposed, and what is joined without being asked about."""

from collections import Counter
from pathlib import Path

import pytest

from contracts.v1.entries import Entity, Entry
from services.shared.knowledge.people import people_of
from services.shared.knowledge.profile import slug_of
from tests.stores.builders import an_entry

HERE = Path(__file__).parent
FILES = [HERE / "variants.tsv", HERE / "variants_held_out.tsv"]


def pairs(file: Path) -> list[list[str]]:
    """Label, kind, the names, and what a user says of either."""
    return [line.split("\t") for line in file.read_text("utf-8").splitlines()[1:]]


def an_entry_with(text: str, names: list[str]) -> Entry:
    """One in which the longest of the names that stand there are recognized."""
    there = [name for name in names if name in text]
    longest = [name for name in there if not any(name != other and name in other for other in there)]
    return an_entry("me", text, entities=tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in longest))


def verdict(names: str, *texts: str) -> str:
    both = names.split(" / ")
    people = people_of((), [an_entry_with(text, both) for text in texts])
    asked = set(map(slug_of, both))
    if any(asked <= set(person.names) for person in people.persons):
        return "joined"
    return "proposed" if any({slug_of(one.one), slug_of(one.other)} == asked for one in people.proposals) else "apart"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_most_names_of_one_person_are_joined_or_proposed(file: Path) -> None:
    found = Counter((label, verdict(*row)) for label, _, *row in pairs(file))
    same = {how: found["same", how] for how in ("joined", "proposed", "apart")}
    assert same["joined"] + same["proposed"] >= 0.8 * sum(same.values())
    assert found["different", "joined"] <= 0.12 * sum(count for (label, _), count in found.items() if label != "same")


def test_there_are_as_many_pairs_as_promised() -> None:
    rows = [row for file in FILES for row in pairs(file)]
    assert len({tuple(row[3:]) for row in rows}) == len(rows) >= 200
    assert sum(label != "same" for label, *_ in rows) >= 0.45 * len(rows)
