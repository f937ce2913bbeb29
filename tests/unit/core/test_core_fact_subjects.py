"""Whose a fact is where a text speaks of several people: in doubt nobody's."""

from __future__ import annotations

import pytest

from services.shared.core.facts import facts_in
from tests.stores.builders import NOON


def told(text: str, *known: str) -> list[str]:
    return [fact.text for fact in facts_in(text, role="user", speaker=None, said_at=NOON, known=known)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "My sister Eva lives in Oslo, her ex Tom lives in Bergen and works for Equinor.",
            ["Eva is their sister", "Eva lives in Oslo"],
        ),
        (
            "My brother Ben is a baker, his wife Sue is a vet and works for Aviva.",
            ["Ben is their brother", "Ben is a baker"],
        ),
        (
            "My colleague Nina is a nurse. Her husband is a pilot and speaks Greek.",
            ["Nina is their colleague", "Nina is a nurse"],
        ),
        (
            "My sister Eva lives in Oslo. Tom lives in Bergen and works for Equinor.",
            ["Eva is their sister", "Eva lives in Oslo"],
        ),
        (
            "My sister Eva lives in Oslo, while her ex lives in Bergen and works for Equinor.",
            ["Eva is their sister", "Eva lives in Oslo"],
        ),
        ("My friend Jo has a dog called Bo, her sister has a cat and hates dogs.", ["Jo is their friend"]),
        ("My uncle Karl's wife lives in Wien and works for OMV.", ["Karl is their uncle"]),
        ("My brother Ben called, our neighbour lives alone and hates dogs.", ["Ben is their brother"]),
        ("My sister Eva has two kids, the older one lives in Bonn and studies law.", ["Eva is their sister"]),
        ("My sister Eva lives next to a nurse who works for Aviva and speaks Greek.", ["Eva is their sister"]),
        ("My boss Helen is nice but her husband, a pilot, hates dogs.", ["Helen is their boss"]),
        (
            "My brother Ben says our cousin Lea lives in Wien and works for OMV.",
            ["Ben is their brother", "Lea is their cousin", "Lea works for OMV"],
        ),
        ("I live in Rome but his parents live in Bonn and speak Greek.", ["Lives in Rome"]),
        ("My boss Helen thinks that Tom works for Bayer and speaks Greek.", ["Helen is their boss"]),
        ("My neighbour Karl has a parrot, it hates dogs and speaks German.", ["Karl is their neighbour"]),
    ],
)
def test_a_verb_goes_on_with_whom_the_last_one_is_said_of(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "My sister Eva has a boyfriend. He works for Bayer.",
        "My sister Eva has a daughter. She is 7 and speaks French.",
        "My sister Eva lives alone. Her ex lives in Bergen. He works for Equinor.",
        "My sister Eva has a son called Max. He is allergic to nuts.",
        "My sister Eva lives with her boyfriend. He works for Bayer.",
        "My sister Eva got married to a guy. He works for Bayer.",
        "My sister Eva is here. If her neighbour comes, fine. She lives in Bonn.",
    ],
)
def test_he_or_she_is_nobody_where_two_may_be_meant(text: str) -> None:
    assert told(text) == ["Eva is their sister"]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("My sister Clara lives in Oslo with her husband and works for Equinor.", "Clara works for Equinor"),
        ("My brother Ben, his wife's favourite, lives in Oslo and works for Bayer.", "Ben works for Bayer"),
        ("My brother Ben lives in Oslo, his favourite city, and works for Bayer.", "Ben works for Bayer"),
        ("My sister Clara lives in Oslo with her daughter. She works for Equinor.", "Clara works for Equinor"),
        ("My sister Clara is 30. Clara lives in Bonn and works for Bayer.", "Clara works for Bayer"),
        ("My brother Ben is a baker. His shop is closed. He lives in Ulm.", "Ben lives in Ulm"),
        ("My brother Ben has a dog and hates cats.", "Ben dislikes cats"),
        ("My boss is Helen. She lives in Leeds and speaks French.", "Helen speaks French"),
        ("My sister's name is Eva and she works for Bayer.", "Eva works for Bayer"),
        ("My sister Eva, who lives in Oslo, works for Equinor and speaks Greek.", "Eva speaks Greek"),
        ("My colleague Nina is a nurse and her husband is a pilot. She speaks Greek.", "Nina speaks Greek"),
        ("My son Emil is 7. Everyone loves him. He is allergic to nuts.", "Emil is allergic to nuts"),
        ("My brother Ben moved out because he is tired. He works for Bayer.", "Ben works for Bayer"),
        ("My brother Ben loves Ulm. It's pretty there. He works for Bayer.", "Ben works for Bayer"),
        ("My husband Jan is vegan. Our kids aren't. He works for Bayer.", "Jan works for Bayer"),
        ("My brother Ben and my sister Eva came. He lives in Bonn and she lives in Ulm.", "Eva lives in Ulm"),
        ("I have a sister called Eva. She lives in Oslo.", "Eva lives in Oslo"),
    ],
)
def test_who_goes_on_being_spoken_of_is_known(text: str, last: str) -> None:
    assert told(text)[-1] == last


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Anna is my wife, Ben is her brother.", ["Anna is their wife"]),
        ("Ida is my daughter, Tim is hers.", ["Ida is their daughter"]),
        ("I live with my sister, Tom lives upstairs.", []),
        ("I had dinner with my sister, Tom is away.", []),
        ("This is my wife, Anna.", ["Anna is their wife"]),
        ("My wife, Anna, works for Bayer.", ["Anna is their wife", "Anna works for Bayer"]),
        ("My husband, Tom is a pilot.", ["Tom is their husband", "Tom is a pilot"]),
        ("I live with my wife, Anna, and our kids.", ["Anna is their wife"]),
        ("The love of my life is my wife, Anna.", ["Anna is their wife"]),
        ("He is my brother, Tom.", ["Tom is their brother"]),
        (
            "My sister Eva lives in Oslo, Norway, and Tom lives here.",
            ["Eva is their sister", "Eva lives in Oslo, Norway"],
        ),
        ("My sister Eva lives in Oslo, Tom lives in Bergen.", ["Eva is their sister", "Eva lives in Oslo"]),
    ],
)
def test_a_name_behind_a_comma_is_that_of_the_relative_or_of_another(text: str, facts: list[str]) -> None:
    assert told(text) == facts
