"""What looks alike and differs in one sign, number, name or capital, and what only looks different."""

from collections import Counter
from pathlib import Path

import pytest

from services.bench.duplicates import Merges, judged, read_pairs
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import fingerprint
from services.shared.dedup.similarity import agreement, same_statement

PAIRS = read_pairs(Path(__file__).with_name("lookalikes.tsv"))
KINDS = {
    *("address", "bracket", "operator", "sign", "unit", "mood", "negation", "name", "capital", "code", "foreign"),
    "light",
}


@pytest.fixture(scope="module")
def quality() -> Merges:
    """What the rule of memorybus makes of the pairs."""
    return judged(PAIRS, same_statement)


def test_every_kind_of_difference_has_its_share() -> None:
    counts = Counter(pair.kind for pair in PAIRS if pair.label == "conflicting")
    assert counts.keys() == KINDS
    assert min(counts.values()) >= 8
    assert sum(pair.label == "repeated" for pair in PAIRS) >= 90


def test_nothing_that_differs_is_merged(quality: Merges) -> None:
    assert quality.wrong == ()


def test_what_only_looks_different_is_merged(quality: Merges) -> None:
    assert quality.recall >= 0.95


def test_the_order_of_the_two_texts_does_not_matter() -> None:
    assert [pair for pair in PAIRS if agreement(pair.a, pair.b) != agreement(pair.b, pair.a)] == []


def test_what_is_the_same_has_the_same_statement_hash() -> None:
    def hash_of(text: str) -> str:
        reading = read(text)
        return fingerprint(reading.normal, reading.words).statement_hash

    assert [pair for pair in PAIRS if same_statement(pair.a, pair.b) and hash_of(pair.a) != hash_of(pair.b)] == []


HASHED_ALIKE = {"capital", "name", "unit", "code"}
"""Kinds told apart by capitals and names, which a hash must leave out: in small letters it is one statement."""


def test_what_is_forgotten_refuses_nothing_that_differs_in_more_than_capitals_and_names() -> None:
    alike = [pair for pair in PAIRS if pair.label == "conflicting" and read(pair.a).words == read(pair.b).words]
    assert [pair for pair in alike if pair.kind not in HASHED_ALIKE] == []
