"""Of which time a question is."""

import pytest

from services.shared.temporal.asked_times import asks_for_former, asks_for_latest


@pytest.mark.parametrize(
    ("question", "is_latest"),
    [
        ("What is my present address?", True),
        ("Who is my landlord at present?", True),
        ("Which present did I buy for Ida?", False),
        ("Where is the birthday present?", False),
        ("What is my present for Tom?", False),
    ],
)
def test_a_present_is_no_present_state(question: str, is_latest: bool) -> None:
    assert asks_for_latest(question) is is_latest


@pytest.mark.parametrize(
    ("question", "is_former"),
    [
        ("When was the standup first planned?", True),
        ("what did we originally agree on?", True),
        ("When is the standup?", False),
    ],
)
def test_what_was_so_at_first_is_asked_for_in_words(question: str, is_former: bool) -> None:
    assert asks_for_former(question) is is_former
