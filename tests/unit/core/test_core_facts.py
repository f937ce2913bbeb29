"""Facts of a text: the same whether it was read before or not, and nothing of what is not meant."""

from __future__ import annotations

import pytest

from services.shared.core.facts import facts_in
from tests.stores.builders import NOON


def told(text: str, *known: str) -> list[str]:
    return [fact.text for fact in facts_in(text, role="user", speaker=None, said_at=NOON, known=known)]


def test_facts_are_the_same_however_often_a_text_is_read() -> None:
    assert [told("Hello there. I live in Bergen.") for _ in range(3)] == [["Lives in Bergen"]] * 3
    assert [told("The bike is red and the boat is blue") for _ in range(3)] == [[], [], []]


def test_a_text_that_told_nothing_tells_something_once_its_name_is_known() -> None:
    text = "Ingrid lives in Bergen"
    assert told(text) == []
    assert told(text, "ingrid") == ["Ingrid lives in Bergen"]
    assert told(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Is my sister Ingrid here? She lives in Bergen.",
        "If my sister Ingrid comes, fine. She lives in Bergen.",
        'Quoted: "my sister Ingrid" it said. She lives in Bergen.',
    ],
)
def test_nobody_is_meant_by_she_who_was_not_named_outright(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "> I live in Malmo\n> I have a dog named Pip",
        "Look:\n  > My name is Gustav\nFunny, no?",
        "Here is the email I got:\n\nHi Ann,\n\nI live in Malmo.\n\nBest,\nGustav",
        "This message came in today:\nI work at Ericsson\nand I am vegan",
        "He wrote:\nI live in Malmo",
    ],
)
def test_what_is_pasted_tells_nothing(text: str) -> None:
    assert told(text) == []


def test_beside_a_quoted_line_what_is_said_tells_something() -> None:
    text = "> where do you live?\nI live in Bergen\n> any pets?\nI have a dog named Pip"
    assert told(text) == ["Lives in Bergen", "Has a dog named Pip"]
    (home, _) = facts_in(text, role="user", speaker=None, said_at=NOON)
    assert text[slice(*home.span)] == "I live in Bergen"


@pytest.mark.parametrize("piece", [">", "\n>", "oh great ", "that was my ", "... not ", "please ", "write a ", ",not "])
def test_what_may_be_pasted_is_read_at_any_length(piece: str) -> None:
    assert told(piece * 5000 + "I live in Bergen") in ([], ["Lives in Bergen"])


def test_of_an_endless_text_only_the_beginning_is_read() -> None:
    assert told("Well, yes. " * 150 + "I live in Bergen.") == ["Lives in Bergen"]
    assert told("Well, yes. " * 250 + "I live in Bergen.") == []


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I'm allergic to penicillin, that's important.", ["Is allergic to penicillin"]),
        ("I am allergic to latex, please remember.", ["Is allergic to latex"]),
        ("I'm allergic to nuts, dust and cats.", [f"Is allergic to {what}" for what in ("nuts", "dust", "cats")]),
        ("I turned 35 yesterday.", ["Is 35 years old"]),
        ("I'm 12 minutes away.", []),
        ("My manager is Olaf now.", ["Olaf is their manager"]),
        ("My wife is Eva these days", ["Eva is their wife"]),
        ("My boss is away at the moment", []),
        ("My number: 0170 998877", ["Has the phone number 0170 998877"]),
        ("I left Hellmann and joined Nordlicht Energy.", ["Works for Nordlicht Energy"]),
        ("Started at Brightlane last Monday, backend, Billing squad.", ["Works for Brightlane"]),
        ("started working at Lidl today, my sister works there too", ["Works for Lidl"]),
        ("Started at University in October", []),
        (
            "My son Emil is no longer allergic to egg, but he is allergic to hazelnuts",
            ["Emil is allergic to hazelnuts"],
        ),
    ],
)
def test_a_value_ends_where_something_else_is_said(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "I can't stand for long.",
        "I can't stand up today.",
        "I don't eat here often.",
        "I don't drink either except a stout at Christmas.",
        "I'm allergic to hard work, Maureen says.",
        "I'm allergic to the word synergy",
    ],
)
def test_what_is_no_object_or_only_a_saying_is_no_fact(text: str) -> None:
    assert not facts_in(text, role="user", speaker=None, said_at=NOON)


def test_the_partner_of_a_speaker_has_no_other_name_before_their_own() -> None:
    for text in ("My wife is called Elke.", "My wife Elke plays the cello."):
        said = [one.text for one in facts_in(text, role="user", speaker="Tobias", said_at=NOON)]
        assert "Elke is Tobias's wife" in said
