"""Names of one person: joined, proposed, told apart, decided; and never more than is known."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.v1.entries import Entity, Entry
from services.shared.core import aliases
from services.shared.core.aliases import People, hash_of, people_of
from services.shared.core.names import Name, likeness
from tests.stores.builders import NOON, an_entry


def said(*texts: str, names: tuple[str, ...] = ()) -> list[Entry]:
    return [
        an_entry(
            "ann",
            text,
            entities=tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in names if name in text),
            created_at=NOON + timedelta(days=day),
        )
        for day, text in enumerate(texts)
    ]


def groups(people: People) -> set[frozenset[str]]:
    return {frozenset(person.names) for person in people.persons if len(person.names) > 1}


def decided(one: str, other: str, same: bool) -> dict[frozenset[str], bool]:
    return {frozenset((hash_of("ann", one), hash_of("ann", other))): same}


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("José", "jose", "written"),
        ("Dr. Weiss", "Weiss", "written"),
        ("Anne-Marie", "Anne Marie", "written"),
        ("Stephen", "Steven", "sound"),
        ("Makesh", "Mukesh", "vowel"),
        ("Bob", "Robert", "nickname"),
        ("Clara", "Clara Schmidt", "part"),
        ("Mia", "Mya", None),
        ("Maria", "Mario", None),
        ("Clara Schmidt", "Clara Meier", None),
        ("", "Anna", None),
        ("李", "王", None),
    ],
)
def test_names_are_alike_in_several_ways(one: str, other: str, how: str | None) -> None:
    assert likeness(Name.of(one), Name.of(other)) == likeness(Name.of(other), Name.of(one)) == how
    if how is not None:
        assert Name.of(one).keys & Name.of(other).keys


def test_what_is_likely_is_proposed_and_what_is_told_apart_is_not() -> None:
    names = ("Makesh", "Mukesh")
    (likely,) = people_of(said("Makesh sent slides", "Mukesh asked me", names=names)).proposals
    assert ({likely.one, likely.other}, likely.why) == (set(names), "vowel")
    both = people_of(said("Makesh sent slides", "Makesh and Mukesh are here", names=names))
    assert (groups(both), both.proposals) == (set(), ())


@pytest.mark.parametrize(
    "told",
    [
        "Wilhelmina goes by Zuzu",
        "Zuzu is short for Wilhelmina",
        "Wilhelmina is also called Zuzu",
        "Everybody calls Wilhelmina Zuzu",
        "Wilhelmina, whom we call Zuzu, sings",
        "Wilhelmina (aka Zuzu) sings",
        "Wilhelmina, a.k.a. Zuzu, sings",
        "It's spelled Wilhelmina, not Zuzu",
        "Sorry, I misspelt Zuzu, it's Wilhelmina",
        "Sorry, I mistyped Zuzu, it's Wilhelmina",
        "Sorry, I misheard Zuzu, the name is Wilhelmina",
        "Wilhelmina's nickname is Zuzu",
    ],
)
def test_names_that_are_nothing_alike_are_of_one_person_as_they_are_told_to_be(told: str) -> None:
    names = ("Wilhelmina", "Zuzu")
    assert groups(people_of(said(told, names=names))) == {frozenset({"wilhelmina", "zuzu"})}
    assert groups(people_of(said("Wilhelmina met Zuzu", names=names))) == set()


def test_what_the_user_decides_goes_before_the_rules() -> None:
    apart = said("Makesh and Mukesh are here", names=("Makesh", "Mukesh"))
    assert groups(people_of(apart, decided("makesh", "mukesh", True))) == {frozenset({"makesh", "mukesh"})}
    same = said("My sister Sarah cooks", "My sister Sara eats")
    assert groups(people_of(same)) == {frozenset({"sara", "sarah"})}
    two = people_of(same, decided("sara", "sarah", False))
    assert (groups(two), two.proposals) == (set(), ())
    assert groups(people_of(same, decided("sara", "nobody", True))) == {frozenset({"sara", "sarah"})}


def test_two_who_are_apart_are_not_joined_through_a_third() -> None:
    names = ("Sara", "Sarah", "Sarra")
    told = said("My sister Sara cooks", "My sister Sarra eats", "My sister Sarah reads", "Sara met Sarah", names=names)
    assert all(not {"sara", "sarah"} <= group for group in groups(people_of(told)))


def test_a_first_name_of_two_people_is_of_neither() -> None:
    names = ("Ali", "Ali Khan", "Ali Hassan")
    people = people_of(said("My boss Ali Khan is nice", "Ali Hassan called", "My boss Ali called", names=names))
    assert (groups(people), people.proposals) == (set(), ())


def test_the_name_said_most_often_stands_for_the_person() -> None:
    people = people_of(said("My sister Sarah cooks", "My sister Sara eats", "My sister Sara reads"))
    (person,) = people.persons
    assert (person.slug, person.label, set(person.names)) == ("sara", "Sara", {"sara", "sarah"})
    assert set(people.by_name()) == {"sara", "sarah"}


def test_the_order_of_entries_and_assistants_are_of_no_account() -> None:
    entries = said("My sister Sarah cooks", "My sister Sara eats", "Bob is short for Robert", "Robert is my uncle")
    answered = [entry.model_copy(update={"role": "assistant", "id": f"a{entry.id}"}) for entry in entries]
    assert people_of(entries) == people_of(reversed([*entries, *answered]))
    assert people_of(answered) == People()


def test_more_names_than_are_compared_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MOST", 2)
    assert len(people_of(said("My friend Bo sings", "My friend Al sings", "My friend Cy sings")).persons) == 2
