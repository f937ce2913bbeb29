"""What a text becomes in memory, and how much it is worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.turns import EntryType, Role
from services.shared.lifecycle.salience import detect_type, importance, is_small_talk, repeat_boost, wants_saving

TEXTS: dict[EntryType, list[str]] = {
    "preference": [
        "I prefer uv over pip",
        "I don’t like olives",
        "My favourite colour is green",
        "We hate early meetings",
        "Oh, I like it! What about you?",
        "I'd rather take the train",
        "I'm not a fan of horror films",
        "Remember that I prefer window seats",
    ],
    "decision": ["We decided to use PostgreSQL.", "Let's go with the blue one", "I'll go with the second option"],
    "instruction": [
        "Always answer in French",
        "please call me Sam",
        "Don't use bullet points",
        "From now on, be concise",
        "Could you always reply in German?",
        "I want you to speak Spanish",
    ],
    "fact": [
        "I'm a nurse from Spain",
        "I live in Paris",
        "My sister is called Ana",
        "Berlin has 3.6 million inhabitants",
    ],
    "note": [
        "Note: buy milk",
        "Remember that the locker code is 4411",
        "don't forget to water the plants",
        "note to self - renew the passport",
        "Remind me to call mum",
    ],
    "other": [
        "What is the capital of France?",
        "Hi there!",
        "👍",
        "Do you remember my name?",
        "Don't worry about it",
        "Never mind.",
        "",
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TEXTS.items() for text in texts])
def test_the_wording_tells_the_type(kind: EntryType, text: str) -> None:
    assert detect_type(text, "user") == kind


def test_an_assistant_gives_no_instructions_and_a_tool_says_nothing_lasting() -> None:
    assert detect_type("Always back up your data", "user") == "instruction"
    assert detect_type("Always back up your data", "assistant") == "other"
    assert detect_type("I prefer uv over pip", "tool") == "other"


@pytest.mark.parametrize(
    "text",
    [
        "Remember that my gate is 12",
        "Could you remember this for me?",
        "Gate 12. Don't forget!",
        "I want you to remember my birthday",
        "pin this",
    ],
)
def test_a_request_to_save_is_heard(text: str) -> None:
    assert wants_saving(text)


@pytest.mark.parametrize(
    "text",
    ["Do you remember my gate?", "I remember that day", "I forgot it", "Don't forget about it?", "Save money", ""],
)
def test_talk_of_remembering_is_no_request(text: str) -> None:
    assert not wants_saving(text)


@pytest.mark.parametrize(
    "text",
    ["I'm training for a marathon", "I will run every day", "My goal is to read more", "We plan to move", "I promise"],
)
def test_plans_and_goals_are_commitments(text: str) -> None:
    assert importance(text, type="other", role="user") > importance("The soup was good", type="other", role="user")


SMALL_TALK = """
Hi!|Thanks so much, Mira!|ok cool|haha|🎉🎉|How are you?|Good night|what?|What?!|thx|thx a lot!|ty|thank u|y
yess|yessss!|n|nooo|no wait|wait, what?|lol|looool|hm|hmmm|hm ok|uh|um, ok|mhm|lmao|omg|idk|I don't know|np
nvm|kk|okie|why?|who?|huh?|really?|Sorry!|oops, sorry|my bad|hold on|one sec|just a moment|gotcha|sweet
nice one|well done|go on|continue|tell me more|maybe|it's ok|that's true|That's okay, thanks|you too|not sure
not really|Yes, delete it|no, keep it|yes, forget them both|please don't|leave it|cya|all good|seriously?
try again|agreed|okk|aight|yo|are you there?|that's all|gn|same here|what do you mean?|I'm fine, thanks
okie dokie|how so?|Congratulations!|congrats|Congratulations to Judith and Malte!|congratulations to you both
"""
TELLING = """
I'm fine in Rome|same time on Friday|true north|test on Friday|nothing with nuts|too bad for Anna
that's it in Graz|No nuts|Hi, I'm allergic to nuts|ok 4411|Good bread|thanks, gate 12|No, Thursday|Yes, two
y 12|what a week|wait for me|Why Rome|lol my dog died|Sorry, I moved|Maybe Rome|thx, gate 12
no idea who called|next Friday|Not Rome|nice boat|hm, coffee|no milk|I know Anna|no more coffee|True love
congratulations to Anna on her new job in Graz
Who Am I Kidding|not now, Friday|Wait, it is Thursday|One moment in Rome|Yes, delete it on Friday
no, keep the blue one on|ok, coffee|I don't know Anna|continue in Spanish|tell me more about Rome|really tired
No, 4711|yes, in March|sure of it: Vienna|never coffee|what my sister said
"""


@pytest.mark.parametrize("text", SMALL_TALK.strip().replace("\n", "|").split("|"))
def test_greetings_thanks_approval_and_what_only_answers_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", TELLING.strip().replace("\n", "|").split("|"))
def test_a_few_words_can_say_something(text: str) -> None:
    assert not is_small_talk(text)


def _worth(text: str = "The soup was good", kind: EntryType = "other", role: Role = "user", **more: object) -> float:
    return importance(text, type=kind, role=role, **more)  # type: ignore[arg-type]


def test_importance_adds_up_as_specified() -> None:
    assert _worth() == pytest.approx(0.2)
    assert _worth("Hi!") == pytest.approx(0.1)
    assert _worth(manually_saved=True) == pytest.approx(0.7)
    assert _worth("Remember that the soup was good") == pytest.approx(0.7)
    assert _worth("Remember that the soup was good", role="assistant") == pytest.approx(0.2)
    assert _worth(kind="preference") == pytest.approx(0.5)
    assert _worth("My goal is to cook more") == pytest.approx(0.5)
    assert _worth(has_metadata=True, confidence=0.6) == pytest.approx(0.4)
    assert _worth(has_metadata=True, confidence=0.59) == pytest.approx(0.2)
    assert _worth(confidence=0.9) == pytest.approx(0.2)
    assert _worth(repeat_count=1) == pytest.approx(0.3)


@given(st.text(), st.sampled_from(list(TEXTS)), st.booleans(), st.floats(0, 1), st.integers(0, 10_000))
def test_importance_stays_between_zero_and_one(
    text: str, kind: EntryType, saved: bool, confidence: float, repeats: int
) -> None:
    value = _worth(text, kind, manually_saved=saved, confidence=confidence, has_metadata=True, repeat_count=repeats)
    assert 0.0 <= value <= 1.0


@given(st.integers(0, 40))
def test_every_repeat_adds_less_than_the_one_before(repeats: int) -> None:
    step, next_step = (repeat_boost(n + 1) - repeat_boost(n) for n in (repeats, repeats + 1))
    assert 0 < next_step < step
    assert repeat_boost(repeats) < 0.2


def test_no_repeats_add_nothing() -> None:
    assert repeat_boost(0) == repeat_boost(-1) == 0.0
