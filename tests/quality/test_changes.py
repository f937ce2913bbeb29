"""Changes on labelled pairs, as the built-in model tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.bench.changes import judged, quality, read_pairs
from services.shared.embedders.minilm import ReadingMiniLmEmbedder
from services.shared.settings import Settings

HERE = Path(__file__).parent
FLOORS = {"changes": (0.9, 0.7), "changes_held_out": (0.83, 0.62)}
"""Least precision and recall, a little below what was measured when they were set."""
FILES = [HERE / f"{name}.tsv" for name in FLOORS]


@pytest.fixture
async def reader() -> AsyncIterator[ReadingMiniLmEmbedder]:
    opened = await ReadingMiniLmEmbedder.open(Settings().cache)
    yield opened
    await opened.close()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_updates_are_told_from_what_only_looks_like_them(file: Path, reader: ReadingMiniLmEmbedder) -> None:
    found = quality(await judged(read_pairs(file), reader), "update")
    precision, recall = FLOORS[file.stem]
    assert found.precision >= precision
    assert found.recall >= recall


def test_there_are_as_many_pairs_as_promised() -> None:
    pairs = [pair for file in FILES for pair in read_pairs(file)]
    assert len({(pair.old, pair.new) for pair in pairs}) == len(pairs) >= 250
