"""English statements taken apart: where a sentence and a clause end."""

from __future__ import annotations

import pytest

from services.shared.context.statements import clauses, without_retracted


@pytest.mark.parametrize(
    "text",
    [
        "My new dentist is Dr. Klein.",
        "Our neighbours are Mr. and Mrs. Hall.",
        "My supervisor is Prof. Dr. Burns",
        "We live near St. Pauli",
        "I avoid dairy, e.g. cheese",
        "I avoid dairy, i.e. cheese",
        "My locker is No. 48",
        "My rent is approx. 780.50 euros",
        "The party is on Nov. 20",
        "My team plays vs. Ajax",
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str) -> None:
    assert len(clauses(text)) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("No. My boss is Rita.", ["no", "my boss is rita"]),
        ("I said no. It rains.", ["i said no", "it rains"]),
        ("i live in graz. i work in wels.", ["i live in graz", "i work in wels"]),
        ("It costs 5.50. We paid.", ["it costs 5.50", "we paid"]),
        ("We won! My dentist is Dr. Klein; he is nice", ["we won", "my dentist is dr. klein", "he is nice"]),
        ("They finish in Nov. We move then.", ["they finish in nov", "we move then"]),
    ],
)
def test_any_other_full_stop_ends_one(text: str, found: list[str]) -> None:
    assert [clause.text for clause in clauses(text)] == found


@pytest.mark.parametrize("piece", [". ", "\n", "no. 5 ", ".\n\n\n 5", "e.g. ", " - "])
def test_a_text_of_any_length_is_taken_apart_quickly(piece: str) -> None:
    assert len(clauses.__wrapped__(piece * 20_000)) <= 2000


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I live in Leeds, I mean Leicester.", "I live in Leicester."),
        ("I live in New York, sorry, Boston", "I live in Boston"),
        ("I live in Leeds. No wait, Leicester.", "I live in Leicester."),
        ("I work at Tesco... scratch that, Asda", "I work at Asda"),
        ("My birthday is 3 June, no, 3 July.", "My birthday is 3 July."),
        ("My rent is 800 euros, sorry, 850 euros", "My rent is 850 euros"),
        ("I'm vegetarian - no I lie, pescatarian.", "I'm pescatarian."),
        ("My boss is Mrs Okoro, sorry, Mrs Okafor.", "My boss is Mrs Okafor."),
        ("We leave at 8:30, er, 8:40", "We leave at 8:40"),
        ("i live in leeds, sorry, bradford", "i live in bradford"),
        ("Lorna lives in Whitby. No, I tell a lie, Scarborough.", "Lorna lives in Scarborough."),
        ("My birthday is 4 May. Not really, its 5 May", "My birthday is 5 May"),
    ],
)
def test_what_is_taken_back_on_the_spot_was_never_said(text: str, left: str) -> None:
    assert len(without_retracted(text)) == len(text)
    assert without_retracted(text).split() == left.split()


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to nuts, sorry, I have to run",
        "Hi Sam, sorry, Tuesday",
        "I live in Leeds, no doubt about it.",
        "My brother is Tom, no, not Tim.",
        "I like green, no, really",
        "We meet at noon, sorry, Leeds",
        "Sorry, Leeds",
        "I have a cat. No dog.",
    ],
)
def test_what_only_follows_a_no_or_a_sorry_takes_nothing_back(text: str) -> None:
    assert without_retracted(text) == text


@pytest.mark.parametrize("piece", [", no, ", "a, sorry, ", "A, no wait, ", ", no A", "- "])
def test_what_is_taken_back_is_looked_for_quickly(piece: str) -> None:
    assert len(without_retracted(piece * 500)) == len(piece) * 500
