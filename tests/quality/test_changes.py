"""Changes and contradictions on labelled pairs: half of them was not looked at while the rules were written."""

from pathlib import Path

import pytest

from services.bench.changes import judged, quality, read_pairs
from services.shared.core.claims import is_change
from services.shared.core.updates import relation

HERE = Path(__file__).parent
FILES = [HERE / "changes.tsv", HERE / "changes_held_out.tsv"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_updates_are_told_from_what_only_looks_like_them(file: Path) -> None:
    results = judged(read_pairs(file))
    assert quality(results, "update").precision >= 0.98
    assert quality(results, "update").recall >= 0.7
    assert quality(results, "contradiction").precision >= 0.85


def test_there_are_as_many_pairs_as_promised() -> None:
    pairs = [pair for file in FILES for pair in read_pairs(file)]
    assert len({(pair.old, pair.new) for pair in pairs}) == len(pairs) >= 250


@pytest.mark.parametrize(
    "text",
    [
        "My dentist appointment is on Tuesday",
        "Has my dentist appointment moved to Thursday?",
        "I might move my dentist appointment to Thursday",
        'She said "my dentist appointment has moved to Thursday"',
        "",
        "?!",
    ],
)
def test_only_what_is_said_outright_is_a_change(text: str) -> None:
    assert not is_change(text)


def test_a_text_of_any_length_is_read_quickly() -> None:
    hostile = "my " * 30_000 + "has moved to " * 30_000 + "instead of" * 1000
    assert relation(hostile, hostile) in ("update", "contradiction", "compatible", "unrelated")
