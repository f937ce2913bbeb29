"""What the form of a text tells, the same whether it was read before or not."""

from __future__ import annotations

import pytest

from services.shared.language.analysis import telling_terms
from services.shared.language.traits import ByText, Traits, asks_only_for, is_mere_question, traits_of

NO_FORM = Traits(ends_in_question=False, length=0, names_time=False, has_number=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I rowed 3 miles on Monday alone", {"names_time": True, "has_number": True}),
        ('"Is it far?"', {"ends_in_question": True}),
        ("Across the Danube", {}),
        ("Rowed in May", {"names_time": True}),
    ],
)
def test_the_form_of_a_text(text: str, told: dict[str, bool]) -> None:
    form = NO_FORM._replace(**told)._replace(length=len(text.split()))
    assert [traits_of(text), traits_of(text)] == [form, form]


def test_who_reads_knows_what_was_read() -> None:
    read = ByText(len)
    assert [read.knows("a row"), read("a row"), read.knows("a row"), read.knows("another")] == [False, 5, True, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which bike did I buy?", True),
        ("Which red bike did I buy?", False),
        ("I bought a bike. Which bike did I buy?", False),
        ("Which bike did I buy", True),
        ("Which bike I buy", False),
        ("Which bike do I like best?", True),
        ("Which bike should I take to Bruges?", False),
        ("What do I like best?", False),
    ],
)
def test_a_single_question_asks_only_for_what_was_asked(text: str, expected: bool) -> None:
    terms = telling_terms("Which bike did I buy in Ghent?")
    assert [asks_only_for(text, terms) for _ in range(2)] == [expected, expected]
    assert not asks_only_for("Which bike did I buy?", telling_terms("Which boat?"))


@pytest.mark.parametrize(
    "text",
    [
        "where does gabi live",
        "so when is the dentist",
        "what books have I read",
        "what's my name",
        "how many kids do I have",
        "do i have a dog",
        "Is it far?",
    ],
)
def test_a_question_is_one_without_its_mark_too(text: str) -> None:
    assert is_mere_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "where I live it rains",
        "what I have is a Volvo",
        "what was great was the food",
        "what is annoying is that my bike broke",
        "which is why I left",
        "did the laundry today",
        "do it tomorrow",
        "Will is my brother",
        "where is my bike. I had it yesterday",
        "I sold the bike. Where is the key?",
    ],
)
def test_what_states_something_is_no_mere_question(text: str) -> None:
    assert not is_mere_question(text)
