"""What a topic names is found in a text by its words, and by its names as they are written."""

from __future__ import annotations

import time

import pytest

from services.shared.core.mentions import mentions


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Mia", "Mia's birthday is in June."),
        ("Ella", "Ella plays piano."),
        ("ella", "Ella plays piano."),
        ("Will", "I met Will at the gym."),
        ("May", "May moved to Rome."),
        ("Will and May", "Will knows May."),
        ("the US", "We moved to the US."),
        ("my dentist", "The dentist is on Tuesday."),
        ("Uma Thurman", "I met Uma Thurman."),
        ("MY DOG", "My dog is called Rex."),
        ("node.js", "I write node.js."),
        ("I love jazz", "I love jazz and blues"),
        ("I'm allergic to wasps", "i am allergic to wasps, and to bees"),
        ("Don", "Don called"),
    ],
)
def test_a_text_mentions_what_it_names(topic: str, text: str) -> None:
    assert mentions(text, topic)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Will", "I will go."),
        ("May", "You may go."),
        ("the US", "Tell us more."),
        ("IT", "It rains."),
        ("Uma Thurman", "A Thurman lives here."),
        ("Ben and Will", "Ben is here."),
        ("you", "You are here."),
        ("what", "What is it?"),
        ("", "Nothing"),
        ("?", "What?"),
    ],
)
def test_a_small_word_is_no_name(topic: str, text: str) -> None:
    assert not mentions(text, topic)


def test_hostile_text_takes_linear_time() -> None:
    started = time.process_time()
    for text in ("A" * 65536, "Will " * 13000, "a.b" * 20000):
        mentions(text, "my son Will")
        mentions("I like tea", text)
    assert time.process_time() - started < 3
