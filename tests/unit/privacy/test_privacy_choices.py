"""Which of a list is chosen by somebody who is asked whether all of it is meant."""

from __future__ import annotations

import pytest

from services.shared.privacy.assent import chosen

BIKES = ["My bike is a red Gazelle", "My other bike is a folding Brompton"]
THREE = [*BIKES, "My bike for winter is a Koga"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("the second one", (2,)),
        ("only the first", (1,)),
        ("just number 2 please", (2,)),
        ("number one", (1,)),
        ("#1", (1,)),
        ("2", (2,)),
        ("only the last", (2,)),
        ("yes, only the second", (2,)),
        ("I meant the second", (2,)),
        ("only the Brompton", (2,)),
        ("the Brompton only", (2,)),
        ("the red one", (1,)),
        ("forget the folding one, please", (2,)),
        ("the one about the Brompton", (2,)),
        ("yes, but not the first", (2,)),
        ("keep the Gazelle", (2,)),
        ("don't delete the first", (2,)),
        ("all but the first", (2,)),
        ("everything except the Brompton", (1,)),
        ("1 and 2", (1, 2)),
        ("only the second then", (2,)),
        ("the first one only", (1,)),
        ("just 2 instead", (2,)),
        ("the last from your memory", (2,)),
        ("not the first though", (2,)),
    ],
)
def test_a_place_or_a_word_of_only_one_chooses(text: str, places: tuple[int, ...]) -> None:
    assert chosen(text, BIKES) == places


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "ok", "thanks", "only", "not", "the bike", "what is the second one?", "the Brompton?", "keep both",
     "I ride the Brompton", "my Brompton is stolen", "where is my Brompton", "Nice weather.", "only " * 40],
)  # fmt: skip
def test_what_names_none_or_several_or_tells_something_chooses_nothing(text: str) -> None:
    assert chosen(text, BIKES) == ()


def test_what_is_excepted_leaves_all_the_others() -> None:
    assert chosen("yes, but not the second", THREE) == (1, 3)
    assert chosen("all except the Koga", THREE) == (1, 2)
    assert chosen("only the first and the last", THREE) == (1, 3)
