"""Notes in the third person tell what their user would say; what anybody says in a chat is left as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.core.facts import facts_of
from services.shared.core.notes import as_user_says, in_first_person
from services.shared.core.slots import profile_of
from tests.stores.builders import NOON, an_entry, minutes

SAID = [
    ("User lives in Lisbon and works at Siemens.", "I live in Lisbon and work at Siemens."),
    ("The user's name is Alex", "My name is Alex"),
    ("Name is John", "My name is John"),
    ("Favorite movies are Heat and Alien", "My favorite movies are Heat and Alien"),
    ("Is a nurse", "I am a nurse"),
    ("User is called Merle", "My name is Merle"),
    ("User's name: Aylin", "My name is Aylin"),
    ("Sister Clara lives in Oslo", "My sister Clara lives in Oslo"),
    ("Lives in Kiel with wife Rosa", "I live in Kiel with my wife Rosa"),
    ("Likes pizza but hates olives", "I like pizza but hate olives"),
    ("Allergic to nuts", "I am allergic to nuts"),
    ("User (Alex) doesn't like coriander", "I do not like coriander"),
    ("User no longer eats meat", "I no longer eat meat"),
    ("User watches football with their son Leo", "I watch football with my son Leo"),
    ("User carries an EpiPen; user studies biology", "I carry an EpiPen; I study biology"),
    ("- User moved to Berlin\n- Rosa moved to Rome", "- I moved to Berlin\n- Rosa moved to Rome"),
    ("User has a cat. His sister has a dog.", "I have a cat. His sister has a dog."),
]
OF_OTHERS = [
    "User stories are due on Friday",
    "User interface is slow",
    "Users like the new design",
    "Rosa likes tea",
    "I like tea",
    "Our user likes tea",
    "Liked by everybody",
    "Names are hard",
    "Sisters of Mercy is a band",
]


@pytest.mark.parametrize(("note", "said"), SAID)
def test_a_note_is_read_as_its_user_would_say_it(note: str, said: str) -> None:
    assert in_first_person(note) == said


@pytest.mark.parametrize("text", OF_OTHERS)
def test_what_is_not_of_the_user_stays_as_it_is(text: str) -> None:
    assert in_first_person(text) == text


@given(st.text(alphabet="User 'slikes.\n and no longer isn’t has-(A)", max_size=80))
def test_what_was_read_once_stays_as_it_is(text: str) -> None:
    said = in_first_person(text)
    assert in_first_person(said) == said


def test_only_a_note_is_read_so() -> None:
    text = "User lives in Lisbon"
    kept = {"manually_saved": True}, {"source_ids": ("mem0:1",)}, {"source_ids": ("zep:1",)}
    assert [as_user_says(an_entry("ann", text, **how)) for how in kept] == ["I live in Lisbon"] * 3
    assert as_user_says(an_entry("ann", text, source_ids=("chatgpt:1",))) == text
    assert facts_of(an_entry("ann", text)) == ()


def test_a_fact_of_a_note_is_all_of_its_text() -> None:
    (fact,) = facts_of(an_entry("ann", "User lives in Lisbon", manually_saved=True))
    assert (fact.memory_key, fact.value, fact.span) == ("profile|person|me|home", "Lisbon", (0, 20))


def test_what_a_note_says_ends_what_another_said() -> None:
    told = [an_entry("ann", "User has a dog named Rex", source_ids=("mem0:1",))]
    told += [an_entry("ann", "User's dog Rex died", source_ids=("mem0:2",), last_said_at=NOON + minutes(1))]
    (pet,) = profile_of("ann", told)
    assert pet.until == NOON + minutes(1)
