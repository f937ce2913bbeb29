"""One form for characters: folded, with letters and their accents as one; and what was read of short texts is known."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language.text import composed, fold, remembered, why_unfit


def test_what_was_read_of_a_short_text_is_known_and_hostile_lengths_are_not_kept() -> None:
    calls: list[str] = []

    @remembered(longest=4)
    def read(text: str) -> int:
        calls.append(text)
        return len(text)

    assert [read(text) for text in ("abcd", "abcd", "abcde", "abcde")] == [4, 4, 5, 5]
    assert calls == ["abcd", "abcde", "abcde"]


def test_folding_keeps_punctuation_but_neither_case_nor_curly_apostrophes() -> None:
    assert fold("DON’T! x²") == "don't! x^2"


@pytest.mark.parametrize(
    "text", ["Käthe", "Düsseldorf", "İlker", "Алёна", "йод", "가나각", "がぎ", "tiếng Việt", "Ελένη", "naïve café"]
)
def test_letters_and_accents_that_are_apart_are_read_as_one(text: str) -> None:
    assert composed(unicodedata.normalize("NFD", text)) == composed(text) == text


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("aeéo\u0301\u0308\u0323각か\u3099कि\u0958Å"))))
def test_a_text_that_is_composed_stays_the_same_text_and_becomes_no_longer(text: str) -> None:
    once = composed(text)
    assert composed(once) == once
    assert len(once.encode()) <= len(text.encode())
    assert unicodedata.normalize("NFD", once) == unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" \n\u3000", "the text is blank"),
        ("\u200b\u2060\u00ad", "the text is blank"),
        ("\u200b.", None),
        ("👍", None),
        ("é" * 5, "the text has 10 bytes, 9 are allowed"),
        ("é" * 4, None),
    ],
)
def test_a_text_of_which_nothing_is_seen_or_that_is_too_long_is_unfit(text: str, why: str | None) -> None:
    assert why_unfit(text, longest=9) == why
