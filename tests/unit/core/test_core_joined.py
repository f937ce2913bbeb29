"""Statements with a question, a wish or a mark beside them, and questions that only look like such statements."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from services.shared.core.claims import is_change
from services.shared.core.fact_changes import effects
from services.shared.core.facts import facts_in
from services.shared.core.joined import own_statements
from services.shared.core.over import words_of_over
from services.shared.core.statements import clauses
from services.shared.core.updates import relation

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def told(text: str) -> list[str]:
    return [fact.text for fact in facts_in(text, role="user", speaker=None, said_at=NOW)]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I've moved to Porto, any good bank there?", "Lives in Porto"),
        ("I'm allergic to kiwi, can I eat dragon fruit?", "Is allergic to kiwi"),
        ("I've moved to Porto, wish me luck!", "Lives in Porto"),
        ("My appointment has moved to 10 December, can you remind me?", "Appointment is planned for 10 December"),
        ("I've moved to Porto and need a bank, which one is good?", "Lives in Porto"),
        ("I've moved to Porto, can you note that?", "Lives in Porto"),
        ("I'm diabetic, can I eat dates?", "Is diabetic"),
        ("I take warfarin, can I drink cranberry juice?", "Takes warfarin"),
        ("My son is allergic to eggs, what cake can I bake?", "Son is allergic to eggs"),
        ("I live in Cork, how far is it to Dublin?", "Lives in Cork"),
        ("I drive a Dacia Duster, which oil does it need?", "Drives a Dacia Duster"),
        ("I'm allergic to kiwi - can I eat dragon fruit?", "Is allergic to kiwi"),
        ("I'm allergic to kiwi so can I eat dragon fruit?", "Is allergic to kiwi"),
        ("As I'm allergic to kiwi, can I eat dragon fruit?", "Is allergic to kiwi"),
        ("Since I'm vegan, what can I eat in Lyon?", "Eats vegan"),
        ("im vegan, what can i cook tonight", "Eats vegan"),
        ("I live in Porto, and where can I buy stamps?", "Lives in Porto"),
        ("Hey, I've moved to Porto, what's a good gym?", "Lives in Porto"),
        ("I live in Porto, where can I swim?", "Lives in Porto"),
        ("My sister lives in Kiel, is it nice there?", "Sister lives in Kiel"),
        ("I work at Siemens, do they have a union?", "Works for Siemens"),
        ("I’ve moved to Porto, thank God!", "Lives in Porto"),
        ("My dentist appointment is on Friday, do I need to fast?", "Dentist is planned for Friday"),
        ("I'm 35, is it too late to learn piano?", "Is 35 years old"),
        ("I live in Porto, thoughts?", "Lives in Porto"),
        ("I'm a nurse, how do I deal with night shifts?", "Is a nurse"),
        ("I've just moved to Leeds, anyone know a decent dentist?", "Lives in Leeds"),
        ("we moved to Ghent last week, how do I register my car", "Lives in Ghent"),
        ("I'm a vegetarian, what should I order at a steakhouse?", "Eats vegetarian"),
        ("my husband is allergic to shellfish, could you adapt the recipe?", "Husband is allergic to shellfish"),
        ("I have type 1 diabetes, is keto safe for me?", "Has type 1 diabetes"),
        ("I'm lactose intolerant, does feta count?", "Is allergic to lactose"),
        ("My boss is called Hanna, how should I address her?", "Hanna is their boss"),
        ("I live in Bath, which bus goes to Bristol?", "Lives in Bath"),
        ("I live in Bath, who's the mayor?", "Lives in Bath"),
        ("I speak Dutch, would that help in Afrikaans?", "Speaks Dutch"),
        ("I prefer tea, do you have any tips on oolong?", "Prefers tea"),
        ("I'm pregnant, am I allowed to eat sushi?", "Is pregnant"),
        ("I drive a Tesla, where's the nearest charger?", "Drives a Tesla"),
        ("I live in Bath, but where can I swim in winter?", "Lives in Bath"),
        ("My flight is on Friday at 8:15, when should I leave?", "Flight is planned for Friday at 8:15"),
        ("I work from home on Mondays, is that tax deductible?", "Habit: work from home on Mondays"),
        ("My name is Ana, what does it stand for?", "Is called Ana"),
        ("My partner is called Sam, got any gift ideas?", "Sam is their partner"),
        ("I take ibuprofen, is it ok to drink?", "Takes ibuprofen"),
        ("My dog Rex is 12, should I worry?", "Has a dog named Rex"),
        ("Hi there, I'm allergic to cats, which breeds are fine?", "Is allergic to cats"),
        ("Now that I live in Bath, which GP should I pick?", "Lives in Bath"),
        ("I've got asthma, any sports I should avoid?", "Has asthma"),
        ("I live in Bath... any tips?", "Lives in Bath"),
        ("I'm a teacher — how do I plan lessons?", "Is a teacher"),
        ("My mother lives in Rome, is there a direct train?", "Mother lives in Rome"),
        ("I live in Porto, have a dog, any tips?", "Lives in Porto"),
        ("I live in Porto, why is it so windy?", "Lives in Porto"),
        ("I'm allergic to kiwi, suggest a smoothie!", "Is allergic to kiwi"),
        ("I'm allergic to kiwi, please suggest a smoothie", "Is allergic to kiwi"),
        ("I'm allergic to kiwi, give me a recipe without it", "Is allergic to kiwi"),
        ("I've moved to Porto, help me find a bank?", "Lives in Porto"),
        ("I've moved to Porto 😊 any good bank there?", "Lives in Porto"),
    ],
)
def test_a_statement_is_read_beside_the_question_or_wish_that_is_joined_to_it(text: str, fact: str) -> None:
    assert told(text) == [fact]


@pytest.mark.parametrize(
    "text",
    [
        "If I moved to Porto, would I need a car?",
        "Having moved to Porto, should I register?",
        "You said I live in Porto, is that so?",
        "I live in Porto, right?",
        "I live in Porto, don't I?",
        "So I moved to Porto, did I?",
        "Is it true that I live in Porto, or did I move?",
        "Is it true that I live in Porto, can you check?",
        "When I lived in Porto, was I happy?",
        "I live in Porto, do I?",
        "I live in Porto, is that right?",
        "I live in Porto, is that still true?",
        "I live in Porto, am I right?",
        "I live in Porto, or do I?",
        "I live in Porto, how do you know?",
        "I live in Porto, who told you that?",
        "I live in Porto, where did you get that?",
        "I live in Porto, what makes you think so?",
        "Say I live in Porto, can I vote?",
        "Suppose I'm allergic to kiwi, can I eat dragon fruit?",
        "Let's say I live in Porto, what would I pay?",
        "Living in Porto, can I commute to Lisbon?",
        "Once I've moved to Porto, can I keep my number?",
        "As soon as I've moved to Porto, can I vote?",
        "What if I'm allergic to kiwi, can I eat dragon fruit?",
        "Should I say that I live in Porto, is that wise?",
        "Do you think I'm allergic to kiwi, can it be?",
        "I have keys but no doors, what am I?",
        "I'm allergic to kiwi, how do you say that in French?",
        "I live in Porto, is that correct English?",
        "I live in Porto, can you translate that?",
        "I live in Porto, correct?",
        "I live in Porto, can you confirm?",
        "I moved to Porto, when was that?",
        "I moved to Porto, when did I do that?",
        "I've moved to Porto, or was it Braga, which one is it?",
        "Do I live in Porto, and is it nice?",
        "How come I live in Porto, isn't it Braga?",
        "Before I moved to Porto, where did I live?",
        "Unless I'm allergic to kiwi, can I eat it?",
        "I live in Porto, isn't that so?",
        "Imagine I'm vegan, what do I cook?",
        "You think I'm vegan, why do you think so?",
        "Did I tell you I live in Porto, do you remember?",
        "Am I vegan, can you see that?",
        "Assuming I live in Porto, what taxes do I pay?",
        '"I live in Porto, any good bank there?" is what she wrote.',
        "In theory I live in Porto, what would change?",
        "To live in Porto, do I need a visa?",
        "After I've moved to Porto, should I register?",
        "Can I say I live in Porto, what do you think?",
        "I'm your boss in this game, you're Ada, what do you say?",
        "Say I'm a teacher, how would I plan lessons?",
        "Had I moved to Rome, would I be happy?",
        "I live in Rome, no?",
        "I live in Rome, yes?",
        "I live in Rome, isn't it?",
        "I'm a nurse, aren't I?",
        "I still live in Rome, don't I?",
        "My sister lives in Rome, doesn't she?",
        "My sister lives in Rome, does she not?",
        "My sister lives in Rome, is that accurate?",
        "My boss is Hanna, is it?",
        "My dentist appointment is on Friday, isn't it?",
        "My dentist appointment is on Friday, is it still?",
        "My appointment is on Friday, does that sound right?",
        "My appointment is on Friday, or is it Thursday?",
        "So I'm allergic to nuts, how do you know that?",
        "Ok so I live in Rome, says who?",
        "If my boss is Hanna, who is yours?",
        "When my mum lives in Rome, can I visit?",
        "Whenever I'm vegan, do I feel better?",
        "Would you say I live in Rome, or is it Milan?",
        "Can you tell me that I'm a nurse, is that possible?",
        "Why do you think I live in Rome, is that in your notes?",
        "Who says I'm vegan, was it me?",
        "Where it says I live in Rome, can you change that?",
        "Is it ok that I'm vegan, will they mind?",
        "Pretend I live in Rome, what do you see?",
        "Roleplay: I'm a nurse, what do you ask?",
        "Riddle: I'm a plant, what colour am I?",
        "Let us say I'm 70, can I retire?",
        "Being a nurse, can I retire early?",
        "Were I a nurse, could I retire?",
        "In case I'm allergic to nuts, what do I do?",
        "Given I live in Rome, would I pay less?",
        "Even if I'm vegan, can I wear leather?",
        "I'd say I'm a nurse, wouldn't you?",
        "The day I moved to Rome, was it raining?",
        "Until I moved to Rome, did I work?",
        "As a nurse, can I retire?",
        "What would you do: I live in Rome, what then?",
        "Does it matter that I live in Rome, or not?",
        'How do I say "I\'m a nurse, can I help?" in French?',
        "I live in Rome, is that what you have?",
        "I'm a nurse, is that what I said?",
        "I'm vegan, did I say that?",
        "I'm vegan, do you think?",
        "You know I'm a nurse, do you?",
        "You told me I live in Rome, when was that?",
        "Did you note that I'm vegan, can you look?",
        "Could it be that I'm a nurse, what do you have?",
    ],
)
def test_what_is_one_question_states_nothing(text: str) -> None:
    assert told(text) == []
    assert not is_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook tonight, any ideas?",
        "My friend lives in Rome, or so she says, is that far?",
        "I was thinking, could I live in Rome?",
        "I heard nuts are bad, am I allergic to nuts?",
        "Sorry, do I live in Rome?",
        "I forgot, am I vegan?",
        "I'd love to live in Rome, is it expensive?",
        "I want to be a nurse, what do I study?",
        "I hope I'm not allergic to nuts, can I test it?",
        "I wish I lived in Rome, is it nice?",
        "I might move to Rome, any tips?",
        "I may be allergic to nuts, how do I find out?",
        "I think I'm allergic to nuts, how do I find out?",
        "I'm not vegan, why do you ask?",
        "I don't live in Rome, can you fix that?",
        "I never worked at Bosch, where did that come from?",
        "I used to live in Rome, what changed there?",
        "I lived in Rome in 2010, what was the weather like?",
        "I almost moved to Rome, what stopped me?",
        "My character is a nurse, what should she do?",
        "In my novel I live in Rome, what should happen next?",
        "I'm writing a story, my hero lives in Rome, any ideas?",
        "Translate this: I live in Rome, can I help you?",
        "How would you say: I'm vegan, do you have a menu?",
        "I live in Rome, quote unquote, get it?",
        "She said I'm allergic to nuts, is she a doctor?",
        "A friend asked: I'm vegan, can I eat honey?",
        'My friend says "I\'m vegan, can I eat honey?"',
        "Somebody on Reddit wrote I'm vegan, what do I do?",
        "Someone who is vegan, can they eat honey?",
        "People say I'm a nurse, do I look like one?",
        "I feel like I live in Rome, is that weird?",
        "I basically live at the office, what can I do?",
        "I'm married to my job, how do I stop?",
        "I'm dying to see Rome, when should I go?",
        "I'm allergic to Mondays, who isn't?",
        "I'm starving, what's for dinner?",
        "I'm Batman, who are you?",
        "I'm all ears, what's up?",
        "I live for pizza, what about you?",
        "I live in hope, do you?",
        "I'm in Rome for a week, what should I see?",
        "I'm visiting my sister in Rome, any tips?",
        "I'm looking for a job, any leads?",
        "I've got a question, how do I reset it?",
        "I've got a meeting, can we talk later?",
        "We could meet on Friday, does that work?",
        "Let's move the meeting to Friday, is that ok?",
        "Shall we move the meeting to Friday, or is Monday better?",
        "I was going to move to Rome, should I still?",
        "If only I lived in Rome, wouldn't that be nice?",
        "Not that I'm vegan, but what do vegans eat?",
        "It's not like I'm allergic to nuts, is it?",
        "It's as if I lived in Rome, isn't that odd?",
        "Is my sister, who lives in Rome, older than me?",
        "Does my dentist appointment, which is on Friday, clash with yoga?",
        "Either I'm allergic to nuts or to milk, how do I tell?",
        "I'm either a nurse or a doctor, which one fits better?",
        "My name isn't Ana, why do you call me that?",
        "Everyone thinks I'm a doctor, how do I correct them?",
        "You are a nurse and I live in Rome, what do you advise?",
        "Act as if I'm a nurse, what would I do?",
        "Answer as if I live in Rome, what is there to do?",
        "Nobody knows I'm vegan, how do I tell them?",
        "I told him I live in Rome, was that a lie?",
        "I lied that I'm vegan, how do I get out of it?",
        "I said I'm a nurse, should I have?",
        "I pretended I'm vegan, what now?",
        "I dreamt I moved to Rome, what does it mean?",
        "I tell people I'm a nurse, is that illegal?",
        "My CV says I'm a nurse, should I change it?",
        "My profile says I live in Rome, can you change it?",
        "It says here I live in Rome, where can I edit that?",
        "Google thinks I live in Rome, how do I fix it?",
        "My horoscope says I got a new job, when will it come?",
        "The form asks whether I'm vegan, what do I put?",
        "They think I work at Bosch, how do I explain?",
        "I sold the Golf, didn't I?",
        "I sold the Golf, when was that?",
        "If I sold the Golf, what would I get?",
        "After I sold the Golf, what did I drive?",
        "Say I sold the Golf, what could I get?",
        "Did I sell the Golf, or is it in the garage?",
        "My flight was cancelled, was it?",
        "My flight was cancelled, right?",
        "Once my flight is cancelled, can I get a refund?",
        "If my flight is cancelled, can I get a refund?",
        "Suppose I quit my job, what benefits do I get?",
        "Having sold the Golf, do I need insurance?",
        "I no longer live in Rome, do I?",
        "When my cat died, how old was she?",
        "Before my cat died, did I have a dog?",
        "I stopped smoking, when was it?",
        "I'm thinking of selling the Golf, what is it worth?",
        "I want to quit my job, how do I tell them?",
        "I'd sell the Golf, what would I get?",
        "Tom and Ann broke up, should I call her?",
        "My appointment moves to Friday, does it?",
        "My appointment could move to Friday, is that ok?",
        "They want to move my appointment to Friday, can I refuse?",
        "Should my appointment move to Friday, can you tell me?",
        "Why was my appointment moved, is Friday a holiday?",
        "How come I got fired, was I late?",
        "Selling the Golf, what do I need?",
        "You sold the Golf, how much did you get?",
    ],
)
def test_what_is_not_so_is_not_so_beside_a_question(text: str) -> None:
    assert told(text) == []
    assert not is_change(text)
    assert words_of_over(text) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My appointment is on 3 December.", "My appointment has moved to 10 December, can you remind me?"),
        ("I take 50 mg of sertraline.", "I take 75 mg of sertraline now, is that a lot?"),
        ("Our wedding is on 6 June.", "We moved the wedding to 13 June, could you update the list?"),
        ("My rent is 900 euros.", "My rent is 950 euros now, please remember that"),
        ("My rent is 900 euros.", "My rent is now 950 euros - is that legal?"),
        ("My rent is 900 euros.", "🏠 My rent is now **950 euros**"),
    ],
)
def test_a_change_is_one_beside_a_question(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Lisbon.", "I've moved to Porto, any good bank there?"),
        ("I live in Lisbon.", "I've moved to Porto, wish me luck!"),
        ("I live in Lisbon.", "**Update:** I've moved to Porto"),
        ("My mum lives in Kiel.", "My mum died on Sunday, how do I tell my kids?"),
        ("I work at Tesco.", "I got fired from Tesco yesterday, what should I do?"),
        ("My girlfriend is called Tuva.", "Tuva and I broke up, how do I get over it?"),
    ],
)
def test_a_fact_ends_beside_a_question(old: str, new: str) -> None:
    assert effects(new, [old]) != [None]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("**Update:** I've moved to Porto", ["Lives in Porto"]),
        ("_Update:_ I've moved to Porto.", ["Lives in Porto"]),
        ("[Update] I've moved to Porto.", ["Lives in Porto"]),
        ("Update - I've moved to Porto.", ["Lives in Porto"]),
        ("PS I've moved to Porto.", ["Lives in Porto"]),
        ("P.S. I've moved to Porto.", ["Lives in Porto"]),
        ("• I've moved to Porto.", ["Lives in Porto"]),
        ("— I've moved to Porto.", ["Lives in Porto"]),
        ("- [x] I've moved to Porto.", ["Lives in Porto"]),
        ("🎉 I've moved to Porto.", ["Lives in Porto"]),
        ("🎉🎉 I've moved to Porto! 🥳", ["Lives in Porto"]),
        ("I've moved to **Porto**", ["Lives in Porto"]),
        ("I'm allergic to **penicillin**", ["Is allergic to penicillin"]),
        ("I'm allergic to *penicillin*, and I live in __Cork__.", ["Is allergic to penicillin", "Lives in Cork"]),
        ("**Allergies:** I'm allergic to penicillin.", ["Is allergic to penicillin"]),
        ("• I live in Derby\n• I'm a welder", ["Lives in Derby", "Is a welder"]),
        ("* I live in **Derby**", ["Lives in Derby"]),
        ("I'm allergic to nuts 🥜", ["Is allergic to nuts"]),
        ("I'm allergic to nuts 🥜, can I eat pesto? 🙏", ["Is allergic to nuts"]),
        ("**I'm vegan.** What can I cook?", ["Eats vegan"]),
        ("I **really** don't live in Porto", []),
        ("# About me\nI'm a nurse", ["Is a nurse"]),
        ("❌ I live in Porto", []),
        ("my_var_name and I'm a nurse", ["Is a nurse"]),
        ("> I live in Porto", []),
        ("**Mum:** I'm allergic to nuts.", []),
        ("**Tom:** I live in Porto.\n**Ann:** I live in Braga, and you?", []),
        ("- [x] call the bank", []),
        ("I'm **not** allergic to nuts", []),
        ("I used to live in *Porto*", []),
    ],
)
def test_marks_are_no_part_of_a_statement(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "**Update:** I'm vegan 🥦, any tips?",
        "As I'm vegan so what now",
        "• a\n— b\n",
        "İ live in Porto, can I vote?",
        "",
    ],
)
def test_every_letter_stays_where_it_was(text: str) -> None:
    plain = own_statements(text)
    assert len(plain) == len(text)
    assert "vegan" not in text or plain.index("vegan") == text.index("vegan")


def test_a_dialogue_and_code_keep_their_signs() -> None:
    for text in ("— Hello.\n— I live in Porto.", "2*3*4 is a_b_c", "- [ ] call the vet", "- [x] call the vet"):
        assert own_statements(text) == text


def test_a_question_beside_a_statement_is_not_meant() -> None:
    assert [clause.meant for clause in clauses("I live in Porto, do I need a car?")] == [True, False]


@pytest.mark.parametrize("gap", [" ", "\t", "\n", " \n"])
def test_long_gaps_change_nothing_and_cost_no_more_than_their_length(gap: str) -> None:
    text = f"I live in Rome.{gap * 9000}Anna says: I live in Oslo.{gap * 9000}I am vegan."
    started = time.monotonic()
    own = own_statements(text)
    assert time.monotonic() - started < 5  # the square of it takes minutes
    assert len(own) == len(text)
    assert own.startswith(f"I live in Rome.{gap * 9000}")
