"""Whom a user means by what somebody is to them, as they told it."""

from __future__ import annotations

import pytest

from services.shared.core.aliases import People
from services.shared.core.relations import called_otherwise, is_of_others, names_of, relation_in, spoken_of_briefly
from tests.stores.builders import an_entry


def names(topic: str, *said: str) -> list[str]:
    relation = relation_in(topic)
    assert relation is not None
    return names_of(relation, [an_entry("ann", text) for text in said], People())


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("my brother", "my brother is called rex."),
        ("my brother", "I have an older brother named Rex, who is a vet."),
        ("my brother", "I have a brother who's called Rex."),
        ("my brother", "I've a brother. His name is Rex. We fight."),
        ("my brother", "This is Rex, my brother."),
        ("my brother", "Rex was my brother and my best man."),
        ("my brother", "My brother, Rex, is ill."),
        ("my brother", "I met my brother Rex yesterday and we had tea."),
        ("my brother-in-law", "My brother in law is called Rex."),
        ("my stepdad", "My step-dad Rex is strict."),
        ("my ex-husband", "My ex husband Rex has the kids."),
        ("my ex", "My ex-boyfriend is called Rex."),
        ("my sibling", "My brother Rex is ill."),
        ("my son", "I have a son, Rex, and a daughter, Eva."),
        ("my physiotherapist", "My physiotherapist is called Rex."),
        ("my work colleague", "My work colleague Rex is loud."),
        ("my dog", "We adopted a puppy called Rex."),
        ("our dog", "Our labrador is called Rex and he is old."),
        ("my guinea-pig", "My guinea-pig Rex is fat."),
        ("my pet", "My hamster is Rex."),
        ("my landlord", "My landlord's name is Rex."),
    ],
)
def test_a_name_is_linked_however_it_is_told(topic: str, said: str) -> None:
    assert names(topic, said) == ["Rex"]


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("my sister", "Tom's sister is called Rex."),
        ("my sister", "Her sister Rex is ill."),
        ("my sister", "Is your sister called Rex?"),
        ("my sister", "My sister likes Rex."),
        ("my sister", "My sister met Rex in Rome."),
        ("my sister", "My sister is Rex's boss."),
        ("my sister", "Rex is my sister's dog."),
        ("my sister", "My sister's dog is called Rex."),
        ("my sister", "My sister-in-law is called Rex."),
        ("my sister", "My sister is Scottish."),
        ("my sister", "My sister is in Rome."),
        ("my sister", "My sister works at Siemens."),
        ("my sister", "My sister, like Rex, is a vet."),
        ("my sister", "My sister and Rex are vets."),
        ("my sister", "My sister, I think, is ill."),
        ("my sister", "My sister on Monday said no."),
        ("my brother", 'He said: "my brother Rex is ill".'),
        ("my dog", "I saw a dog called Rex."),
        ("my dog", "I have a photo of a dog called Rex."),
        ("my dog", "My dog is a Labrador."),
        ("my dog", "My neighbour's dog Rex barks."),
        ("my boss", "My boss is Korean."),
        ("my boss", "My boss at Siemens is Rex's friend."),
        ("my doctor", "My doctor is on Baker Street."),
        ("my wife", "My ex-wife is called Rex."),
        ("my mother", "Their mum is called Rex."),
        ("my son", "My son is Autistic."),
        ("my cat", "My cat is Siamese."),
        ("my friend", "My friend lives in Rome."),
        ("my teacher", "I am a teacher called Rex."),
        ("my brother", "My sister Rex is ill."),
    ],
)
def test_no_name_is_linked_that_is_not_told_as_theirs(topic: str, said: str) -> None:
    assert names(topic, said) == []


def test_of_several_those_are_meant_who_are_told_by_the_same_words() -> None:
    said = ("My older brother Ken is ill.", "My younger brother Tim is well.")
    assert names("my older brother", *said) == ["Ken"]
    assert names("my brother", *said) == []
    assert sorted(names("my brothers", *said)) == ["Ken", "Tim"]


def test_a_name_that_is_somebody_else_s_too_is_not_theirs() -> None:
    assert names("my dog", "My dog is called Rex.", "My brother Rex is ill.") == []
    assert names("my dog", "My dog is called Rex.", "Our beagle Rex is ill.") == ["Rex"]
    assert names("my wife", "My wife is called Ann.", "My ex-wife Ann called.") == ["Ann"]


def test_a_first_name_is_theirs_if_it_is_of_one_full_name() -> None:
    assert names("my sister", "My sister is called Birte Olsen.") == ["Birte Olsen", "Birte"]
    told = ("My sister is called Birte Olsen.", "My sister Birte Olsen and my boss Birte Hansen met.")
    assert "Birte" not in names("my sister", *told)


@pytest.mark.parametrize(
    ("topic", "said", "found"),
    [
        ("my mother", "Mum is ill.", True),
        ("my mother", "I called my mum.", True),
        ("my mom", "My mother's heart is weak.", True),
        ("my grandmother", "Yesterday Granny fell.", True),
        ("my mother", "Tom's mum is ill.", False),
        ("my mother", "His mom is ill.", False),
        ("my mother", "The mum next door is ill.", False),
        ("my mother", "My dad is ill.", False),
        ("my boss", "The manager is ill.", False),
    ],
)
def test_who_is_called_by_another_word_for_the_same_is_meant(topic: str, said: str, found: bool) -> None:
    relation = relation_in(topic)
    assert relation is not None
    entry = an_entry("ann", said)
    assert called_otherwise(relation, [entry]) == ([entry] if found else [])


@pytest.mark.parametrize(
    ("topic", "text", "other"),
    [
        ("my sister", "My sister-in-law is nice.", True),
        ("my sister", "My sister in law is nice.", True),
        ("my sister", "My sister likes my sister-in-law.", False),
        ("my brother", "My half-brother is nice.", True),
        ("my wife", "My ex wife left.", True),
        ("my mum", "My stepmum left.", True),
        ("my sister-in-law", "My sister in law left.", False),
        ("my sister", "Birte left.", False),
    ],
)
def test_a_word_within_that_of_another_relation_is_of_others(topic: str, text: str, other: bool) -> None:
    relation = relation_in(topic)
    assert relation is not None
    assert is_of_others(relation, text) is other


@pytest.mark.parametrize("topic", ["my operation", "knee operation", "my job", "my password at work", "the weather"])
def test_nothing_is_spoken_of_briefly_that_was_not_told_in_full(topic: str) -> None:
    assert spoken_of_briefly(topic, [an_entry("ann", "The operation was moved.")]) == []
