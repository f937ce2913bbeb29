"""What a user does not want remembered, as they say in the message itself."""

from __future__ import annotations

import time

import pytest

from services.shared.core.unwanted import is_unwanted


@pytest.mark.parametrize(
    "text",
    [
        "don't remember this: my pin is 4477",
        "Off the record, I'm looking for another job.",
        "I'm looking for another job, but that's off the record.",
        "please don't save this. I had a fight with Jo",
        "do not store this message, my pin is 4477",
        "keep this between us, dont store it: I am pregnant",
        "pls dont remember this but my boss is an idiot",
        "My salary is 80k. Please do not record that!",
        "I had a test done, no need to remember this though",
        "Hey, you don't have to keep this, I just need to vent",
        "Never memorise what I tell you now: the code is 1234",
        "DON’T SAVE THIS\nthe code is 1234",
        "x" * 5000 + ". Please don't save this.",
    ],
)
def test_a_message_says_that_it_is_not_to_be_kept(text: str) -> None:
    assert is_unwanted(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't remember this place",
        "I don't remember this.",
        "Dont remember it, but the hotel was near the beach",
        "You don't remember that, but I told you yesterday",
        "Don't remember that?",
        "Please remember this: my pin is 4477",
        "Don't forget this: my pin is 4477",
        "Do not store this medicine in the fridge",
        "Don't save this file as PDF",
        "Don't keep it, send it back",
        "He told me off the record that they will merge",
        'What happens when I say "don\'t remember this"?',
        "We never record this show",
        "They do not store that in the cellar",
        "The band has an off the record cover album",
        "",
    ],
)
def test_what_only_sounds_like_it_is_kept(text: str) -> None:
    assert not is_unwanted(text)


@pytest.mark.parametrize("piece", ["please ", "don't remember ", ", and ", "off the ", "- ", "this "])
def test_a_text_of_any_length_is_read_quickly(piece: str) -> None:
    started = time.perf_counter()
    is_unwanted(piece * 20_000)
    assert time.perf_counter() - started < 1
