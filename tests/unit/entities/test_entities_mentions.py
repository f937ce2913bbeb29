"""What a topic names is found in a text by its words, and by its names as they are written."""

from __future__ import annotations

import unicodedata

import pytest

from services.shared.entities.mentions import is_found_by_terms, mentions, words_of_topic


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("ella", "Ella plays piano."),
        ("Will", "I met Will at the gym."),
        ("May", "May moved to Rome."),
        ("Will and May", "Will knows May."),
        ("the US", "We moved to the US."),
        ("my dentist", "The dentist is on Tuesday."),
        ("Uma Thurman", "I met Uma Thurman."),
        ("MY DOG", "My dog is called Rex."),
        ("node.js", "I write node.js."),
        ("I'm allergic to wasps", "i am allergic to wasps, and to bees"),
        ("Don", "Don called"),
    ],
)
def test_a_text_mentions_what_it_names(topic: str, text: str) -> None:
    assert mentions(text, topic)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Will", "I will go."),
        ("the US", "Tell us more."),
        ("Uma Thurman", "A Thurman lives here."),
        ("Ben and Will", "Ben is here."),
        ("you", "You are here."),
        ("what", "What is it?"),
        ("", "Nothing"),
        ("?", "What?"),
    ],
)
def test_a_small_word_is_no_name(topic: str, text: str) -> None:
    assert not mentions(text, topic)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("แมว", "แมวของฉันชื่อมะลิ"),
        ("កាហ្វេ", "ខ្ញុំផឹកកាហ្វេ"),
        ("ירושלים", "ירושלים יפה"),
        ("ريم", "ريم تسكن في عمان"),
        ("Müller", "Das ist Müllers Auto."),
        ("Weiß", "Frau Weiß kommt heute mit."),
        ("Алёна", "Я видел её с Алёной"),
        ("Королев", "Королёву"),
        ("Мария", "Марией"),
        ("Anna", "Annas Hund"),
        ("Python", "I use python and Docker"),
        ("Zahnarzttermin", "Meine Zahnarzttermine sind alle am Dienstag"),
        ("Mondays", "I hate Monday"),
        ("김민지", "김민지가 왔다"),
        ("콩", "콩을 먹었다"),
        ("サラ", "サラは妹"),
        ("王明", "王明明天来"),
        ("İpek", "İpek'in evi"),
        ("Anne-Marie", "Anne-Marie called"),
        ("Łódź", "Ich war in Lodz"),
        ("bikes", "my bike"),
        ("Netflix password", "my netflix password is x"),
    ],
)
def test_a_name_is_found_in_each_of_its_forms(topic: str, text: str) -> None:
    assert mentions(text, topic)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Müller", "Der Müll muss raus."),
        ("แมว", "แม่อยู่บ้าน"),
        ("ريم", "كريم يسكن في عمان"),
        ("ילון", "מה בילון"),
        ("Weiß", "Ich weiß das nicht."),
        ("王明", "明天王"),
        ("콩", "땅콩 먹었다"),
        ("サラ", "サラダ"),
        ("Fischer", "Ich esse Fisch gern"),
        ("Peters", "Peter kommt"),
        ("Maria", "Mario and Marie"),
        ("Jan", "Jane"),
        ("Paris", "pari"),
        ("Анна", "Анатолий"),
        ("Wolf", "Wolfgang"),
    ],
)
def test_a_name_is_not_found_in_another_word(topic: str, text: str) -> None:
    assert not mentions(text, topic)


def test_letters_and_accents_that_are_apart_are_one_name() -> None:
    apart = unicodedata.normalize("NFD", "Käthe")
    assert mentions("Käthe called", apart)
    assert mentions(f"{apart} called", "Käthe")


def test_a_name_with_cases_is_not_found_by_its_terms_alone() -> None:
    assert is_found_by_terms(words_of_topic("Müller"))
    assert not is_found_by_terms(words_of_topic("Алёна"))
    assert not is_found_by_terms(words_of_topic("my friend Will"))
