"""What is still to be done and what only sounds like it; what closes it, in the same session and in a later one."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from services.shared.core.loops import Said, loop_in, loops_in
from tests.stores.builders import NOON


def asked_of(text: str) -> Said:
    return Said(text, "e", "user", NOON)


@pytest.mark.parametrize(
    "text",
    [
        "must buy milk",
        "gotta call the plumber",
        "I gotta pick up the parcel before six",
        "don't let me forget mums birthday on saturday",
        "I promised Jonas to fix his bike next week",
        "deadline for the thesis is 5 december",
        "need to return the library books",
        "We need to talk about Kevin tomorrow, he is late again",
        "I'm gonna water the plants tonight",
        "I need to sleep earlier, I have to book the sleep clinic",
        "I have to eat with the auditors on Monday",
        "I need to find a good book for Clara",
        "I will bring her the book, it was a great book",
        "must post the letter to Oma",
        "gotta feed the cat at eight",
        "we've gotta book the hall by Friday",
        "dont let me forget the dentist on tuesday",
        "Don't let me forget to water the basil",
        "I promised my sister to drive her to the airport on Sunday",
        "We promised the neighbours to mow their lawn",
        "The deadline for my tax return is March 31st",
        "deadline of the grant application is next friday",
        "have to hand in the form",
        "I need to drink the medicine at nine",
        "I need to return the film to the library",
        "I have to write a great song for the wedding",
        "I'll trust Ben with the keys on Friday",
        "I'll give her the keys",
        "I'll wait for the plumber at noon",
        "I'll leave the key under the mat",
        "I'll pass the salt to Tom",
        "I'll take your parcel to the post office",
        "I have to hand the essay in until 3 December",
        "todo for me: prune the vines",
        "oh and remind me, i need to send the landlord the meter reading",
    ],
)
def test_what_is_to_be_done_is_a_loop_however_it_is_said(text: str) -> None:
    assert loop_in(asked_of(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "We need to talk about Kevin is a great book",
        "I need to pee lol",
        "I need to sleep now",
        "I have to go to the bathroom",
        "must be nice",
        "I'll believe you",
        "ok, I'll believe you this time",
        "I will trust you on this",
        "I'll take your word for it",
        "I'll give you that",
        "I'll bet it rains",
        "I'll admit that was good",
        "I'll hold you to that",
        "I'll leave it at that",
        "I'll survive",
        "I'm going to die of boredom",
        "I'll spare you the details",
        "I must have left it there",
        "gotta love it",
        "gotta run",
        "I have to say the soup was good",
        "must admit that was fun",
        "must include three examples",
        "Don't let me forget who I am is a line of the song",
        "the deadline for the thesis was 5 december",
        "deadline for the thesis is unclear",
        "I promised Jonas to fix his bike, and I did",
        "I will survive was such a good song",
        "I gotta pee so bad",
        "i have to poop haha",
        "gotta take a nap",
        "I'm going to bed, I need to lie down",
        "I have to throw up",
        "We need to talk about Kevin was a disturbing film",
        "I have to go",
        "must be the weather",
        "must have been lovely",
        "gotta be kidding me",
        "I must say, Porto is lovely",
        "must say I liked it",
        "must watch!",
        "must return valid JSON",
        "Don't let me forget that I am happy",
        "the deadline for the paper is over",
        "I promised Jonas to fix his bike last year and did",
        "I will follow you into the dark is my favourite song",
        "do I gotta call the plumber?",
    ],
)
def test_titles_bodily_needs_and_turns_of_speech_are_none(text: str) -> None:
    assert loop_in(asked_of(text)) is None


def test_what_an_assistant_says_must_be_done_is_none() -> None:
    assert loop_in(Said("must buy milk", "e", "assistant", NOON)) is None


@pytest.mark.parametrize(
    "text", ["Then I will suggest fish as well.", "I will keep it in mind, Ines.", "I'll remember that."]
)
def test_what_an_assistant_says_of_its_own_manner_is_nothing_to_be_done(text: str) -> None:
    assert loop_in(Said(text, "e", "assistant", NOON)) is None
    assert loop_in(Said("I will send you the list tomorrow.", "e", "assistant", NOON)) is not None


@pytest.mark.parametrize(
    ("first", "then", "closes"),
    [
        ("I need to renew my passport before 15 december", "passport renewed!", True),
        ("I'll send Anna the photos", "anna got the photos", True),
        ("I'll send the photos to Anna tonight", "Anna has received the photos", True),
        ("I need to pay the rent", "rent paid", True),
        ("I'll send Anna the photos", "Tom got the photos", False),
        ("I'll send Anna the photos", "anna got the flowers", False),
        ("I need to renew my passport", "Kevin's passport renewed", False),
        ("I need to renew my passport", "passport not renewed", False),
        ("I'll send Anna the photos", "did Anna get the photos?", False),
        ("the deadline for the thesis is 5 december", "submitted the thesis", True),
        ("must buy milk", "milk bought", True),
        ("I have to book the ferry for May", "Ferry finally booked", True),
        ("gotta call the plumber", "called the plumber this morning", True),
        ("I promised Jonas to fix his bike next week", "fixed his bike", True),
        ("I'll give my sister the keys", "my sister has got the keys", True),
        ("I need to renew my passport", "my brother renewed his passport", False),
        ("I need to renew my passport", "I wish my passport renewed itself", False),
        ("I'll send the photos of Tom to Anna", "Tom got the photos", False),
        ("I'll send Anna the photos", "anna got the photos wrong", False),
        ("I need to pay the rent", "rent unpaid", False),
        ("I need to pay the rent", "the rent increased", False),
        ("I have to book the ferry", "hotel booked", False),
        ("I need to buy stamps", "Anna got the stamps", False),
        ("I need to call the plumber", "plumber called", False),
        ("I'll bring Tom the drill", "tom has got his drill", True),
        ("I'll give her the keys", "she got the keys", False),
        ("I have to feed the cat", "cat fed", True),
        ("I need to pay Tom", "Tom paid", False),
        ("need to call the plumber", "I have got to call the plumber", False),
        ("I need to pay the deposit", "deposit paid too", True),
        ("i need to apply for the dorm", "applied for the dorm btw", True),
        ("I have to write the load test", "the load test is merged btw", True),
        ("I have to write the load test", "the docs are merged", False),
    ],
)
def test_it_is_closed_where_object_and_person_agree(first: str, then: str, closes: bool) -> None:
    said = [Said(first, "e1", "user", NOON, "c1"), Said(then, "e2", "user", NOON, "c1")]
    assert loops_in(said)[0].is_open != closes


@pytest.mark.parametrize(
    ("first", "then", "closes"),
    [
        (["I'll send her the marmalade by Friday."], "sent it", True),
        (["I'll send her the marmalade by Friday.", "I have to buy stamps"], "Sent it!", True),
        (["I'll send her the marmalade.", "I'll send Tom the photos."], "sent it", False),
        (["I need to get milk"], "got it", False),
        (["I'll send her the marmalade."], "did it", False),
        (["I'll send her the marmalade."], "it's done", False),
        (["I need to renew my passport", "I'll call Anna"], "Called her yesterday", False),
        (["I need to renew my passport"], "renewed it", True),
        (["I have to pay the plumber"], "I've finally paid it", True),
        (["I need to take the bins out"], "took it", False),
        (["I'll make a cake"], "made it!", False),
        (["I have to book a flight", "I need to book a hotel"], "booked it", False),
        (["I'll send her the marmalade."], "I haven't sent it", False),
        (["I'll send her the marmalade."], "sent it?", False),
        (["I'll send her the marmalade."], "My boss wanted the report. Sent it.", False),
        (["I'll send her the marmalade."], "Sent.", False),
        (["I'll send her the marmalade."], "he sent it", False),
        (["I need to pay the rent"], "paid it this morning", True),
    ],
)
def test_a_pronoun_closes_the_only_one_of_its_verb_in_a_later_conversation(
    first: list[str], then: str, closes: bool
) -> None:
    later = [Said(part, "later", "user", NOON + timedelta(days=1), "c2") for part in then.split(". ")]
    found = loops_in([*(Said(text, text, "user", NOON, "c1") for text in first), *later])
    assert any(not one.is_open for one in found) == closes


def test_of_several_a_pronoun_closes_the_newest_of_its_conversation() -> None:
    texts = [("I'll send Tom the photos.", "c1"), ("I'll send her the marmalade.", "c2"), ("sent it", "c1")]
    found = loops_in([Said(text, text, "user", NOON, conversation) for text, conversation in texts])
    assert [one.is_open for one in found] == [False, True]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("deadline for the thesis is 5 december", date(NOON.year, 12, 5)),
        ("I need to renew my passport before 15 may", date(NOON.year, 5, 15)),
        ("I have to file it by march 31st", date(NOON.year, 3, 31)),
    ],
)
def test_it_is_due_on_a_day_that_is_named_in_lower_case(text: str, due: date) -> None:
    loop = loop_in(asked_of(text))
    assert loop is not None
    assert loop.due_on == due


@pytest.mark.parametrize(
    "text",
    [
        "My ramipril is nearly empty, I need to get a new prescription.",
        "I lost my card, I need to call the bank.",
        "Mum is coming, I have to clean the flat by Friday.",
        "It's Anna's birthday on Friday, I need to buy a present.",
        "I'm out of insulin, I need to order more.",
        "The boiler is leaking and I need to call the plumber.",
        "My passport is expired, I have to renew it.",
        "to do this week: reminder to Brouwers, buy new pen tip, dentist for Zosia",
        "To do: call the bank",
        "todo list for tomorrow: pay rent, buy milk",
        "I need to study dutch more, I must register for the exam too",
        "The car failed its MOT, so I have to book the garage.",
        "We're out of coffee - I need to buy some.",
        "My tooth hurts, I need to see the dentist.",
        "The visa runs out in May and I have to renew it.",
        "The kids have no shoes, we need to buy new ones.",
        "The exam is in June, I have to register by Friday.",
        "The landlord called, I have to pay the deposit.",
        "I'm sick so I have to cancel the dinner.",
        "My phone broke, I must take it to the shop.",
        "The lease ends in May; I need to give notice.",
        "The dog is limping and we have to take him to the vet.",
        "My sister arrives at 6, I promised to pick her up.",
        "I see the doctor on Monday, I have to bring my insurance card.",
        "I burnt the cake, now I need to bake another one.",
        "It's cold and I need to bleed the radiators.",
        "The flight is booked, I have to find a hotel.",
        "I was late again, I need to apologise to Ines.",
        "Rain is coming, we have to cover the woodpile.",
        "The printer is empty and I need to order ink.",
        "Rufus had a seizure on friday, the vet put him on Epiphen. need to book a blood test for him in two weeks",
        "I need to see a doctor about my knee.",
        "I need to see my gran on Sunday.",
        "I need to find out the price of the flights and book them.",
        "I must water them every evening from 3 July till 24 July.",
        "I must remember to call Jo",
        "My boss wants numbers, I need to finish the report by noon.",
        "The fridge is empty, I need to go shopping",
        "I need to learn my lines by Friday.",
        "The heating failed, so I need to ring the landlord",
        "Our train is cancelled and we need to rebook",
        "got a letter from the tax office, i have to answer by 12 march",
        "my bike was stolen, i have to report it to the police",
        "Petrol is nearly empty, I have to fill up",
        "The baby is out of nappies and I need to get some",
        "Tomorrow is bin day, I have to put the bins out",
        "The tooth broke, I must see Dr. Klein",
        "We are invited on Saturday, I need to bake a cake",
        "The contract ends in June, we have to find a flat",
        "Essay is due Friday, I need to write 2000 words",
        "I spilled wine on the sofa and I need to clean it",
        "the wifi is down, gotta call the provider",
        "Mum turned 70, I need to send her flowers",
        "Ben lent me 50 euros, I have to pay him back",
        "The cat is limping and I gotta take her to the vet",
        "my license expires in may and i need to renew it",
        "We lost the key, so we have to change the lock",
        "Exam on 3 June, I need to revise chapter 4",
    ],
)
def test_what_is_to_be_done_is_told_with_its_reason(text: str) -> None:
    assert any(loop_in(asked_of(part)) for part in text.split(". "))


@pytest.mark.parametrize(
    "text",
    [
        "My mother fell, she must rest for 6 weeks",
        "operation of mama went good, she must do rehab 6 weeks",
        "I need to know what the capital of Peru is.",
        "I need to find out who sang Yesterday.",
        "I need to see a picture of a heron.",
        "I must remember to breathe, haha",
        "My brother is ill, he has to stay in bed",
        "My daughter has a test, she needs to learn the verbs",
        "Tom is late, he must call his boss",
        "I need to know the boiling point of ethanol",
        "I need to know if it rains tomorrow",
        "I need to understand recursion",
        "I need to figure out why this loop never ends",
        "I need to know how tall Everest is",
        "I need to find out what time it is in Tokyo",
        "I need to see an example of a closure",
        "I need to see the code",
        "I'm hungry, I need to eat",
        "I'm tired and I need to sleep",
        "It's late, I have to go",
        "I'm bursting, I need to pee",
        "In my dream I was a spy and I had to jump",
        "In the game I'm a knight and I need to save the princess",
        "In my novel she leaves and I have to kill the dragon",
        "If it rains, I need to buy an umbrella",
        "If I lose my card, I need to call the bank",
        "When I'm old, I have to move to a home",
        "I have to give her a tablet every evening",
        "I live far away, I have to drive two hours every day",
        "I'm diabetic, I have to inject insulin daily",
        "I have a baby, I have to get up twice a night each night",
        "The vet says he's too fat and must get 180 g of diet food per day",
        "My neighbour is away, she has to be in Rome by Friday",
        "Do I need to call the bank, or do I need to write?",
        "The soup was good, I have to say",
        "It was lovely, I must say",
        "It was funny, I have to admit",
        "I lost my keys, should I call the locksmith?",
        "My sister thinks she needs to move",
        "My dad is in hospital, he must not eat",
        "Anna is pregnant, she has to take iron",
        "The dog is old, he needs to see the vet",
        "The team lost, they must win on Sunday",
        "I have to take metformin twice a day",
        "I must not lift more than 5 kilos",
        "I didn't have to pay, I was lucky",
        "You need to call the bank",
        "You look tired, you need to rest",
        "My boss is mad and needs to calm down",
        "Mum fell and she has to rest",
        "I had to call the bank yesterday and it took ages",
        "I have to say, the new flat is great and I love it",
        "The doctor says I need to lose weight",
        "My boss thinks I need to be faster",
        "I will never forgive him, I have to be honest",
        "It's raining, I need to vent",
        "I'm bored and I need to talk",
        "I'm stuck, I need help",
        "My head hurts, I need to lie down",
        "I have two cats and I have to admit they rule the house",
        "My son is six, he has to be picked up at 3",
        "My wife is a nurse, she has to work on Sundays",
        "The car is old and has to be inspected each year",
        "You have to see this film, it must be the best one",
        "I live in Bonn, I have to take the train every day",
        "She said I have to wait",
        "I've been ill, I had to cancel everything",
        "We have to be in Rome at 9 each Monday",
        "I need you to explain photosynthesis",
        "I need an answer, please",
        "What do I need to pack?",
        "I need to understand how taxes work",
        "I need to know more about Kafka",
        "I need to know, is it safe?",
        "My mum needs to call the bank",
        "The kids must be tired",
        "There must be a mistake, I have to laugh",
        "I must have dropped it, it must be at the gym",
        "I'd have to call the bank",
        "I won't have to pay, my boss will",
        "I used to need to nap, now I have to run every day",
        "Rex needs to go to the vet",
        "The team has to win, they must score twice",
        "Somebody has to tell her",
        "No one needs to know",
        "I don't need to buy milk, we have some",
        "I no longer need to call the bank",
        "It's my birthday, I'll be 40",
        "Anna is coming and she will bring the cake",
        "Tom said he will call the plumber",
    ],
)
def test_what_others_have_to_do_what_is_asked_and_what_is_a_habit_are_none(text: str) -> None:
    assert loop_in(asked_of(text)) is None


LINE_MARKS = {"- ", "* ", "• ", "☐ ", "1.", "2.", "1)", "2)"}


def lines(text: str, id_: str = "e1") -> list[Said]:
    return [Said(line, id_, "user", NOON, id_) for line in text.splitlines() if line]


@pytest.mark.parametrize(
    "text",
    [
        "**To do**:\n- call the vet",
        "## To do\n- call the vet\n- order ink",
        "TODO:\n* call the vet\n* ink",
        "Today I need to:\n- call the vet",
        "I still have to:\n• call the vet\n• order ink",
        "I've got to:\n- call the vet",
        "Hi!\nI need to:\n- call the vet\n\nThanks!",
        "☐ call the vet\n☐ order ink",
        "TODO\n- [ ] call the vet\n- [x] order ink",
        "I gotta:\n1) call the vet\n2) buy milk",
        "I need to buy:\n- milk\n- bread",
        "I need to call:\n- the vet\n- Ben",
        "Here's my to-do list:\n- call the vet\n- order ink",
        "My to do list for this week:\n1. call the vet\n2. order ink",
        "OK so I need to:\n- call the vet",
    ],
)
def test_each_line_of_a_list_of_to_dos_is_one(text: str) -> None:
    wanted = [line for line in text.splitlines() if line[:2] in LINE_MARKS and "[x]" not in line]
    assert [one.said.text for one in loops_in(lines(text))] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Things to do in Paris:\n- Louvre\n- Eiffel tower",
        "I need to know:\n- price\n- size",
        "What should I do:\n- call\n- wait",
        "I need help with:\n- taxes\n- rent",
        "I need:\n- milk",
        "What I did today:\n- called the vet\n- ordered ink",
        "- call the vet\n- order ink",
        "- [x] call the vet\n- [x] order ink",
        "Can you make a to-do list:\n- with boxes",
        "Should I:\n- rent a car\n- buy a car",
        "He needs to:\n- call the vet",
        "My kids need to do this week:\n- write an essay",
        "I don't need to:\n- call the vet",
        "I no longer have to:\n- call the vet\n- order ink",
        "Do I need to:\n- call the vet\n- sign?",
        "Things I don't need to do:\n- call the vet",
        "If I win I need to:\n- call the bank",
        "The app I'm building needs to:\n- parse files",
        "What do I need to do:\n- call the vet?",
    ],
)
def test_a_list_of_anything_else_is_none(text: str) -> None:
    assert loops_in(lines(text)) == []


def test_a_line_of_a_list_is_due_when_the_heading_says_and_closed_by_itself() -> None:
    text = "I need to do this by Friday:\n- call the vet\n- buy ink"
    vet, ink = loops_in([*lines(text), *lines("Called the vet.", "e2")])
    assert [vet.state, ink.state] == ["done", "open"]
    assert ink.due_on == NOON.date() + timedelta(days=(4 - NOON.weekday()) % 7 or 7)


@pytest.mark.parametrize(
    "text",
    [
        "I need to do two things today: call the vet and order ink.",
        "I promised my sister I'd call her doctor.",
        "I told the landlord that I would paint the fence.",
        "We promised the kids we would build a treehouse.",
        "I don't have time today, I'll call the bank tomorrow.",
        "I assured Ben I'd return the drill",
        "Errands today: post office, bank",
    ],
)
def test_a_promise_that_is_told_and_a_row_behind_a_colon_are_to_be_done(text: str) -> None:
    assert loop_in(asked_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "call the vet",
        "I told my boss I would love it.",
        "I told Ben I would never come.",
        "I told you I'd fail.",
        "Ben told me he would fix the bike.",
        "She promised she would call.",
        "I promised I would be good",
        "I promised myself I would never drink again.",
        "They told me I would get a refund.",
        "I was told I would get the keys.",
        "I wish I had told Ben I would fix it.",
        "Did I tell Ben I'd fix his bike?",
        "I never promised Ben I would fix it.",
        "I told Ben I wouldn't fix his bike.",
        "✅ call the vet",
        "[] is an empty list in Python",
        "How do I write - [ ] in markdown?",
        "I decided not to go to the party, I'll stay at home.",
        "I decided not to fly, I'll take the train.",
        "My to-do list is long.",
    ],
)
def test_what_was_only_told_or_decided_against_is_none(text: str) -> None:
    assert loop_in(asked_of(text)) is None
