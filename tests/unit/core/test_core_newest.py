"""What tells of a change goes before what it may have changed, and nothing else moves."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.core.newest import asks_for_latest, newest_first
from tests.stores.builders import an_entry

START = datetime(2026, 3, 1, tzinfo=UTC)


def said(text: str, day: int, **fields: Any) -> Entry:
    return an_entry("ann", text, created_at=START + timedelta(days=day), **fields)


def order_of(*entries: Entry, alike: float = 0.5, question: str = "", relevance: Sequence[float] = ()) -> list[int]:
    similarity = np.full((len(entries), len(entries)), alike, dtype=np.float32)
    return newest_first(entries, similarity, relevance or [1.0] * len(entries), question)


OLD = said("Standup is at 9:30", 0)


def test_a_newer_time_goes_before_the_old_one() -> None:
    assert order_of(OLD, said("Our lead likes tea", 1), said("The morning thing moved to 10:15", 2)) == [2, 0, 1]


@pytest.mark.parametrize("question", ["When was the standup first planned?", "what did we originally agree on?"])
def test_what_was_so_at_first_stays_before_what_changed_it(question: str) -> None:
    moved = said("The morning thing moved to 10:15", 2)
    assert order_of(OLD, moved, question=question) == [0, 1]
    assert order_of(OLD, moved, question="When is the standup?") == [1, 0]


@pytest.mark.parametrize(
    ("alike", "relevance", "order"),
    [(0.35, 0.5, [0, 1]), (0.35, 0.7, [1, 0]), (0.6, 0.5, [1, 0]), (0.6, 0.3, [0, 1]), (0.25, 1.0, [0, 1])],
)
def test_what_is_less_relevant_has_to_be_more_alike(alike: float, relevance: float, order: list[int]) -> None:
    moved = said("The standup moved to 10:15", 2)
    assert order_of(OLD, moved, alike=alike, relevance=[1.0, relevance]) == order


def test_of_two_changes_the_later_is_first() -> None:
    changes = (said("It moved to 10:15", 2), said("They moved it again, to 11:00", 5))
    assert order_of(OLD, *changes) == [2, 1, 0]


@pytest.mark.parametrize(
    "other",
    [
        said("The morning thing is at 10:15", 2),
        said("The morning thing moved to another room", 2),
        said("The morning thing moved to 9:30", 2),
        said("The morning thing moved to 10:15", -2),
        said("The morning thing moved to 10:15", 2, role="assistant"),
        said("The morning thing moved to 10:15", 2, speaker="Bob"),
    ],
    ids=["no cue", "no value", "the same value", "said before", "an echo", "somebody else"],
)
def test_what_is_no_later_change_of_the_same_voice_stays(other: Entry) -> None:
    assert order_of(OLD, other) == [0, 1]


def test_what_names_others_than_the_question_is_not_what_changed() -> None:
    question = "When does the flight to Lisbon leave?"
    lisbon = said("The flight to Lisbon leaves at 8:40", 0)
    assert order_of(lisbon, said("The flight to Porto now leaves at 9:50", 2), question=question) == [0, 1]
    assert order_of(lisbon, said("The flight to Lisbon now leaves at 9:50", 2), question=question) == [1, 0]
    assert order_of(lisbon, said("The flight now leaves at 9:50 on a Monday in June", 2), question=question) == [1, 0]
    assert order_of(lisbon, said("The flight to Porto now leaves at 9:50", 2)) == [1, 0]


def test_the_newer_side_of_a_conflict_goes_first_in_whatever_words() -> None:
    newer = said("Hofer rents us the flat", 2).model_copy(update={"conflicts_with": (OLD.id,)})
    assert order_of(OLD, newer, alike=0.0) == [1, 0]
    assert order_of(said("Huber rents us the flat", 0), newer, alike=0.0) == [0, 1]


def test_the_older_side_that_names_the_newer_one_does_not_go_before_it() -> None:
    newer = said("Hofer rents us the flat", 2)
    assert order_of(newer, OLD.model_copy(update={"conflicts_with": (newer.id,)}), alike=0.0) == [0, 1]


def test_what_is_not_alike_stays() -> None:
    assert order_of(OLD, said("My flight moved to 10:15", 2), alike=0.2) == [0, 1]


def test_an_old_echo_of_the_assistant_goes_behind_the_change() -> None:
    echo = said("Noted: standup at 9:30", 0, role="assistant")
    assert order_of(echo, said("Standup moved to 10:15", 2)) == [1, 0]


@given(
    st.lists(
        st.builds(said, st.sampled_from(["at 9:30", "now at 10:15", "moved to 11:00", "tea"]), st.integers(0, 9)),
        max_size=14,
    )
)
def test_nobody_is_lost_and_what_is_far_down_stays(entries: list[Entry]) -> None:
    order = order_of(*entries)
    assert sorted(order) == list(range(len(entries)))
    assert order[10:] == list(range(len(entries)))[10:]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My dentist appointment is on 5 May.", "My son's dentist appointment has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "Leo's dentist appointment has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "The dentist appointment of my son has moved to 9 June."),
        ("The appointment for Anna is on 5 May.", "The appointment for Leo has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "The dentist appointment for my son has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "I moved my daughter’s dentist appointment to 9 June."),
        ("My dentist appointment is on 5 May.", "Her dentist appointment has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "My son now has his dentist appointment on 9 June."),
        ("My dentist appointment is on 5 May.", "My dog's dentist appointment has moved to 9 June."),
        ("The dentist appointment is on 5 May.", "Mum's dentist appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "My dentist appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "My daughter's dentist appointment has moved to 9 June."),
        ("My parents' flight is on 5 May.", "My brother's flight has moved to 9 June."),
        ("Leo's flight is on 5 May.", "Anna's flight has moved to 9 June."),
        ("Leo's flight is on 5 May.", "My flight has moved to 9 June."),
        ("My meeting with Leo is on 5 May.", "My meeting with Anna has moved to 9 June."),
        ("I fly on 5 May.", "My wife's flight has moved to 9 June."),
        ("I see the dentist on 5 May.", "My husband's dentist visit was rescheduled to 9 June."),
    ],
)
def test_a_change_of_somebody_elses_stays_behind(older: str, newer: str) -> None:
    assert order_of(said(older, 0), said(newer, 2)) == [0, 1]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My dentist appointment is on 5 May.", "My dentist appointment has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "The dentist appointment has moved to 9 June."),
        ("My dentist appointment is on 5 May.", "My son moved my dentist appointment to 9 June."),
        ("My dentist appointment is on 5 May.", "Leo told me that the dentist moved it to 9 June."),
        ("My dentist appointment is on 5 May.", "Dr. Huber moved my appointment to 9 June."),
        ("My dentist's appointment is on 5 May.", "Our doctor's appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "My son's dentist appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "Leo's dentist appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "His dentist appointment has moved to 9 June."),
        ("My son's dentist appointment is on 5 May.", "It moved to 9 June."),
        ("My kid's dentist appointment is on 5 May.", "My son's dentist appointment has moved to 9 June."),
        ("Mum's birthday party is on 5 May.", "My mother's birthday party has moved to 9 June."),
        ("Leo and I see the dentist on 5 May.", "Leo's dentist appointment has moved to 9 June."),
        ("My meeting with Leo is on 5 May.", "My meeting has moved to 9 June."),
        ("My meeting with Leo is on 5 May.", "My meeting with Leo has moved to 9 June."),
        ("Standup is at 9:30", "Standup's moved to 10:15"),
        ("The morning thing is at 9:30", "Today's standup has moved to 10:15"),
        ("Standup is at 9:30", "Anna moved our standup to 10:15"),
        ("The team's standup is at 9:30", "Our standup moved to 10:15"),
        ("The launch of Apollo is on 5 May.", "Our launch moved to 9 June."),
        ("Our Apollo launch is on 5 May.", "Apollo's launch moved to 9 June."),
        ("The tickets for Hamilton are for 5 May.", "My tickets have been moved to 9 June."),
        ("Lisbon trip starts on 5 May.", "We moved the trip to 9 June."),
    ],
)
def test_a_change_of_the_same_persons_goes_first(older: str, newer: str) -> None:
    assert order_of(said(older, 0), said(newer, 2)) == [1, 0]


def test_who_speaks_is_the_one_of_their_name() -> None:
    older, newer = (
        said("Leo's flight is on 5 May.", 0, speaker="Leo"),
        said("My flight moved to 9 June.", 2, speaker="Leo"),
    )
    assert order_of(older, newer) == [1, 0]


@pytest.mark.parametrize(
    ("question", "text", "order"),
    [
        ("Do I still go to slimming world?", "Quit slimming world though, it got boring", [1, 0]),
        ("do I go to slimming world any more?", "I've given up slimming world", [1, 0]),
        ("When do I go to slimming world?", "Quit slimming world though, it got boring", [0, 1]),
        ("Do I still go to slimming world?", "Quit the gym, it got boring", [0, 1]),
        ("Do I still go to slimming world?", "Slimming world is fun", [0, 1]),
    ],
)
def test_what_ends_it_answers_whether_something_is_still_so(question: str, text: str, order: list[int]) -> None:
    goes = said("I go to Slimming World on Tuesdays", 0)
    assert order_of(goes, said(text, 9), question=question, alike=0.2, relevance=[1.0, 0.3]) == order


def test_a_parting_answers_whether_somebody_is_still_with_somebody() -> None:
    rows = (said("Ines is my girlfriend, she is from Porto", 0), said("Ines and I broke up.", 9))
    assert order_of(*rows, question="Am I still with Ines?", alike=0.2, relevance=[1.0, 0.3]) == [1, 0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Saved, 7304 for the key safe. Change it after Thursday.", "The key safe's number changed. It's 5182 now"),
        ("Standup is at half past nine", "The morning thing moved to quarter past ten"),
        ("I'm about A1 in Spanish", "Lucía tested me again, B1 now"),
        ("The long wall is 412 cm", "Oops, I measured with the skirting on, the long wall is 415.5"),
        ("Jellyfin listens on port 8096", "I put it behind https since my sister's tv complained, it's on 8920 now"),
    ],
    ids=["beside a day", "a time in words", "a code", "a slip", "a reason that is another's"],
)
def test_values_differ_however_they_are_said(old: str, new: str) -> None:
    assert order_of(said(old, 0), said(new, 2)) == [1, 0]


@pytest.mark.parametrize(
    ("question", "order"), [("How many guests are coming?", [0, 1]), ("When do we move?", [1, 0]), ("", [1, 0])]
)
def test_only_another_value_of_the_kind_asked_for_goes_first(question: str, order: list[int]) -> None:
    party = said("On 22 May we move, with 80 guests", 0)
    assert order_of(party, said("So we move on November 28th instead", 2), question=question) == order


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("What is the latest potassium?", [1, 0]),
        ("What was my last potassium?", [1, 0]),
        ("What was the potassium over the last week?", [0, 1]),
        ("What is the potassium?", [0, 1]),
    ],
)
def test_where_the_latest_is_asked_for_no_word_of_change_is_needed(question: str, order: list[int]) -> None:
    first = said("Potassium was 5.6, the doctor rang about it", 0)
    assert order_of(first, said("Bloods: potassium 5.0, kidneys stable", 9), question=question) == order


def test_what_shares_no_word_has_to_be_nearly_as_relevant() -> None:
    renate, falk = said("Physio is called Renate, tuesdays 8am", 0), said("Falk again, new job, wednesdays 9am", 5)
    assert order_of(renate, falk, question="who is Renate?", relevance=[1.0, 0.8]) == [0, 1]
    assert order_of(renate, falk, question="who is Renate?", relevance=[1.0, 0.95]) == [1, 0]


def test_what_says_it_in_the_same_conversation_is_about_what_was_said_there() -> None:
    job, changed = (
        said(text, day, conversation_id="c")
        for text, day in (("The job runs at 02:30", 0), ("good point. changed it to 4:15", 1))
    )
    assert order_of(job, changed, question="When does the job run?", relevance=[1.0, 0.8]) == [1, 0]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Do I own a caravan?", [1, 0]),
        ("Are we still camping in the caravan?", [1, 0]),
        ("Where is my caravan?", [1, 0]),
        ("Who has a caravan?", [0, 1]),
        ("Where did we go with the caravan?", [0, 1]),
        ("Do we camp in the caravan near Whitby?", [1, 0]),
        ("Is the camping near Whitby?", [0, 1]),
    ],
)
def test_an_end_answers_what_is_so_now_of_all_that_the_other_has_of_the_question(
    question: str, order: list[int]
) -> None:
    has = said("We go camping near Whitby with our caravan", 0)
    gone = said("The caravan was nicked, so no camping", 9)
    assert order_of(has, gone, question=question) == order


def test_of_two_ends_neither_gives_another_value() -> None:
    lent, home = said("I lent Wilf the drill on 3 May", 0), said("Wilf is home on 9 June, his leg broke", 9)
    assert order_of(lent, home, question="When did I lend the drill to Wilf?") == [0, 1]


@pytest.mark.parametrize(("question", "order"), [("How old is Elise?", [1, 0]), ("What is Elise like?", [0, 1])])
def test_numbers_in_words_are_values_where_a_number_is_asked_for(question: str, order: list[int]) -> None:
    older, newer = said("My granddaughter Elise is twelve", 0), said("Elise has moved up, she is thirteen", 99)
    assert order_of(older, newer, question=question) == order


@pytest.mark.parametrize(
    ("question", "is_latest"),
    [
        ("What is my present address?", True),
        ("Who is my landlord at present?", True),
        ("Which present did I buy for Ida?", False),
        ("Where is the birthday present?", False),
        ("What is my present for Tom?", False),
    ],
)
def test_a_present_is_no_present_state(question: str, is_latest: bool) -> None:
    assert asks_for_latest(question) is is_latest
