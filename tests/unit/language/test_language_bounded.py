"""What no language has is cut short before it is read; what people write is read as it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language import bounded
from services.shared.language.bounded import as_read, masked
from services.shared.privacy.own_words import own_words

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME = "I live in Turku."
REPEATED = [
    *".,-;:>=*#(\"'“👍\n \t\u0301\u200d\u2028a中",
    *("A-", "a.b", "x=1;", "👍🏽", "a ", "not ", "no, ", "- [ ] ", "1. ", "a, b, ", "A, B and ", "it is. "),
]


@pytest.mark.parametrize("fragment", REPEATED)
def test_a_run_is_cut_whatever_is_repeated(fragment: str) -> None:
    text = (fragment * 8000)[:8000]
    assert len(as_read(text)) <= 160
    assert len(masked(text)) == 8000


@pytest.mark.parametrize("fragment", REPEATED)
def test_what_is_said_beside_a_run_is_read(fragment: str) -> None:
    text = f"{HOME}\n{(fragment * 3000)[:3000]}\n\nMy sister is called Anna."
    assert own_words(text).startswith(HOME)


@pytest.mark.parametrize(
    "text",
    [
        "Well.\n\n---\n\n" + HOME,
        "I am so, so, so happy!!! " * 3 + HOME,
        "ha ha ha ha ha, " + HOME + " " + "And it rains here all the time, which I do not mind at all.",
        "東京に住んでいます。妹はアンナです。" * 4 + "猫が二匹います。犬もいます。今日は雨です。明日も雨でしょう。",
        "- buy milk\n- buy bread\n- call Anna\n- pay the rent\n- water the plants\n- ring the bank\n- book a table\n"
        * 2,
        "My IBAN is DE89 3704 0044 0532 0130 00 and the hash is " + "0f" * 32 + " as far as I know, really.",
        "See https://example.org/" + "path/" * 20 + " for the map of where we are to meet on Friday evening.",
    ],
)
def test_what_people_write_is_read_as_it_is(text: str) -> None:
    assert len(text) > 20
    assert as_read(text) == masked(text) == text


SIGNS = ["\u3000", "\x1c", "，", "_", "    ", "\n" * 5]
WORDS = ["b", "b ", "to  ", "of\u3000the ", "x" * 40, "y" * 41]
FRAGMENTS = [*REPEATED, *SIGNS, *WORDS]
WORDINGS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=9).map("".join)
ROWS = st.builds(lambda wording, times: (wording * times)[:600], WORDINGS, st.integers(1, 9) | st.integers(20, 170))


@given(st.lists(ROWS | st.text(max_size=30), max_size=6).map("".join))
def test_only_what_has_no_runs_is_not_searched_for_them(text: str) -> None:
    """It is looked for with what tells most texts at once, which never says no where there is a run."""
    has_runs = bounded._RUNS.search(text) is not None
    assert bounded._may_have_runs(text) or not has_runs


@pytest.mark.parametrize("run", ["-" * 22, "\u3000" * 22, "a" * 161, "of the " * 7, "a\x1c" * 7])
def test_the_shortest_runs_are_cut(run: str) -> None:
    text = f"{HOME} {run} It rains here all the time, which I do not mind at all, and neither does my sister."
    assert as_read(text) != text
    assert as_read(text.replace(run, run[1:])) == text.replace(run, run[1:])
