"""What is shown of a long text: on one line, within the limit, and the part that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.context.passages import _spots, excerpt, passage, snippet
from services.shared.language.analysis import telling_terms

WEEK = (
    "Sure! Here are some ideas for the week. Monday: pasta with pesto and peas. Tuesday: a lentil soup, which keeps "
    "well. Wednesday: grilled salmon with rice. Thursday: shakshuka with feta. Friday: pizza from the stone oven. If "
    "you want something quick, an omelette is always fine; and for guests a lamb tagine with apricots."
)


@given(st.text(max_size=400), st.lists(st.text(max_size=8), max_size=5), st.integers(0, 80))
def test_a_snippet_is_one_line_and_all_are_within_their_limit(text: str, terms: list[str], limit: int) -> None:
    assert len(passage(text, terms, limit)) <= limit
    assert len(excerpt(text, terms, limit)) <= limit
    found = snippet(text, limit)
    flat = " ".join(text.split())
    assert len(found) <= limit
    assert found == flat or (len(flat) > limit and (limit == 0 or found.endswith("…")))


def test_a_snippet_is_cut_between_words() -> None:
    assert snippet("I prefer\nuv over  pip", 12) == "I prefer uv…"
    assert snippet("abcdefghij", 4) == "abc…"


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Which soups?", "…Tuesday: a lentil soup, which keeps well. Wednesday: grilled salmon with rice.…"),
        ("What was it with salmon?", "…Wednesday: grilled salmon with rice. Thursday: shakshuka with feta. Friday:…"),
        ("What do I cook for guests?", "…and for guests a lamb tagine with apricots."),
        ("", "Sure! Here are some ideas for the week. Monday: pasta with pesto and peas.…"),
    ],
)
def test_the_part_that_was_asked_for_is_shown_from_the_beginning_of_its_sentence(question: str, shown: str) -> None:
    assert passage(WEEK, telling_terms(question), 80) == shown


words = st.sampled_from(
    ["salmon", "Salmon's", "rice", "rices", "tea.", "a", "!", "\n", "lamb", "[x]", "(", "東京", "ſalmon"]
)


@given(
    st.lists(words, max_size=200),
    st.lists(st.sampled_from(["salmon", "rice", "lamb", "(", "東京"])),
    st.integers(12, 120),
)
def test_a_passage_is_one_line_within_its_limit_with_a_term_when_there_is_one(
    said: list[str], terms: list[str], limit: int
) -> None:
    shown = passage(" ".join(said), terms, limit)
    assert len(shown) <= limit
    assert shown == " ".join(shown.split())
    if len(" ".join(" ".join(said).split())) <= limit:
        assert shown == " ".join(" ".join(said).split())
    for term in ("salmon", "lamb"):
        if term in terms and set(terms) == {term} and term in said:
            assert term in shown.lower()


@given(st.lists(words, max_size=120), st.lists(st.sampled_from(["salmon", "rice", "lamb", "東京"]), min_size=1))
def test_a_short_text_is_searched_as_a_long_one(said: list[str], terms: list[str]) -> None:
    """Of words in plain letters, which one begins as a term does is the same with a pattern and without."""
    text = " ".join(said).replace("ſ", "s")
    both = [_spots(f"{text}{' .' * filling}", terms) for filling in (0, 1000)]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("text", "question", "limit", "shown"),
    [
        (
            "Wash the pan. Chop an onion, finely. Simmer the lentils for 25 minutes. Serve with bread and a salad.",
            "How long do lentils simmer?",
            45,
            "…Simmer the lentils for 25 minutes. Serve…",
        ),
        (
            "Wash the lentils till the water is clear. Simmer the lentils for 25 minutes with the lid on. Serve them.",
            "How long must the lentils simmer?",
            60,
            "…Simmer the lentils for 25 minutes with the lid on. Serve…",
        ),
        (
            "We met in May. The landlord, who lives next door, wants the rent by the third of every month or earlier.",
            "landlord?",
            40,
            "…The landlord, who lives next door,…",
        ),
    ],
)
def test_the_sentence_that_answers_is_shown_to_its_end_where_it_has_room(
    text: str, question: str, limit: int, shown: str
) -> None:
    assert passage(text, telling_terms(question), limit) == shown


def test_an_excerpt_keeps_lines_and_begins_with_one() -> None:
    code = "import csv\nimport sys\ndef total(rows):\n    return sum(rows)\nprint(total([1, 2, 3]))\nsys.exit(0)"
    assert (
        excerpt(code, ["return", "print"], 70) == "…\ndef total(rows):\n    return sum(rows)\nprint(total([1, 2, 3]))…"
    )


@given(st.lists(words, max_size=200), st.lists(st.sampled_from(["salmon", "rice", "lamb"])), st.integers(0, 120))
def test_an_excerpt_has_nothing_but_marks_that_the_text_has_not(said: list[str], terms: list[str], limit: int) -> None:
    text = " ".join(said)
    shown = excerpt(text, terms, limit)
    assert len(shown) <= limit
    assert shown.removeprefix("…\n").removeprefix("…").removesuffix("…") in text
