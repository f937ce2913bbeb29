"""What the form of a text tells, the same whether it was read before or not."""

from __future__ import annotations

import pytest

from services.shared.core.analysis import telling_terms
from services.shared.core.traits import Traits, asks_only_for, traits_of


def test_the_form_of_a_text() -> None:
    told = Traits(ends_in_question=False, length=7, in_first_person=True, names_time=True, has_number=True)
    assert traits_of("I rowed 3 miles on Monday, alone") == told
    asked = Traits(ends_in_question=True, length=3, in_first_person=False, names_time=False, has_number=False)
    assert [traits_of('"Is it far?"'), traits_of('"Is it far?"')] == [asked, asked]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which bike did I buy?", True),
        ("  What about the bikes?  ", True),
        ("Which red bike did I buy?", False),
        ("I bought a bike. Which bike did I buy?", False),
        ("Which bike did I buy", False),
        ("Which bike do I like best?", True),
        ("Which bike should I take to Bruges?", False),
        ("What do I like best?", False),
    ],
)
def test_a_single_question_asks_only_for_what_was_asked(text: str, expected: bool) -> None:
    terms = telling_terms("Which bike did I buy in Ghent?")
    assert [asks_only_for(text, terms) for _ in range(2)] == [expected, expected]
    assert not asks_only_for("Which bike did I buy?", telling_terms("Which boat?"))
