"""What is known of a user: present and former values, and laws that hold for any entries in any order."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.core.lineage import superseded
from services.shared.core.slots import Known, profile_of
from tests.stores.builders import NOON, an_entry

ENDS = [
    ("im allergic to walnuts and also soy", "turns out i'm not allergic to walnuts after all", {"me|allergy": ["soy"]}),
    ("I'm allergic to walnuts and soy", "i am not allergic to walnuts anymore", {"me|allergy": ["soy"]}),
    ("I'm allergic to walnuts and soy", "My walnut allergy has cleared up", {"me|allergy": ["soy"]}),
    ("I'm allergic to walnuts", "I'm allergic to walnuts any more than you are", {"me|allergy": ["walnuts"]}),
    ("I'm allergic to walnuts", "My brother's walnut allergy is gone", {"me|allergy": ["walnuts"]}),
    ("I work for Siemens", "I quit my job at Siemens to travel", {}),
    ("I work for Siemens", "Siemens let me go", {}),
    ("I work for Siemens", "I retired last month", {}),
    ("I work for Siemens", "In 2012 I retired", {"me|employer": ["Siemens"]}),
    ("I work for Siemens", "I fired the cook", {"me|employer": ["Siemens"]}),
    ("I work for Siemens", "Did I get fired from Siemens?", {"me|employer": ["Siemens"]}),
    ("I have a dog named Rex", "Our dog Rex passed away this morning", {}),
    ("I have a dog named Rex", "we gave Rex away", {}),
    ("I have a dog named Rex", "we gave Rex a bath", {"me|pet": ["Rex (dog)"]}),
    ("I have a dog named Rex", "Rex's best friend died", {"me|pet": ["Rex (dog)"]}),
    ("My girlfriend is Lena", "Lena and I broke up, what a week", {}),
    ("My girlfriend is Lena", "Lena and I broke up, but we are back together", {"me|partner": ["Lena"]}),
    ("My girlfriend is Lena", "Tomas and I broke up", {"me|partner": ["Lena"]}),
    ("i hate cilantro", "I love cilantro", {"me|likes": ["cilantro"]}),
    ("I hate cilantro", "I love basil", {"me|dislikes": ["cilantro"], "me|likes": ["basil"]}),
    ("My sister Clara lives in Oslo", "My sister Clara no longer lives in Oslo", {"clara|relationship": ["sister"]}),
    ("I no longer live in Vienna", "actually no, I still live in Vienna", {"me|home": ["Vienna"]}),
    ("My name is Ann", "My name is not Ann, it's Anne", {"me|name": ["Anne"]}),
]

TEXTS = (
    "I live in Lisbon",
    "I live in Porto",
    "I moved to Ghent last month",
    "I love hiking",
    "I work at Siemens",
    "I no longer work at Siemens",
    "Clara is my sister",
    "I have a dog named Rex",
    "Rex died yesterday",
    "I hate hiking",
    "Do I live in Rome?",
)


def said(text: str, day: int, name: str = "", **fields: object) -> Entry:
    at = NOON + timedelta(days=day)
    return an_entry("ann", text, id=name or f"{day}-{text}", created_at=at, last_said_at=at, **fields)


def present(*entries: Entry, **given: object) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for known in profile_of("ann", entries, **given):  # type: ignore[arg-type]
        if known.until is None:
            found.setdefault(known.fact.memory_key.split("|", 2)[2], []).append(known.fact.value)
    return found


def only(*entries: Entry) -> Known:
    (known,) = profile_of("ann", entries)
    return known


def test_the_newest_statement_is_the_present_value_and_the_others_are_before_it() -> None:
    known = only(said("I live in Porto", 5, "b"), said("I live in Lisbon", 1, "a"), said("I moved to Ghent", 9, "c"))
    assert (known.fact.value, known.since, known.source_ids) == ("Ghent", NOON + timedelta(days=9), ("c",))
    assert [(one.value, one.until, one.source_ids) for one in known.before] == [
        ("Porto", NOON + timedelta(days=9), ("b",)),
        ("Lisbon", NOON + timedelta(days=5), ("a",)),
    ]


@pytest.mark.parametrize(("first", "then", "left"), ENDS)
def test_what_is_told_to_have_ended_is_no_longer_present(first: str, then: str, left: dict[str, list[str]]) -> None:
    told = said(first, 1), said(then, 5)
    assert present(*told) == left
    assert {value for known in profile_of("ann", told[:1]) for value in [known.fact.value]} <= {
        value
        for known in profile_of("ann", told)
        for value in (known.fact.value, *(former.value for former in known.before))
    }


@pytest.mark.parametrize("first", ["I live in Graz", "My sister Clara lives in Oslo"])
def test_who_somebody_is_holds_when_another_thing_of_them_has_ended(first: str) -> None:
    end = said("My sister Clara no longer lives in Oslo", 5, "end")
    older = superseded(said(first, 1), end)
    assert present(older, end) == ({} if "Graz" in first else {"clara|relationship": ["sister"]})


def test_what_was_so_at_a_moment_is_known_as_of_it() -> None:
    entries = said("I live in Lisbon", 1), said("I live in Porto", 5)
    assert present(*entries, as_of=NOON + timedelta(days=2)) == {"me|home": ["Lisbon"]}
    assert present(*entries, as_of=NOON) == {}


@pytest.mark.parametrize(
    ("first", "then", "left"),
    [
        (
            "My daughter Ella is 4",
            "My niece Ella is 9",
            {"ella|age": ["9", "4"], "ella|relationship": ["niece", "daughter"]},
        ),
        ("My wife Anna is a lawyer", "My cousin Anna is no longer a lawyer", {"anna|occupation": ["lawyer"]}),
        ("Sara is my girlfriend", "My wife Sara is 30", {"me|partner": ["Sara"], "sara|age": ["30"]}),
    ],
)
def test_two_people_of_one_name_do_not_take_each_others_place(
    first: str, then: str, left: dict[str, list[str]]
) -> None:
    found = present(said(first, 1), said(then, 2))
    assert {key: found.get(key) for key in left} == left


def test_what_was_superseded_is_before_and_was_so_as_of_its_time() -> None:
    newer = said("I moved to Porto", 5, "b")
    older = superseded(said("I live in Lisbon", 1, "a"), newer)
    assert [one.value for one in only(older, newer).before] == ["Lisbon"]
    assert present(older, newer, as_of=NOON + timedelta(days=2)) == {"me|home": ["Lisbon"]}


def test_keys_that_hold_many_values_add() -> None:
    assert sorted(present(said("I love hiking", 1), said("I love chess", 2))["me|likes"]) == ["chess", "hiking"]


def test_an_end_that_is_told_closes_the_value() -> None:
    entries = said("I work at Siemens", 1), said("I no longer work at Siemens", 5)
    assert present(*entries) == {}
    assert only(*entries).until == NOON + timedelta(days=5)
    assert present(*entries, said("I work at Bosch", 9)) == {"me|employer": ["Bosch"]}


ACME = "The Acme project uses Django and Postgres 14"


@pytest.mark.parametrize(
    ("new", "stack"),
    [
        ("Acme upgraded to Postgres 16.", ["Django", "Postgres 16"]),
        ("We upgraded the Acme project from Postgres 14 to Postgres 16 last week", ["Django", "Postgres 16"]),
        ("The Acme project uses Postgres 16", ["Django", "Postgres 16"]),
        ("The Acme project uses Svelte 5", ["Django", "Postgres 14", "Svelte 5"]),
        ("Beta upgraded to Postgres 16", ["Django", "Postgres 14"]),
    ],
)
@pytest.mark.parametrize("in_conflict", [False, True])
def test_a_newer_version_takes_the_place_of_the_older_one(new: str, stack: list[str], in_conflict: bool) -> None:
    newer = said(new, 5, "b", conflicts_with=("a",) if in_conflict else ())
    told = present(said(ACME, 1, "a"), newer)
    assert sorted(told["acme|stack"]) == stack


def test_of_two_of_one_moment_a_fixed_order_decides_and_the_other_is_listed() -> None:
    known = only(said("I live in Lisbon", 1, "a"), said("I live in Porto", 1, "b"))
    assert (known.fact.value, [one.value for one in known.before]) == ("Porto", ["Lisbon"])


def test_a_value_names_all_its_entries_and_is_pinned_if_one_is() -> None:
    known = only(said("I live in Lisbon", 1, "a", pinned=True), said("My home is in Lisbon", 3, "b"))
    assert (known.source_ids, known.pinned, known.level) == (("b", "a"), True, 3)
    assert known.since == NOON + timedelta(days=1)


def test_what_cannot_be_read_any_more_tells_nothing() -> None:
    assert not profile_of("ann", [said("I live in Lisbon", 1, status="archived")])
    assert not profile_of("ann", [said("I live in Lisbon", 1, role="assistant")])


def test_a_name_alone_is_that_of_whom_the_user_told_of() -> None:
    alone, moved = said("Clara lives in Oslo", 2, "b"), said("My sister Clara has moved to Porto", 5, "c")
    known = {one.fact.memory_key: one for one in profile_of("ann", [said("Clara is my sister", 1), alone, moved])}
    assert [one.value for one in known["people|person|clara|home"].before] == ["Oslo"]
    assert not profile_of("ann", [alone])
    assert not profile_of("ann", [alone, said("Clara is my sister", 1, speaker="Bob")])[1:]
    of_two = said("Clara is my sister", 1), said("My colleague Clara is nice", 1)
    assert "clara|home" not in present(*of_two, alone)


def test_who_somebody_is_goes_on_when_something_of_them_changes() -> None:
    newer = said("Clara has moved to Porto", 5, "b")
    older = superseded(said("My sister Clara lives in Oslo", 1, "a"), newer)
    newer = newer.model_copy(update={"supersedes": (older.id,)})
    assert present(older, newer) == {"clara|relationship": ["sister"], "clara|home": ["Porto"]}
    over = said("Clara is no longer my sister", 5, "b", supersedes=("a",))
    assert present(superseded(said("My sister Clara lives in Oslo", 1, "a"), over), over) == {}


ENTRIES = st.lists(
    st.builds(
        lambda text, day, user, pinned: said(text, day, f"{user}-{text}-{day}", pinned=pinned).model_copy(
            update={"user_id": user}
        ),
        st.sampled_from(TEXTS),
        st.integers(0, 4),
        st.sampled_from(["ann", "bob"]),
        st.booleans(),
    ),
    max_size=8,
    unique_by=lambda entry: entry.id,
)


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.integers(0, 1000))
def test_neither_order_nor_repetition_nor_others_change_what_is_known(entries: list[Entry], seed: int) -> None:
    shuffled = entries.copy()
    random.Random(seed).shuffle(shuffled)
    known = profile_of("ann", entries)
    assert profile_of("ann", [*shuffled, *entries]) == known
    assert profile_of("ann", [entry for entry in entries if entry.user_id == "ann"]) == known
    own = {entry.id for entry in entries if entry.user_id == "ann"}
    assert {id_ for one in known for id_ in one.source_ids} <= own


def test_a_fact_that_is_told_often_is_of_a_higher_level() -> None:
    once = only(said("I love hiking", 1))
    often = only(said("I love hiking", 1, "a", repeat_count=1), said("I really love hiking", 5, "b"))
    assert (often.times, often.level) == (3, once.level + 1)
