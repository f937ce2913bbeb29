"""The terms of the lexical index."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.core import analysis
from services.shared.core.analysis import LONGEST_TERM, STOP_WORDS, analyze, analyze_query


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("I prefer uv over pip", ["i", "prefer", "uv", "over", "pip"]),
        ("John’s dogs are RUNNING", ["john", "dog", "run"]),
        ("The cat is not in the house", ["cat", "hous"]),
        ("snake_case", ["snake", "case", "snake_case"]),
        ("v1.2.3", ["v1", "2", "3", "v1.2.3"]),
        ("at 10:30", ["10", "30", "10:30"]),
        ("node.js and C++", ["node", "js", "node.js", "c", "c++"]),
        ("don't", ["don't"]),
        ("我喜欢茶", ["我", "喜", "欢", "茶"]),
        ("हिन्दी", ["हिन्दी"]),
        ("１２", ["12"]),
        ("the of and", []),
        ("?!", []),
    ],
)
def test_a_text_gives_these_terms(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


def test_the_stop_words_are_lucenes_thirty_three() -> None:
    assert len(STOP_WORDS) == 33
    assert analyze(" ".join(STOP_WORDS)) == []


@given(st.text())
def test_terms_never_hold_white_space_quotes_or_control_characters(text: str) -> None:
    for term in analyze(text):
        assert term
        assert not any(c.isspace() or c == '"' or ord(c) < 32 or 127 <= ord(c) < 160 for c in term)


@given(st.text(alphabet="ab1_.' -", max_size=60))
def test_case_does_not_change_the_terms(text: str) -> None:
    assert analyze(text.upper()) == analyze(text)


def test_a_run_without_end_is_split_and_stays_out_of_the_cache() -> None:
    analysis._terms.cache_clear()
    terms = analyze("x" * 1000 + "é" * 1000)
    assert len(terms) == 8
    assert max(map(len, terms)) <= LONGEST_TERM
    assert analysis._terms.cache_info().currsize == 0


def test_threads_agree_on_the_terms() -> None:
    words = [f"running{suffix} relational{suffix} conditions{suffix}" for suffix in "abcdefghijklmnopqrstuvwxyz"]
    alone = [analyze(text) for text in words]
    analysis._terms.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(analyze, words * 40))
    assert together == alone * 40


def test_words_that_only_ask_are_not_looked_for() -> None:
    assert analyze_query("What did you say about my bikes?") == ["sai", "bike"]


def test_a_query_of_nothing_but_asking_words_is_taken_as_it_is() -> None:
    assert analyze_query("who am I") == analyze("who am I") != []
