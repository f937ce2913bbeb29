"""What a question names one thing among many alike by."""

from __future__ import annotations

import pytest

from services.shared.entities.identifiers import identifiers_in, named_in


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("What is the code of locker AB-18?", {"ab18"}),
        ("What did PR #482 change in v2.3?", {"482", "v23"}),
        ("What's in locker 12?", {"12"}),
        ("Which of the 3 dishes did I cook in 2023?", set()),
        ("Where was I on 7 March 2024, or on 2026-03-04?", set()),
        ("Who came on the 18th, when I was 12?", set()),
    ],
)
def test_codes_are_words_with_digits_but_no_dates_years_and_amounts(question: str, codes: set[str]) -> None:
    assert {one.pieces[0] for one in identifiers_in(question) if one.is_code} == codes


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("HH-KL 482", "Truck HH-KL 482 left the yard.", "Truck HH-KL 284 left the yard."),
        ("hhkl482", "Truck HH-KL 482 left the yard.", "Truck HH-KM 482 left the yard."),
        ("where is HH KL 482?", "Truck hh-kl482 left the yard.", "Truck HH-KR 482 left the yard."),
        ("Who got INV2482?", "INV-2482 went to Graz.", "INV-2483 went to Graz."),
        ("v3.24.1", "Release 3.24.1 is out.", "Release 3.24.2 is out."),
        ("Which plan has kim.berg@shop.example?", "kim.berg@shop.example pays.", "kim.bern@shop.example pays."),
        ("Where is tax_return.pdf?", "tax_return.pdf is on the stick.", "tax_report.pdf is on the stick."),
        ("Where are the 16 mm bolts?", "The 16 mm bolts are in box two.", "The 18 mm bolts are in box two."),
        ("Which platform has the 14:35?", "The 14:35 leaves from nine.", "The 14:53 leaves from nine."),
        ("ping 10.0.4.17", "10.0.4.17 is the printer.", "10.0.4.171 is the printer."),
        ("Der Wagen M-ÄB 77?", "M-äb 77 steht im Hof.", "M-AB 78 steht im Hof."),
        ("ＩＮＶ－２４８２", "INV-2482 went to Graz.", "INV-2428 went to Graz."),
    ],
)
def test_an_identifier_is_one_however_it_is_spaced_and_written(question: str, right: str, wrong: str) -> None:
    asked = identifiers_in(question)
    named = named_in(asked, [wrong, right])
    assert named[1]
    assert not named[0]


def test_each_of_several_identifiers_is_looked_for_alone() -> None:
    texts = ["Ticket OPS-248 is open.", "Ticket OPS-731 is open.", "OPS-248 blocks OPS-731.", "OPS-13 is open."]
    named = named_in(identifiers_in("What about ticket OPS-248 and OPS-731?"), texts)
    assert [sorted(its) for its in named] == [[0], [1], [0, 1], []]


def test_a_number_of_something_else_is_no_code() -> None:
    assert named_in(identifiers_in("Which team has OPS-999?"), ["Room 999 is free."]) == [frozenset()]
