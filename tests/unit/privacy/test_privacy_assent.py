"""What is a yes or a no to something that was announced, what is neither, and which of a list is chosen."""

from __future__ import annotations

import time

import pytest

from services.shared.privacy.assent import chosen, is_no, is_yes

YES = """
yes|Yes.|YES!|y|yess|yesss!|yep|yepp|yup|yeah|yea|ya|ja|sure|Sure, go ahead.|ok|okay|k|ok do it|confirm
Confirmed.|go ahead|do it|yes do it|Yes, please|yes please do|yep go on|Yes, delete it|Yes, delete them.
Yes, forget them both|yes forget it|Yes, forget that.|yes, get rid of it|Yes, erase everything
yes, delete all of them|Yes, both|yes, both of them|Yes, all of them please|Yes, I'm sure|yes i am sure
I'm absolutely sure, yes|absolutely|Of course|yes of course|Definitely!|yes, that's right
Yes, that's correct, go ahead|Yes, remove it from your memory|yes you can delete it|yes, you may delete them
please delete it|Please delete them.|delete it|delete both|forget both of them|erase them|yes yes|Yeah, sure
Yes thanks|yes, thank you|do it please|just do it|do it now|Yes, delete the memory
yes delete these two memories|yes, do that|yes I do|i confirm|yes, I want you to delete it
Yes, go on and delete it|OK, go ahead and delete them|fine|alright, do it|oh yes|hm, yes|ok yes|👍|Yes 👍|yes!!!
please do|proceed|yes, proceed|that's fine, go ahead|No problem, go ahead|sure thing|"yes"
yes, forget all of that|Go for it|I agree|by all means|Yes, wipe it|yes forget the three entries|yes delete
Aye|yes I'd like that|yes, now|Yes, forever|Yes, for good|yes pls|plz do it|yes sir|Yes, forget about it
yes, all three|Yeah please|ok sure|yes these|Yes confirm deletion|Yes, forget everything you listed
sí|Sì|ＹＥＳ|ｏｋ|Yes 👌|✔️ yes|👍🏽
Yes, you can|yes, it's ok|Yes, I am certain|yh|let's do it|okk do it
"""
NO = """
no|No.|nope|nah|n|nooo|cancel|stop|don't|dont|do not|never mind|nevermind|nvm|no thanks|No, thank you|no don't
nein|no wait|no, keep it|Wait, no|wait|hold on|hang on|Keep it|keep them|No, keep them both|keep both
keep that one|leave it|leave them alone|No, leave it as it is|leave it there|please don't|please don't do it
don't delete it|Don't forget them|no I still need it|No, I didn't mean that|let's not|That's not what I meant
no, keep all these|not now|not yet|not today|later|maybe later|rather not|I'd rather not|better not
I'd rather keep it|forget it|no forget it|ok forget it|Fine, forget about it|oh no|oh no, don't|actually no
Actually, keep it|sorry, no|ok, leave it|ok no|yeah no|absolutely not|of course not|definitely not
I changed my mind|I've changed my mind|no, I want to keep it|no no no|No way|no need|cancel that|stop it|abort
let me think|i'm not sure|not sure|I don't think so|I don't want that|👎|no, not that one|No, it's fine
not really|don't do that|do not delete them|No!!! Stop!|no please|keep everything|no, keep all of them
keep the memory|on second thought, no|No, I take it back|scratch that|hold on a second
Yes 🙅|Yes 🙅‍♂️|ok ❌|❌|Ok 🚫|yes ⛔|🛑|ok ✋|ｎｏ
no, do not delete anything|nothing|No, never|that's not what I meant, undo
"""
NEITHER = """
never coffee|Nothing beats tea|let's go to Rome|you can swim|wait a moment at the gate|yes, you can swim
Yes, but what about my sister|yes, but only the first one|Yes I like tea|yes I live in Porto
Yes, my name is Mia|sure 👎🏾|ｙｅｓ？|yes 🤔|ok❓
yes?|ok?|really?|No, Thursday|no, it is on Thursday|No nuts|Thanks|ok thanks|great, thanks
great|the first one|yes, the first one|Yes, and also forget my address|yes, forget the second one
yes delete it and tell me a joke|sure is hot today|go home|Yesterday I went home|okay, what's the weather
No problem|I am sure it was Tuesday|keep smiling|leave the house at eight|don't forget the milk
Don't forget that I am vegan|wait for me at the station|stop the car|nobody knows|notes|please|forget that
forget this|forget everything|delete everything|what|why|hm|it|both|right|exactly|correct|good|so|now|then
I do the dishes|cancel my subscription|Later today I fly to Rome|no sugar in my coffee|yes we can
do it yourself|all|Keep my address|no, keep my address|Ja, ich wohne in Wien|Si vive en Madrid|yes, in March
No, 4711|ok forget that|fine, forget that|yes, but
"""


def texts(table: str) -> list[str]:
    return [text for line in table.strip().splitlines() for text in line.split("|")]


@pytest.mark.parametrize("text", texts(YES))
def test_a_yes(text: str) -> None:
    assert is_yes(text)
    assert not is_no(text) or "forget" in text, "what says yes and means it is asked for first"


@pytest.mark.parametrize("text", texts(NO))
def test_a_no(text: str) -> None:
    assert is_no(text)
    assert not is_yes(text)


@pytest.mark.parametrize("text", texts(NEITHER))
def test_what_is_neither(text: str) -> None:
    assert not is_yes(text)
    assert not is_no(text)


@pytest.mark.parametrize("text", ["yes", "Yes, change it", "yes correct it", "update it please", "yes, fix that"])
def test_a_yes_to_a_change(text: str) -> None:
    assert is_yes(text, to_change=True)


@pytest.mark.parametrize("text", ["yes, delete it", "delete it", "change it", "Yes, forget them both"])
def test_a_yes_fits_what_was_announced(text: str) -> None:
    assert is_yes(text) != is_yes(text, to_change=True)


def test_hostile_text_is_judged_at_once() -> None:
    started = time.thread_time()
    for piece in ("yes ", "right now ", "do it ", "no no ", "all of the ", "it all ", "y"):
        text = (piece * 79)[:79]
        for asks in (is_yes, is_no):
            asks(text)
            asks(f"{text[:78]}x")
    is_yes("yes " * 100_000)
    assert time.thread_time() - started < 1


BIKES = ["My bike is a red Gazelle", "My other bike is a folding Brompton"]
THREE = [*BIKES, "My bike for winter is a Koga"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("the second one", (2,)),
        ("only the first", (1,)),
        ("just number 2 please", (2,)),
        ("#1", (1,)),
        ("2", (2,)),
        ("I meant the second", (2,)),
        ("only the Brompton", (2,)),
        ("the red one", (1,)),
        ("forget the folding one, please", (2,)),
        ("yes, but not the first", (2,)),
        ("keep the Gazelle", (2,)),
        ("don't delete the first", (2,)),
        ("all but the first", (2,)),
        ("everything except the Brompton", (1,)),
        ("1 and 2", (1, 2)),
        ("only the second then", (2,)),
        ("the last from your memory", (2,)),
        ("not the first though", (2,)),
    ],
)
def test_a_place_or_a_word_of_only_one_chooses(text: str, places: tuple[int, ...]) -> None:
    assert chosen(text, BIKES) == places


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "ok", "thanks", "only", "not", "the bike", "what is the second one?", "the Brompton?", "keep both",
     "I ride the Brompton", "my Brompton is stolen", "where is my Brompton", "Nice weather.", "only " * 40],
)  # fmt: skip
def test_what_names_none_or_several_or_tells_something_chooses_nothing(text: str) -> None:
    assert chosen(text, BIKES) == ()


def test_what_is_excepted_leaves_all_the_others() -> None:
    assert chosen("yes, but not the second", THREE) == (1, 3)
    assert chosen("all except the Koga", THREE) == (1, 2)
    assert chosen("only the first and the last", THREE) == (1, 3)
