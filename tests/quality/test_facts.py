"""What the built-in reader tells of labelled sentences as facts: half of these it has not learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from contracts.v1.claims import Reading
from services.shared.embedders.minilm import BATCH, ReadingMiniLmEmbedder
from services.shared.knowledge.facts import known_of
from services.shared.reading.matching import Noted, told_right
from tests.stores.builders import NOON, an_entry

HERE = Path(__file__).parent
FLOORS = {"facts": (0.83, 0.78), "facts_held_out": (0.67, 0.78)}
"""Least precision and recall, a little below what was measured when they were set."""
FILES = [HERE / f"{name}.tsv" for name in FLOORS]


class Sentence(NamedTuple):
    """What makes it easy or hard, its facts as "slug.slot=value" joined by " + ", or "-", and what is said."""

    kind: str
    facts: str
    text: str

    @property
    def noted(self) -> list[Noted]:
        """The values in it, with what each is a value of."""
        told = [fact.partition("=") for fact in self.facts.split(" + ") if fact != "-"]
        return [Noted(value, key.rpartition(".")[2]) for key, _, value in told]


def sentences(file: Path) -> list[Sentence]:
    return [Sentence(*line.split("\t")) for line in file.read_text("utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingMiniLmEmbedder]:
    opened = asyncio.run(ReadingMiniLmEmbedder.open(tmp_path_factory.mktemp("models")))
    yield opened
    asyncio.run(opened.close())


async def read(reader: ReadingMiniLmEmbedder, texts: list[str]) -> list[Reading]:
    found: list[Reading] = []
    for begin in range(0, len(texts), BATCH):
        found += (await reader.embed_and_read(texts[begin : begin + BATCH]))[1]
    return found


def told(text: str, reading: Reading) -> list[str]:
    """The values that a profile tells of it as facts, with whose they are."""
    known, _ = known_of([an_entry("ann", text, claims=reading.claims)], now=NOON)
    return [f"{one.fact.value} {one.fact.whose}" for one in known if one.fact.state == "sure"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_facts_are_told_from_what_only_looks_like_them(reader: ReadingMiniLmEmbedder, file: Path) -> None:
    rows = sentences(file)
    readings = await read(reader, [row.text for row in rows])
    matches = [told_right(told(row.text, one), row.noted) for row, one in zip(rows, readings, strict=True)]
    found = [match for its in matches for match in its]
    right = len([match for match in found if match.claim is not None])
    precision, recall = FLOORS[file.stem]
    assert sum(match.is_right for match in found) >= precision * len(found) > 0
    assert right >= recall * sum(len(row.noted) for row in rows)


def test_half_of_as_many_sentences_as_promised_are_traps() -> None:
    rows = [row for file in FILES for row in sentences(file)]
    assert len({row.text for row in rows}) == len(rows) >= 400
    assert sum(row.facts == "-" for row in rows) >= len(rows) / 2
