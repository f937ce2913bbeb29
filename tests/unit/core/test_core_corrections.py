"""Corrections that name nothing: which value of what was said before they change, if any."""

from __future__ import annotations

import pytest

from services.shared.core.corrections import corrects_unnamed, denied_by, denies, may_correct_unnamed

FLIGHT, SON, MEETING = "My flight leaves at 9:10.", "My son is called Kiko.", "The meeting is on Tuesday, 12 March."


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (FLIGHT, "No, it is 8:40"),
        (FLIGHT, "sorry, 8:40"),
        (FLIGHT, "No, it's at 8:40, not 9:10."),
        (f"I fly to Oslo. {FLIGHT}", "Wait, it is 8:40"),
        (SON, "no, his name is Kiki"),
        (SON, "Sorry, he's called Kiki."),
        (MEETING, "oops, Wednesday"),
        (MEETING, "Actually, the 13th."),
        ("I was born in 1980.", "I meant 1981."),
        ("My rent is 800 euros.", "Sorry, 850 euros."),
        ("Our room is number 12.", "oh sorry, it's number 21"),
        ("Mia is allergic to peanuts.", "It's not peanuts, it's hazelnuts."),
        ("Mia is allergic to peanuts.", "not peanuts but hazelnuts"),
        ("Our contact is Peter.", "Sorry, it isn't Peter, it is Milton."),
        ("My girlfriend's name is Sara.", "Her name is spelled Sarah, with an h at the end."),
        ("My girlfriend's name is Sara.", "It's spelled Sarah"),
        (SON, "Sorry, he is spelt Kyko, not Kiko"),
        (SON, "*Kika"),
        (SON, "Kika* damn autocorrect"),
        (SON, "Koko, not Kiko. autocorrect!"),
        (FLIGHT, "it's actually 8:40"),
        (FLIGHT, "should be 8:40"),
        (FLIGHT, "8:40, I mean"),
        (FLIGHT, "wait, I said 9:10, it's 8:40"),
        (FLIGHT, "I said 9:10 but meant 8:40"),
        (FLIGHT, "hang on, that's wrong, it's 8:40"),
        (MEETING, "scratch that, 21 March"),
        ("My locker number is 14.", "oops 41 not 14"),
        ("Mia is allergic to wasps.", "it was bees not wasps, sorry"),
        ("I'm allergic to wasps.", "it's bees I'm allergic to, not wasps"),
        ("The wifi code is tulip88.", "sorry, typo: tulip98"),
        ("Sam's teacher is Mrs Okoro.", "sorry, Mrs Okafor"),
        ("Sam's teacher is Mrs Okoro.", "sorry, Mr Okoro"),
        ("phone is 07700 900431", "no 07700 900413"),
        ("I live in Selby", "Scratch that, Goole."),
        ("Declan moved to Sligo", "i ment Galway"),
        ("my flat number is 4b", "sorry 4d, I always get it wrong"),
    ],
)
def test_another_value_of_the_same_kind_corrects(before: str, text: str) -> None:
    assert may_correct_unnamed(text)
    assert corrects_unnamed(before, text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (FLIGHT, "No, it is 9:10."),
        (FLIGHT, "No, it is 3 hours"),
        (FLIGHT, "No, it is 8:40?"),
        (FLIGHT, "It is 8:40"),
        (FLIGHT, "No, thanks"),
        (FLIGHT, f"No, it is 8:40 {'and so on ' * 10}"),
        ("Does my flight leave at 9:10?", "No, at 8:40"),
        ("My flight leaves at 9:10 and lands at 11:30.", "No, at 8:40"),
        ("My flight leaves at 9:10. My bus leaves at 9:30.", "No, at 8:40"),
        (MEETING, "No, on Tuesday"),
        (SON, "no, his name is Kiko"),
        ("I like tea.", "no, his name is Kiki"),
        ("I like tea.", "No, it is coffee"),
        ("I have 2 kids.", "No, they are 5 and 7"),
        ("I have 3 cats.", "No, it was 2 days ago"),
        ("I live at 12 Main Street.", "Sorry, wrong chat"),
        ("Mia is allergic to peanuts.", "Not bad, thanks"),
        ("My girlfriend's name is Sarah.", "Her name is spelled Sarah"),
        ("My girlfriend's name is Clara.", "Her name is spelled Sarah"),
        ("My girlfriend's name is Sara.", "Is her name spelled Sarah?"),
        ("Mia is allergic to peanuts.", "It's not cheap, it's good"),
        ("Is Mia allergic to peanuts?", "It's not peanuts, it's hazelnuts."),
        ("My locker number is 14.", "I have 41 books, not counting magazines"),
        ("My locker number is 14.", "see you at 5"),
        ("I'm allergic to wasps.", "I prefer tea, not coffee"),
        (FLIGHT, "I said hello, it's polite"),
        (FLIGHT, "sorry, back at 4pm"),
        (FLIGHT, "that should be fun"),
        (SON, "*laughs*"),
        (SON, "*Kiko"),
        (SON, "sorry, Kiko"),
        ("The wifi code is tulip88.", "typo"),
        ("I have two plots, 17 and 19.", "Wilf has 18, not 17."),
        ("I met Ana in Leeds.", "I mean Bea"),
        ("Sam's teacher is Mrs Okoro.", "sorry, Mrs Okoro"),
        ("Sam's teacher is Mrs Okoro.", "sorry, New York"),
    ],
)
def test_what_may_mean_something_else_corrects_nothing(before: str, text: str) -> None:
    assert not corrects_unnamed(before, text)


PEANUTS, CONTACT = "My daughter Mia is allergic to peanuts.", "Our contact at Initech is Peter Gibbons."


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("I am allergic to penicillin.", "I am not allergic to penicillin, it was amoxicillin."),
        ("I am allergic to penicillin and latex", "I'm not allergic to penicillin but to amoxicillin"),
        (PEANUTS, "The doctor said Mia is not allergic to peanuts, it is hazelnuts."),
        (PEANUTS, "The allergist told us that Mia isn't allergic to peanuts"),
        ("Mia is allergic to peanuts", "Turns out my daughter Mia isn't allergic to peanuts"),
        (CONTACT, "Peter Gibbons is not our contact at Initech"),
        (CONTACT, "Our contact at Initech is not Peter Gibbons, Milton Waddams is"),
        ("The launch is on Friday", "Anna said the launch isn't on Friday, it's on Monday"),
        ("My son likes broccoli", "My son doesn't like broccoli"),
        ("I have a dog named Rex", "I have no dog"),
        ("I work from home on Tuesdays and Fridays", "I don't work from home on Fridays"),
        ("I speak Dutch", "I can't speak Dutch"),
        ("My daughter Lena studies law in Vienna", "Lena no longer studies law in Vienna"),
    ],
)
def test_what_is_said_not_to_be_so_denies_what_was_stated(before: str, text: str) -> None:
    assert denies(before, text)
    assert denied_by(text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("My brother is allergic to nuts", "I am not allergic to nuts"),
        ("Mia has five dolls", "Mia is not five, she is six"),
        ("I am allergic to nuts", "My brother is not allergic to nuts"),
        ("Ben lives in Graz with Mia", "Mia does not live in Graz"),
        ("I work from home on Tuesdays", "I do not work from home on Fridays"),
        ("I am at work on Mondays", "I am not at work today"),
        ("I like tea", "I don't only like tea"),
        ("I always take the bus", "I don't always take the bus"),
        ("I don't like tea", "I don't like tea"),
        ("I used to like tea", "I don't like tea"),
        ("I am allergic to nuts", "Am I not allergic to nuts?"),
        ("I am allergic to nuts", "If I am not allergic to nuts, great"),
        ("I am allergic to nuts", 'She wrote: "I am not allergic to nuts"'),
        ("I like tea", "I don't think I like tea"),
        ("I have a dog", "I have no idea"),
        ("Mia is allergic to nuts", "She is not allergic to nuts"),
        ("", "I am not allergic"),
    ],
)
def test_what_is_said_of_something_else_denies_nothing(before: str, text: str) -> None:
    assert not denies(before, text)


@pytest.mark.parametrize("piece", ["i am not ", "the doctor said ", "no ", "not a but ", "my ", "*", "sorry, "])
def test_a_denial_of_any_length_is_read_quickly(piece: str) -> None:
    hostile = piece * 20_000
    assert not denies("I am allergic to nuts", f"{hostile} is not {hostile}")
    assert not may_correct_unnamed(hostile)
