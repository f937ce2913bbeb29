"""Corrections that name nothing: which value of what was said before they change, if any."""

from __future__ import annotations

import pytest

from services.shared.core.corrections import corrects_unnamed, may_correct_unnamed

FLIGHT, SON, MEETING = "My flight leaves at 9:10.", "My son is called Kiko.", "The meeting is on Tuesday, 12 March."


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (FLIGHT, "No, it is 8:40"),
        (FLIGHT, "sorry, 8:40"),
        (FLIGHT, "No, it's at 8:40, not 9:10."),
        (f"I fly to Oslo. {FLIGHT}", "Wait, it is 8:40"),
        (SON, "no, his name is Kiki"),
        (SON, "Sorry, he's called Kiki."),
        (MEETING, "oops, Wednesday"),
        (MEETING, "Actually, the 13th."),
        ("I was born in 1980.", "I meant 1981."),
        ("My rent is 800 euros.", "Sorry, 850 euros."),
        ("Our room is number 12.", "oh sorry, it's number 21"),
    ],
)
def test_another_value_of_the_same_kind_corrects(before: str, text: str) -> None:
    assert may_correct_unnamed(text)
    assert corrects_unnamed(before, text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (FLIGHT, "No, it is 9:10."),
        (FLIGHT, "No, it is 3 hours"),
        (FLIGHT, "No, it is 8:40?"),
        (FLIGHT, "It is 8:40"),
        (FLIGHT, "No, thanks"),
        (FLIGHT, f"No, it is 8:40 {'and so on ' * 10}"),
        ("Does my flight leave at 9:10?", "No, at 8:40"),
        ("My flight leaves at 9:10 and lands at 11:30.", "No, at 8:40"),
        ("My flight leaves at 9:10. My bus leaves at 9:30.", "No, at 8:40"),
        (MEETING, "No, on Tuesday"),
        (SON, "no, his name is Kiko"),
        ("I like tea.", "no, his name is Kiki"),
        ("I like tea.", "No, it is coffee"),
        ("I have 2 kids.", "No, they are 5 and 7"),
        ("I have 3 cats.", "No, it was 2 days ago"),
        ("I live at 12 Main Street.", "Sorry, wrong chat"),
    ],
)
def test_what_may_mean_something_else_corrects_nothing(before: str, text: str) -> None:
    assert not corrects_unnamed(before, text)
