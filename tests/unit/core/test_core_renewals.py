"""How many there are of something on another day, and one of two things that somebody gives up."""

from __future__ import annotations

import pytest

from services.shared.core.updates import leaves_some, relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have two exams on Friday.", "I have three exams in March now."),
        ("We have 3 guests on Friday.", "We have 5 guests on Sunday now."),
        ("I have two meetings on Friday.", "I have three meetings on Monday now."),
        ("Anna has two exams on Friday.", "Anna has three exams in March now."),
        ("There are 3 guests on Friday.", "There are 5 guests on Sunday now."),
        ("I see two patients on Monday.", "I see four patients on Tuesday now."),
        ("I teach 4 lessons on Monday.", "I teach 3 lessons on Thursday now."),
        ("We play two matches on Saturday.", "We play three matches on Sunday now."),
        ("I have one deadline in April.", "I have two deadlines in May now."),
        ("I have 2 shifts on Monday.", "I now have 3 shifts on Wednesday."),
        ("We have three dinners in December.", "We now have four dinners in January."),
        ("My class has 12 kids on Monday.", "My class has 14 kids on Tuesday now."),
        ("Our team has two meetings on Friday.", "Our team has three meetings on Monday now."),
        ("My room has 3 guests on Friday.", "My room has 2 guests on Saturday now."),
        ("I have two calls at 3pm.", "I have three calls at 5pm now."),
        ("I have two exams on 12 March.", "I have three exams on 14 April now."),
        ("We expect 10 people on Friday.", "We expect 12 people on Saturday now."),
        ("I take 2 pills on Mondays.", "I take 3 pills on Fridays now."),
        ("We need two tents on Friday.", "We need three tents on Saturday now."),
        ("I work 4 hours on Mondays.", "I work 6 hours on Tuesdays now."),
        ("The hall is booked for 20 people on Friday.", "The hall is booked for 30 people on Sunday now."),
        ("We ordered 3 pizzas for Friday.", "We ordered 5 pizzas for Sunday now."),
        ("I run 5 km on Tuesdays.", "I run 8 km on Saturdays now."),
        ("I have two exams on Friday.", "Now I have three exams in March."),
        ("I have two interviews next week on Monday.", "I now have one interview on Thursday."),
        ("The museum has 2 tours on Monday.", "The museum has 4 tours on Sunday now."),
        ("My dad has two appointments in May.", "My dad has three appointments in June now."),
        ("My train pass costs 20 euros in May.", "My train pass costs 30 euros in June now."),
        ("Practice is 2 hours on Monday.", "Practice is 3 hours on Friday now."),
    ],
)
def test_how_many_there_are_on_another_day_leaves_those_of_the_first(old: str, new: str) -> None:
    assert relation(old, new) != "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have two exams on Friday.", "I have three exams on Friday now."),
        ("We have 3 guests on Friday.", "We have 5 guests on Friday now."),
        ("I have two exams.", "I have three exams now."),
        ("I have three cats.", "I have four cats now."),
        ("I have yoga on Monday.", "I have yoga on Tuesday now."),
        ("I have an exam on 12 March.", "I have an exam on 14 March now."),
        ("I have yoga at 5 on Friday.", "I have yoga at 6 on Friday now."),
        ("I have my dentist appointment on Monday.", "I have my dentist appointment on Tuesday now."),
        ("I work 4 hours on Mondays.", "I work 6 hours on Mondays now."),
        ("We meet on Tuesdays.", "We meet on Thursdays now."),
        ("I start work at 9.", "I start work at 8 now."),
        ("My exam is on 12 March.", "My exam is on 14 April now."),
        ("My flight leaves at 8:40 on Friday.", "My flight leaves at 9:10 on Saturday now."),
    ],
)
def test_how_many_there_are_on_the_same_day_and_another_day_of_one_thing_change_it(old: str, new: str) -> None:
    assert relation(old, new) == "update"
    assert not leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work Mondays and Tuesdays.", "I no longer work Tuesdays."),
        ("I work Mondays and Tuesdays.", "I don't work Tuesdays anymore."),
        ("I work on Mondays and Tuesdays.", "I no longer work on Mondays."),
        ("I work Mondays and Tuesdays.", "I stopped working Tuesdays."),
        ("I teach yoga on Mondays and Fridays.", "I no longer teach yoga on Fridays."),
        ("I teach yoga on Mondays and Fridays.", "I don't teach on Fridays any more."),
        ("I swim on Mondays, Wednesdays and Fridays.", "I no longer swim on Wednesdays."),
        ("I drink tea and coffee.", "I no longer drink coffee."),
        ("I drink tea and coffee.", "I don't drink coffee anymore."),
        ("I drink tea and coffee.", "I stopped drinking coffee."),
        ("I speak French and Spanish at work.", "I no longer speak Spanish at work."),
        ("I play tennis and badminton.", "I no longer play badminton."),
        ("I play the piano and the violin.", "I stopped playing the violin."),
        ("I eat fish and meat.", "I no longer eat meat."),
        ("I sing in a choir and in a band.", "I no longer sing in the band."),
        ("I coach the juniors and the seniors.", "I no longer coach the juniors."),
        ("We rent a flat and a garage.", "We no longer rent the garage."),
        ("I take aspirin and insulin.", "I no longer take aspirin."),
        ("I read the Times and the Guardian.", "I no longer read the Times."),
        ("I cycle to work on Mondays and Thursdays.", "I no longer cycle to work on Thursdays."),
        ("I do yoga and pilates.", "I quit pilates."),
        ("I have Netflix and Disney.", "I cancelled Netflix."),
        ("I go to the gym on Mondays and Wednesdays.", "I no longer go to the gym on Mondays."),
        ("I work for Bosch and Siemens.", "I no longer work for Bosch."),
    ],
)
def test_who_gives_up_one_of_two_goes_on_with_the_other(old: str, new: str) -> None:
    assert relation(old, new) != "update" or leaves_some(old, new)


def test_one_of_two_that_is_given_up_is_a_change() -> None:
    assert relation("I work Mondays and Tuesdays.", "I no longer work Tuesdays.") == "update"
