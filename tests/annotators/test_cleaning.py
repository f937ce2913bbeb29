"""What a small model takes for a name in chat, and what is left of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.shared.annotators.cleaning import LONGEST, clean_name, clean_phrase


@pytest.mark.parametrize(
    ("text", "label", "kept"),
    [
        ("Priya", "PERSON", "Priya"),
        ("Hey Priya", "PERSON", "Priya"),
        ("oh wow, Priya!!", "PERSON", "Priya"),
        ("Bye Priya.", "ORG", "Priya"),
        ("Ed Sheeran's", "PERSON", "Ed Sheeran"),
        ("Priya’s", "PERSON", "Priya"),
        ("“The Left Hand of Darkness”-", "WORK_OF_ART", "The Left Hand of Darkness"),
        ("New\n  York", "GPE", "New York"),
        ("berlin", "GPE", "berlin"),
        ("next tuesday", "DATE", "next tuesday"),
        ("$1,200", "MONEY", "$1,200"),
        ("15%", "PERCENT", "15%"),
        ("日本", "ORG", "日本"),
        ("Congrats", "NORP", None),
        ("Glad", "PERSON", None),
        ("Tulip!88", "PERSON", None),
        ("Anne-Marie O’Neill Jr.", "PERSON", "Anne-Marie O’Neill Jr"),
        ("kinda nerve", "PERSON", None),
        ("🙂🙂", "ORG", None),
        ("...", "CARDINAL", None),
        ("", "PERSON", None),
        ("A" * (LONGEST + 1), "ORG", None),
    ],
)
def test_names_lose_what_does_not_belong_to_them(text: str, label: str, kept: str | None) -> None:
    assert clean_name(text, label) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hey Priya", "Priya"),
        ("adoption agency", "adoption agency"),
        ("Wow", None),
        ("yeah thanks", None),
        ("hidden yosemite", "hidden yosemite"),
        ("—", None),
    ],
)
def test_phrases_lose_greetings_and_fillers(text: str, kept: str | None) -> None:
    assert clean_phrase(text) == kept


@example("0 's")
@given(st.text(max_size=150) | st.text(alphabet="Hey Mel,'s!? \n-", max_size=40))
def test_what_is_kept_is_short_says_something_and_stays_as_it_is(text: str) -> None:
    kept = clean_name(text, "GPE")
    if kept is not None:
        assert 0 < len(kept) <= LONGEST
        assert any(character.isalnum() for character in kept)
        assert kept == kept.strip()
        assert "\n" not in kept
    phrase = clean_phrase(text)
    assert phrase is None or clean_phrase(phrase) == phrase
