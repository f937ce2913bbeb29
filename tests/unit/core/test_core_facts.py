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
    assert told("".join(f"Well, {i}. " for i in range(250)) + "I live in Bergen.") == []


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


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("My brother İlker lives in Izmir.", ["İlker is their brother", "İlker lives in Izmir"]),
        ("My wife is called İpek.", ["İpek is their wife"]),
        ("I live in İzmir.", ["Lives in İzmir"]),
        ("My son Şükrü is 5.", ["Şükrü is their son", "Şükrü is 5 years old"]),
        ("Ľubica is my aunt.", ["Ľubica is their aunt"]),
        ("My sister さくら lives in Osaka.", ["さくら is their sister", "さくら lives in Osaka"]),
        ("My cousin 王明 moved to Berlin.", ["王明 is their cousin", "王明 lives in Berlin"]),
        ("My sister's name is 민지.", ["민지 is their sister"]),
        ("My husband محمد is a doctor.", ["محمد is their husband", "محمد is a doctor"]),
        ("My sister Алёна lives in Moscow.", ["Алёна is their sister", "Алёна lives in Moscow"]),
        ("My friend Ελένη works at Google.", ["Ελένη is their friend", "Ελένη works for Google"]),
        ("My dog is called ポチ.", ["Has a dog named ポチ"]),
        ("My name is さくら.", ["Is called さくら"]),
        ("My name is İlker.", ["Is called İlker"]),
    ],
)
def test_a_name_begins_with_any_capital_or_a_letter_of_a_script_without_them(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "My sister şule lives in a flat.",
        "My sister алёна is tired.",
        "My name is 5.",
        "My brother ışık is here.",
        "寿司",
    ],
)
def test_a_small_letter_begins_no_name(text: str) -> None:
    assert not told(text)


def test_a_capital_with_a_dot_makes_one_key_with_the_small_letter() -> None:
    keys = [fact.memory_key for fact in facts_in("My aunt İpek is a nurse", role="user", speaker=None, said_at=NOON)]
    assert keys == ["people|person|ipek|relationship", "people|person|ipek|occupation"]


def test_the_partner_of_a_speaker_has_no_other_name_before_their_own() -> None:
    for text in ("My wife is called Elke.", "My wife Elke plays the cello."):
        said = [one.text for one in facts_in(text, role="user", speaker="Tobias", said_at=NOON)]
        assert "Elke is Tobias's wife" in said
