"""Where a statement of what is so now ends, and what the one after it says of what was."""

from __future__ import annotations

import pytest

from services.shared.core.updates import relation

CELLO = "I play the cello."
GREEN = "My favourite colour is green."
NOOR = "My daughter Noor goes to school in Leiden."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My boss is Wanda.", "My boss is Tim now, Wanda has left. Help me write a welcome note in German."),
        ("My dentist is Dr Lund.", "My dentist is Dr Berg now, she is closer."),
        ("My flatmate is Ivo.", "My flatmate is Lea now, Ivo left in May."),
        (GREEN, "My favourite colour is pink now, it used to be green."),
        (GREEN, "my favourite colour used to be green, now it's pink"),
        ("My desk is oak.", "My desk used to be oak, now it is pine."),
        (NOOR, "My daughter Noor goes to school in Paris now, we need a tutor."),
        ("My son Ben goes to kindergarten in Ulm.", "My son Ben goes to kindergarten in Bonn now."),
        (CELLO, "I play the banjo now, no more cello."),
        (CELLO, "I gave up the cello and play the banjo now. Any good teachers?"),
        ("I drive a Volvo.", "I sold the Volvo and ride a bike now."),
    ],
)
def test_a_statement_of_now_ends_where_another_one_begins(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CELLO, "I play the banjo now."),
        (CELLO, "I play the banjo now, you know."),
        (CELLO, "My brother plays the banjo now, no more cello."),
        (CELLO, "No more cello, please."),
        ("I drink coffee.", "I gave up wine and drink coffee now."),
        (NOOR, "My son Ben goes to school in Paris now, we need a tutor."),
        ("I have friends in Leiden.", "I have friends in Paris now."),
        (GREEN, "My favourite dish used to be curry, now it's pizza."),
        ("My boss is Wanda.", "My dentist is Tim now, Wanda has left."),
    ],
)
def test_a_statement_of_now_leaves_what_it_does_not_tell_of(old: str, new: str) -> None:
    assert relation(old, new) != "update"
