"""Token counts are those of cl100k_base, and a cut text is a prefix that fits."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.tokens import Cl100kCounter

counter = Cl100kCounter()
any_text = st.text(max_size=200) | st.text(alphabet=" \n\t'\"abcdfst019é日🙂👩\u200d", max_size=80)


def test_counts_are_those_of_cl100k_base() -> None:
    texts = ("", "hello world", "antidisestablishmentarianism", "2 + 2 = 4", "お誕生日おめでとう")
    assert [counter.count(text) for text in texts] == [0, 2, 6, 7, 9]


def test_special_tokens_in_a_text_are_plain_text() -> None:
    assert counter.count("<|endoftext|>") > 1


def test_unpaired_surrogates_are_counted_and_cut() -> None:
    hostile = "a\ud800b " * 10
    assert counter.count(hostile) > 0
    assert hostile.startswith(counter.cut(hostile, 5))


@given(any_text, st.integers(min_value=0, max_value=60))
def test_a_cut_is_a_prefix_of_at_most_the_limit(text: str, limit: int) -> None:
    cut = counter.cut(text, limit)
    assert text.startswith(cut)
    assert counter.count(cut) <= limit


@given(any_text)
def test_a_text_that_fits_is_not_cut(text: str) -> None:
    assert counter.cut(text, counter.count(text)) == text


@given(st.text(alphabet="abc defg,.", min_size=1, max_size=200), st.integers(min_value=1, max_value=20))
def test_a_cut_of_plain_words_uses_the_whole_limit(text: str, limit: int) -> None:
    assert counter.count(counter.cut(text, limit)) == min(limit, counter.count(text))


def test_a_character_of_several_tokens_is_kept_whole_or_left_out() -> None:
    assert counter.cut("🙃🙃", 1) == ""
    assert counter.cut("🙃🙃", counter.count("🙃") + 1) == "🙃"


@pytest.mark.parametrize("limit", [0, -3])
def test_nothing_fits_into_no_tokens(limit: int) -> None:
    assert counter.cut("hello", limit) == ""


def test_cutting_a_megabyte_takes_less_than_a_second_of_the_processor() -> None:
    text = "remember the milk, " * 55_000
    started = time.thread_time()
    assert counter.count(counter.cut(text, 1000)) == 1000
    assert time.thread_time() - started < 1
