"""Words one typing error apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language.analysis import analyze, stems
from services.shared.language.language import STOP_WORDS
from services.shared.language.typing_errors import correctable, is_likely, meant_by, respelled, variants

WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=24)
PLAIN = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("typed", ["aventure", "advennture", "advanture", "advneture", "dventure", "adventurea"])
def test_an_error_is_undone(typed: str) -> None:
    assert "adventure" in variants(typed)


def test_a_word_is_not_taken_for_a_very_short_one() -> None:
    assert "kia" not in variants("kira")
    assert "kiara" in variants("kira")


@pytest.mark.parametrize(("typed", "meant"), [("cafe", "café"), ("собакы", "собаки"), ("muhle", "mühle")])
def test_errors_are_undone_in_letters_beyond_ascii(typed: str, meant: str) -> None:
    assert meant in variants(typed)


@pytest.mark.parametrize(
    ("word", "other", "likely"), [("neice", "niece", True), ("norah", "nora", True), ("neice", "nice", False)]
)
def test_letters_are_swapped_and_ends_missing_more_often_than_other_letters(
    word: str, other: str, likely: bool
) -> None:
    assert is_likely(word, other) == likely


@pytest.mark.parametrize(
    ("query", "other", "expected"),
    [
        ("Where does Dora live?", "nora", False),
        ("Where does Dora live?", "dorma", True),
        ("Where does Dora live?", "odra", True),
        ("where does dora live?", "nora", True),
    ],
)
def test_a_name_with_another_first_letter_is_of_somebody_else(query: str, other: str, expected: bool) -> None:
    assert meant_by("dora", [other], query) == ([other] if expected else [])


@given(WORDS)
def test_an_error_can_be_made_and_undone(word: str) -> None:
    near = variants(word)
    assert word not in near
    assert all(word in variants(other) for other in sorted(near)[::40] if set(other) <= set(PLAIN))
    assert len(near) <= 86 * len(word) + 30


@given(st.lists(WORDS, max_size=5))
def test_a_word_alone_has_the_stem_that_it_has_in_a_text(words: list[str]) -> None:
    english = "the and of to is"  # any one of the words may be a stop word of another language
    stemmed = [
        stem for word, stem in zip(words, stems(words, english), strict=True) if word not in STOP_WORDS["english"]
    ]
    assert analyze(" ".join((english, *words))) == stemmed


def test_only_whole_words_that_are_looked_for_are_corrected() -> None:
    query = "What did Ann's sister buy at 10:30 for snake_case, v1.2.3, C++ and the Größe?"
    assert list(correctable(query)) == ["sister", "grösse"]


@pytest.mark.parametrize("query", ["", "x" * 1_000_000, "\ud800 \udfff" * 300_000, "а" * 500_000, "我" * 300_000])
def test_hostile_queries_have_little_to_correct(query: str) -> None:
    assert correctable(query) == {}


def test_a_query_is_respelled_whatever_the_case_and_only_in_whole_words() -> None:
    assert respelled("Bikke? My bikke-ride, bikkes", {"bikke": "bike"}) == "bike? My bike-ride, bikkes"
