"""What was announced as not to be kept before it was said."""

from __future__ import annotations

import time

import pytest

from services.shared.announced import MOST, QUIET_SECONDS, Announced


def test_the_next_thing_is_meant_however_often_it_is_said_and_nothing_else() -> None:
    heard = Announced()
    said = ["Hello", "Off the record:", "Off the record:", "My pin is 4711", "My pin is 4711", "I like tea", "Hello"]
    assert [heard.hears("c", text) for text in said] == [False, False, False, True, True, False, False]


def test_conversations_are_told_apart_and_bounded() -> None:
    heard = Announced()
    for number in range(MOST + 1):
        heard.hears(number, "What I say next is off the record.")
    assert not heard.hears("other", "My pin is 4711")
    assert [heard.hears(number, "My pin is 4711") for number in (0, 1, MOST)] == [False, True, True]


def test_an_announcement_does_not_hold_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Announced()
    heard.hears("c", "Off the record:")
    later = time.monotonic() + QUIET_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert not heard.hears("c", "My pin is 4711")


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to share a detail but please don't store it.",
        "Whatever I write next, leave it out of your memory.",
        "For the next two messages don't save anything",
        "The next bit is not for your memory.",
        "want to ask something private, dont keep it ok?",
        "I've got a confession to make, don't keep it.",
    ],
)
def test_what_comes_next_is_announced_in_many_ways(text: str) -> None:
    heard = Announced()
    assert [heard.hears("c", said) for said in (text, "My pin is 4711")] == [False, True]


@pytest.mark.parametrize("text", ["Don't keep it.", "I'm going to tell you a story.", "I've got a question for you"])
def test_what_is_no_announcement_leaves_what_follows(text: str) -> None:
    heard = Announced()
    assert [heard.hears("c", said) for said in (text, "My pin is 4711")] == [False, False]
