"""One normal form for what differs only in case, punctuation, URLs or white space."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language.text import composed, fold, normalize

TRICKY = "ab15.,:-+~#'_$€<>=!%&[]/ ’²½–—①ﷺ´Åßŉ≤٣"
any_text = st.one_of(st.text(), st.text(alphabet=TRICKY))

SENTENCES = [
    "I prefer uv over pip",
    "My locker code is 4411, not 4412",
    "The dentist is at 10:30 on 2026-02-01",
    "I don't eat meat and it costs $3.50",
    "She writes C++ and C# in snake_case at -5 degrees",
]


@given(any_text)
def test_normalizing_twice_is_normalizing_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(any_text)
def test_white_space_is_folded_and_nothing_is_invented_from_nothing(text: str) -> None:
    assert normalize(text) == normalize(f"\n\t {text}  ")
    assert bool(normalize(text)) >= any(char.isalnum() for char in text)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize(
    "variant",
    [
        str.upper,
        str.title,
        lambda s: f"  {s}!!! ",
        lambda s: f'"{s}."',
        lambda s: f"({s}) …",
        lambda s: f"- {s};",
        lambda s: s.replace(" ", "  \n\t"),
        lambda s: s.replace(" ", ", ", 1),
        lambda s: s.replace("'", "’"),
        lambda s: f"{s} https://example.com/a?b=1#c",
        lambda s: f"WWW.example.org/x {s} HTTPS://EXAMPLE.COM",
        lambda s: f"{s} [1]. [2, 3]",
        lambda s: f"{s}【source 4】",
        lambda s: f"**{s}** \u200b",
    ],
)
def test_case_punctuation_urls_citations_and_white_space_do_not_matter(sentence: str, variant) -> None:  # type: ignore[no-untyped-def]
    assert normalize(variant(sentence)) == normalize(sentence)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("3.5", "35"),
        ("3.50", "3.5"),
        (".5", "5"),
        ("-5", "5"),
        ("~5", "5"),
        ("10:30", "1030"),
        ("10:30", "10.30"),
        ("2026-02-01", "20260201"),
        ("1/2", "12"),
        ("½", "12"),
        ("3½", "31/2"),
        ("10²", "102"),
        ("H₂O", "H2O"),
        ("$5", "€5"),
        ("-$5", "$5"),
        ("5 %", "5"),
        ("C++", "C"),
        ("C#", "C"),
        ("A+", "A"),
        ("a < b", "a > b"),
        ("x = 1", "x != 1"),
        ("don't", "do"),
        ("we're", "were"),
        ("it's", "its"),
        ("re-sign", "resign"),
        ("की", "का"),
        ("hi 👍", "hi 👎"),
        ("👍", "🎉"),
        ("?!", "!!"),
        ("https://example.com/a", "https://example.com/b"),
    ],
)
def test_what_carries_meaning_keeps_texts_apart(a: str, b: str) -> None:
    assert normalize(a) != normalize(b)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("I prefer UV — over pip!", "i prefer uv over pip"),
        ("Tom & Jerry", "tom and jerry"),
        ("$3.50 or 5%", "$ 3.50 or 5 %"),
        ("１０：３０ Ｕhr", "10:30 uhr"),
        ("Straße", "strasse"),
        ("well-known, 3–5 days", "well known 3-5 days"),
        ("我喜欢茶。https://example.com/是的", "我喜欢茶 是的"),
        ("?!", "?!"),
        ("", ""),
    ],
)
def test_the_normal_form_reads_as_expected(text: str, normal: str) -> None:
    assert normalize(text) == normal


def test_folding_keeps_punctuation_but_neither_case_nor_curly_apostrophes() -> None:
    assert fold("DON’T! x²") == "don't! x^2"


@pytest.mark.parametrize("piece", ["【", "[1", "a'", "_", "http://", "1.", "²", "\u200b", "[1,", "-", "é’", "\ud800"])
def test_hostile_text_of_64_kib_takes_little_time(piece: str) -> None:
    text = piece * (65536 // len(piece))
    started = time.process_time()
    normalize(text)
    assert time.process_time() - started < 3  # what is not linear takes minutes


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
