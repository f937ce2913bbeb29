"""What a newer statement does to older ones as their facts tell: replaced, in part, unclear, beside, or nothing."""

from __future__ import annotations

import pytest

from services.shared.core.fact_changes import Effect, effects, words_of_changed
from services.shared.core.fact_ends import ended_in

MOVED, CLARA_MOVED = "I have moved to Porto", "My sister Clara has moved to Porto"


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("I live in Lisbon", MOVED, "replaced"),
        ("Clara lives in Oslo", CLARA_MOVED, "replaced"),
        ("My sister Clara lives in Oslo", "Clara lives in Porto now", "replaced"),
        ("I work for Siemens", "I've just started at Zeiss", "replaced"),
        ("My home is in Lisbon", "Scratch that. I live in Porto.", "replaced"),
        ("My brother Jake lives in Derby.", "Jake's moved to Stoke.", "replaced"),
        ("My brother Jake lives in Derby.", "Jake's left knee hurts.", None),
        ("My sister Ana lives in Madrid.", "Ana moved to Valencia last month.", "replaced"),
        ("I live in Munich", "I moved to Berlin two months ago", "replaced"),
        ("My sister Jose lives in Leon.", "My sister José has moved to Porto.", "replaced"),
        ("My sister José lives in León.", "Jose lives in Porto now", "replaced"),
        ("My sister Jose lives in Leon.", "José's moved to Porto.", "replaced"),
        ("José lives in Leon.", "My sister Jose has moved to Porto.", "replaced"),
        ("My daughter Chloe is 7", "Chloé turned 8 on Saturday!", "replaced"),
        ("My brother İlker lives in Izmir.", "My brother Ilker has moved to Bursa.", "replaced"),
        ("My sister Jose lives in Leon.", "My brother José has moved to Porto.", None),
        ("My sister Jose lives in Leon.", "My sister Josefa has moved to Porto.", "beside"),
        ("My sister Jose lives in León.", "My sister José has moved to Leon.", None),
        ("I have a dog named Zoe.", "Zoë died", "replaced"),
        ("My daughter Mia is 7", "Mia turned 8 on Saturday!", "replaced"),
        ("I live in Munich", "I moved to Berlin 10 years ago", None),
        ("My favourite colour is green.", "Actually blue is my favourite colour these days.", "replaced"),
        ("My favourite band is Muse.", "My new favourite band is Wet Leg.", "replaced"),
        ("My phone number is 0151 234567.", "My new phone number is 0170 998877.", "replaced"),
        ("My phone number is 0151 234567.", "My new number is 0170 998877.", "replaced"),
        ("My phone number is 0151 234567.", "I got a new number: 0170 998877.", "replaced"),
        ("My phone number is 0151 234567.", "new mobile number: +49 170 998877", "replaced"),
        ("My phone number is 0151 234567.", "My mother got a new number: 0170 998877.", None),
        ("My phone number is 0151 234567.", "I got the plumber's number: 0170 998877.", None),
        ("My manager is Petra Novak.", "My locker number is 1234567 now.", None),
        ("I take ramipril in the morning.", "I am off the ramipril.", "replaced"),
        ("I take ramipril in the morning.", "My doctor has taken me off ramipril.", "replaced"),
        ("I take the bus every morning.", "I am off the bus.", None),
        ("I live in Lisbon", "I live now in stress", None),
        ("I live in Lisbon", "I live now in Porto from Monday to Friday", None),
        ("My address is Ringweg 7.", "My address is now Hofgasse 12.", "replaced"),
        ("I live in Lisbon and I work at Siemens", MOVED, "replaced in part"),
        ("I live in Lisbon", "I moved to Cursor", "unclear"),
        ("I live in Lisbon", "I moved to Marketing", "unclear"),
        ("I live in Lisbon", "I moved to Bad Krozingen", "unclear"),
        ("I live in Bonn", "I moved from Bonn to Kleinkems", "replaced"),
        ("I live in Lisbon", "I moved to East Berlin", "replaced"),
        ("I live in Lisbon", "I moved to Kleinkems, the flat is tiny", "replaced"),
        ("I work as a nurse at Siemens", "I no longer work at Siemens", "replaced in part"),
        ("i live in lisbon", "i have moved to porto", "unclear"),
        ("I work at Siemens", MOVED, "beside"),
        ("I work at Siemens", "I have moved to Porto and no longer work at Siemens", None),
        ("My colleague Clara lives in Oslo", CLARA_MOVED, None),
        ("I live in Lisbon", "I live in Porto", None),
        ("I live in Lisbon", "I have moved to Porto for the summer", None),
        ("I live in Lisbon", "I have moved to tears", None),
        ("I live in Lisbon", "We've moved to Thursday", None),
        ("I live in Lisbon", "My boss has moved to Porto", None),
        ("I work at Siemens", "I also work for Zeiss now", None),
        ("I work at Siemens", "I have joined Instagram", None),
        ("My girlfriend is Marta", "My wife Aisha lives in Porto now", "beside"),
        ("My name is Tom", "Call me Max now", None),
        ("I live in Porto", "I have moved to central Porto", None),
    ],
)
def test_the_facts_of_both_decide(old: str, new: str, effect: Effect | None) -> None:
    assert effects(new, [old]) == [effect]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I am a vegetarian", "I eat meat again."),
        ("I am vegan", "I went back to eating meat"),
        ("I'm vegan", "I am back to eating cheese"),
        ("I'm a vegetarian", "I started eating fish again last month"),
        ("I don't eat meat", "I eat meat again"),
        ("I'm allergic to shellfish", "Turns out I'm not allergic to shellfish after all, the test was negative."),
        ("I drive a red Golf", "I sold my car last week."),
        ("My car is a Golf", "We got rid of the car"),
        ("My dog is called Rex", "Rex died last night :("),
        ("Sarah is my wife", "My wife left me in september"),
        ("Mara is my girlfriend", "we broke up"),
        ("I smoke ten a day.", "quit smoking on sunday!"),
        ("I go to Slimming World on Tuesdays.", "Quit slimming world though"),
        ("I go to the gym on Mondays.", "I quit the gym"),
        ("Liam is my boyfriend.", "Liam's my ex now"),
        ("I am a vegetarian", "I eat meat again since the summer."),
        ("I don't drink coffee", "I drink coffee again"),
        ("I don't drink coffee", "I've started drinking coffee again."),
        ("My flatmate is Olga.", "Olga moved out in March."),
        ("My flatmate is Olga.", "My flatmate Olga moved out."),
        ("I study physics in Graz.", "I dropped out of uni."),
        ("I study physics.", "I graduated in June!"),
        ("I'm dating Tom.", "Tom and I are not together anymore."),
        ("I'm married to Tom.", "We are getting a divorce."),
        ("My mother has diabetes", "My mother passed away in spring"),
        ("I work at Siemens", "got fired today"),
        ("I'm pregnant", "Our daughter Ida was born yesterday!!"),
        ("I'm pregnant", "we lost the baby last week"),
        ("My dog is called Rex.", "Rex had to be put to sleep."),
        ("My dog is called Rex.", "Our dog Rex got run over yesterday"),
        ("We have a cat named Muffin", "Muffin was put down"),
        ("My mother lives in Kiel.", "My mother passed away."),
        ("My sister Clara lives in Oslo", "Clara died last week"),
        ("My husband Tom works at Bosch", "My husband Tom passed away in March"),
    ],
)
def test_an_end_is_told_in_many_ways(old: str, new: str) -> None:
    assert effects(new, [old]) == ["replaced"]
    assert words_of_changed(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My dog is called Rex", "Rex died... in the movie we watched"),
        ("I live in Berlin", "i've moved to Hamburg mentally"),
        ("Sarah is my wife", "we split up the bill"),
        ("I cycle to work.", "I quit work."),
        ("I run every morning.", "I stopped running late"),
        ("My sister is Olga.", "Olga moved out in March."),
        ("I study physics.", "I dropped out of the race"),
        ("I don't drink alcohol.", "I am back to work"),
        ("I don't eat pork.", "I eat beans again"),
        ("Sarah is my wife", "Sarah and I are not together at the office"),
        ("My wife Anna is a lawyer.", "My cousin Anna is no longer a lawyer."),
        ("My sister Mia is vegan.", "My niece Mia is no longer vegan."),
        ("I'm pregnant", "My sister's baby was born yesterday"),
        ("My wife drives a Polo", "I sold my car"),
        ("I drive a red Golf", "I sold my car keys"),
        ("I am a vegetarian", "Do I eat meat again?"),
        ("I am a vegetarian", "My brother eats meat again"),
        ("I am a vegetarian", "I eat beans again"),
        ("I am a vegetarian", "I am back to work"),
        ("My dog is called Rex", "Rex died laughing"),
        ("My dog is called Rex", "Rex was put in the car"),
        ("My mother lives in Kiel", "My mother's cat passed away"),
        ("My mother lives in Kiel", "My father passed away"),
        ("My mother lives in Kiel", "My mother almost died"),
        ("My mother lives in Kiel", "My mother passed the exam"),
        ("My sister Clara lives in Oslo", "The battery died"),
        ("My mother's birthday is on 4 May", "My mother passed away"),
    ],
)
def test_what_only_sounds_like_an_end_ends_nothing(old: str, new: str) -> None:
    assert effects(new, [old]) == [None]


def test_two_people_of_one_name_are_told_apart_where_others_tell_of_them() -> None:
    older = ["Clara is my sister", "Clara lives in Oslo"]
    assert effects(CLARA_MOVED, older) == [None, "replaced"]
    assert effects(CLARA_MOVED, [*older, "My colleague Clara is nice"]) == [None, "unclear", None]
    assert effects("Clara has joined Zeiss", ["Clara is my sister", "Clara works at Bosch"]) == [None, "replaced"]
    assert effects("Clara has joined Zeiss", ["Clara works at Bosch"]) == [None]  # nobody of theirs


def test_older_facts_are_looked_for_by_words_that_the_newer_one_does_not_have() -> None:
    assert "live" in (words_of_changed(MOVED) or "").split()
    assert "Clara" in (words_of_changed("Clara has moved to Porto") or "").split()
    assert words_of_changed("I live in Porto") is words_of_changed("The desk has moved to the cellar") is None


def test_a_text_of_any_length_is_read_quickly() -> None:
    hostile = "My sister Clara " * 5000 + "has moved to Porto " * 5000
    assert effects(hostile, [hostile] * 3) == [None] * 3


@pytest.mark.parametrize(
    "piece",
    ["Rex died ", "i quit my job at ", "today, ", "actually ", "to to ", "i am not ", "my ", "i eat meat again "],
)
def test_an_end_of_any_length_is_read_quickly(piece: str) -> None:
    assert all(len(one.value) <= 60 for one in ended_in(f"I quit my job at {piece * 5000} anymore"))
    assert ended_in(f"{piece * 5000} no longer") == ()
