"""A number in words is the number in digits, and no other number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.dedup.similarity import same_statement
from services.shared.language.spelling import plain_words

UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()

numbers = st.integers(0, 99)
powers = st.sampled_from([("", 1), (" hundred", 100), (" thousand", 1000)])


def in_words(number: int) -> str:
    if number < 20:
        return UNITS[number]
    tens, unit = divmod(number, 10)
    return f"{TENS[tens - 2]}-{UNITS[unit]}" if unit else TENS[tens - 2]


@given(numbers, numbers)
def test_words_are_the_same_as_their_digits_alone(number: int, other: int) -> None:
    assert same_statement(f"I have {in_words(number)} hens", f"I have {other} hens") == (number == other)


@given(st.integers(1, 99), powers, st.integers(1, 99), powers)
def test_hundreds_and_thousands_are_multiplied(a: int, power: tuple[str, int], b: int, other: tuple[str, int]) -> None:
    digits = b * other[1]
    same = same_statement(f"We saw {in_words(a)}{power[0]} birds", f"We saw {digits:,} birds")
    assert same == (a * power[1] == digits)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a twenty second timer", "a 20 2nd timer"),
        ("the twenty third guest", "the 23rd guest"),
        ("two hundred and six", "2 hundred and 6"),
        ("two hundred thousand", "2 hundred thousand"),
        ("nineteen eighty", "19 80"),
        ("i'd been there", "i had been there"),
        ("i'd never sell it", "i would never sell it"),
        ("i'd run", "i'd run"),
        ("anna's at home", "anna is at home"),
        ("let's not", "let us not"),
    ],
)
def test_the_next_word_decides_only_where_it_is_clear(text: str, plain: str) -> None:
    assert plain_words(text.split()) == plain.split()
