"""Which names are of one person, who is meant by what they are to the user, and what stands with a present value."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import DecidedClaim, Slot
from contracts.v1.entries import Entity, Entry
from services.shared.knowledge.facts import known_of
from services.shared.knowledge.people import Decisions, People, hash_of, names_of, people_of
from services.shared.knowledge.profile import slug_of
from tests.claims import a_claim
from tests.stores.builders import NOON, an_entry, minutes

NAMES = ("Clara", "clara", "Clára", "Clara Meyer", "Clara Schmidt", "Klara", "Anne-Marie", "Anne Marie", "Bo")


def naming(*names: str) -> Entry:
    entities = tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in names)
    return an_entry("ann", " and ".join(names), entities=entities)


def stating(text: str, value: str, slot: Slot = "home", whose: str = "", at: float = 0, **fields: Any) -> Entry:
    moment = NOON + minutes(at)
    claims = (a_claim(text, value, slot, whose=whose),)
    return an_entry("ann", text, claims=claims, created_at=moment, last_said_at=moment, **fields)


def decided(one: str, other: str, *, same: bool) -> Decisions:
    return {frozenset(hash_of("ann", slug_of(name)) for name in (one, other)): same}


def groups(people: People) -> set[frozenset[str]]:
    return {frozenset(person.names.values()) for person in people.persons}


@pytest.mark.parametrize(
    ("names", "together"),
    [
        (("José", "Jose"), True),
        (("Mary-Jane", "MaryJane"), True),
        (("Clara", "Clara Meyer"), True),
        (("Sarah", "Sara"), False),
        (("Anna", "Hanna"), False),
    ],
)
def test_only_what_is_written_as_one_name_is_joined(names: tuple[str, str], together: bool) -> None:
    found = groups(people_of((), [naming(one) for one in names]))
    assert found == ({frozenset(names)} if together else {frozenset((one,)) for one in names})


def test_a_first_name_of_two_is_nobodys() -> None:
    found = groups(people_of((), [naming(one) for one in ("Clara", "Clara Meyer", "Clara Schmidt")]))
    assert len(found) == 3


def test_what_sounds_alike_is_proposed_unless_both_are_named_together() -> None:
    (proposal,) = people_of((), [naming("Sarah"), naming("Sara")]).proposals
    assert ({proposal.one, proposal.other}, proposal.why) == ({"Sarah", "Sara"}, "sound")
    assert people_of((), [naming("Sarah", "Sara")]).proposals == ()


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6), st.data())
def test_what_the_user_decides_goes_before_all_else(names: list[str], data: st.DataObject) -> None:
    one, other = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    entries, same = [naming(name) for name in names], data.draw(st.booleans())
    if slug_of(one) == slug_of(other):
        return
    slugs = people_of((), entries, decided(one, other, same=same)).slugs
    assert (slugs[slug_of(one)] == slugs[slug_of(other)]) == same


@given(st.permutations([naming(name) for name in NAMES]))
def test_the_order_of_the_entries_is_of_no_account_to_who_is_who(entries: list[Entry]) -> None:
    assert people_of((), entries).slugs == people_of((), [naming(name) for name in NAMES]).slugs


HEINZ = stating("my brother Heinz is ill", "my brother Heinz", "family", "Heinz")
KARL = stating("my brother Karl, too", "my brother Karl", "family", "Karl")


@pytest.mark.parametrize(
    ("said", "topic", "names"),
    [
        ((HEINZ,), "my brother", {"Heinz"}),
        ((HEINZ,), "my brother Heinz", {"Heinz"}),
        ((HEINZ,), "my sister", set()),
        ((HEINZ,), "the brother", set()),
        ((HEINZ, KARL), "my brother", set()),
        ((HEINZ, KARL), "my brothers", {"Heinz", "Karl"}),
        ((HEINZ, stating("colleague Heinz", "colleague Heinz", "colleague", "Heinz")), "my brother", set()),
        ((stating("mum is Ruth Olsen", "mum", "family", "Ruth Olsen"),), "my mother", {"Ruth Olsen", "Ruth"}),
        ((stating("sister in law Eva", "sister in law", "family", "Eva"),), "my sister", set()),
        ((stating("sister in law Eva", "sister in law", "family", "Eva"),), "my sister-in-law", {"Eva"}),
        ((stating("Mum is in Oslo", "Oslo", "home", "Mum"),), "my mother", {"Mum"}),
        ((stating("my dog Rex", "my dog Rex", "pet", "Rex"),), "our dog", {"Rex"}),
        ((stating("my boss Rex moved", "my boss Rex", "home", "Rex"),), "my boss", set()),
    ],
)
def test_who_is_meant_by_what_they_are_is_told_where_it_is_clear(
    said: tuple[Entry, ...], topic: str, names: set[str]
) -> None:
    known, people = known_of(said, now=NOON)
    assert set(names_of(topic, [one.fact for one in known], people)) == names


def test_what_was_before_stands_with_the_present_value_of_whom_it_is() -> None:
    homes = [
        stating(f"{who} in {home}", home, "home", who, n)
        for n, (who, home) in enumerate([("Jo", "Ghent"), ("Bo", "Oslo"), ("Jo", "Bruges"), ("Jo", "Ghent")])
    ]
    known = {one.label: one for one in known_of(homes, now=NOON)[0]}
    assert {label: one.fact.value for label, one in known.items()} == {"Jo": "Ghent", "Bo": "Oslo"}
    assert [(one.value, one.until) for one in known["Jo"].before] == [("Bruges", NOON + minutes(3))]
    assert (known["Jo"].since, known["Jo"].times) == (NOON + minutes(3), 2)


def test_a_pair_that_holds_both_has_two_present_values() -> None:
    both = [stating("Ghent it is", "Ghent", id="a"), stating("and Bruges", "Bruges", at=1, id="b")]
    one, other = known_of(both, both=[frozenset("ab")], now=NOON)[0]
    assert {one.fact.value, other.fact.value} == {"Ghent", "Bruges"}
    assert one.fact.until is other.fact.until is None
    assert len(known_of(both, now=NOON)[0]) == 1


@pytest.mark.parametrize("fields", [{"speaker": "Me"}, {"claims": (a_claim("I live in Porto", "Porto", whose="I"),)}])
def test_who_is_called_me_is_the_user_and_no_person(fields: dict[str, Any]) -> None:
    entry = stating("I live in Porto", "Porto").model_copy(update=fields)
    known, people = known_of([entry], now=NOON)
    assert [one.fact.value for one in known] == ["Porto"]
    assert "me" not in people.by_slug


def test_who_is_not_named_has_no_card_and_nothing_before() -> None:
    unnamed = [
        an_entry("ann", text, claims=(a_claim(text, home, of_user=False),), created_at=NOON + minutes(n), id=f"e{n}")
        for n, (text, home) in enumerate([("A colleague lives in Rome.", "Rome"), ("One lives in Oslo.", "Oslo")])
    ]
    known, _ = known_of(
        [unnamed[0].model_copy(update={"status": "superseded", "valid_until": NOON + minutes(1)}), unnamed[1]], now=NOON
    )
    assert {(one.fact.value, one.before, one.is_on_card) for one in known} == {("Rome", (), False), ("Oslo", (), False)}


def test_a_title_or_a_relation_is_no_first_name() -> None:
    said = (
        stating("my boss Dr. Klein", "boss", "colleague", "Dr. Klein"),
        stating("Aunt Mary", "Aunt", "family", "Aunt Mary"),
    )
    known, people = known_of(said, now=NOON)
    facts = [one.fact for one in known]
    assert set(names_of("my boss", facts, people)) == {"Dr. Klein", "Klein"}
    assert set(names_of("my aunt", facts, people)) == {"Aunt Mary"}


def test_an_appointment_is_on_the_day_that_was_said_whenever_it_was_confirmed() -> None:
    text = "My dentist appointment is tomorrow."
    said = a_claim(text, "tomorrow", "appointment")
    entry = an_entry("ann", text, created_at=NOON, last_said_at=NOON, claims=(said,))
    later = NOON + timedelta(days=30)
    yes = DecidedClaim(slot="appointment", value=said.value, sentence=said.sentence, is_so=True, at=later)
    confirmed = entry.model_copy(update={"decided_claims": (yes,)})
    for one in (entry, confirmed):
        (known,), _ = known_of([one], now=later)
        assert known.fact.until is not None
