"""What people say about their memory in a chat, and what only sounds like it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from services.shared.core.chat_commands import command_in


class Phrase(NamedTuple):
    part: str
    verb: str
    about: str
    text: str


LINES = (Path(__file__).parent / "chat_commands.tsv").read_text().splitlines()
PHRASES = [Phrase(*line.split("\t")) for line in LINES if not line.startswith("#")]


def understood(text: str) -> tuple[str, str]:
    found = command_in(text)
    return ("-", "") if found is None else (found.verb, found.about)


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.text[:60])
def test_a_phrase_is_the_command_that_it_is_or_none(phrase: Phrase) -> None:
    assert understood(phrase.text) == (phrase.verb, phrase.about)


def test_there_are_many_phrases_and_half_of_them_only_sound_like_commands() -> None:
    texts = {phrase.text for phrase in PHRASES}
    near_misses = [phrase for phrase in PHRASES if phrase.verb == "-"]
    assert len(texts) == len(PHRASES) >= 200
    assert len(near_misses) * 2 >= len(PHRASES)


COMMANDS = [phrase.text for phrase in PHRASES if phrase.verb not in ("-", "correct")]


@pytest.mark.parametrize(
    "around", ['"{}"', "> {}", "She said: {}", "{} I was told. He laughed.", "Don't {}", "What happens if I say {}"]
)
def test_a_command_within_something_else_is_none(around: str) -> None:
    assert [text for text in COMMANDS if command_in(around.format(text))] == []


@pytest.mark.parametrize(
    "text", ["FORGET THAT", "forget   that", " forget that \n", "Forget that…", "forget\u00a0that"]
)
def test_case_and_space_do_not_matter(text: str) -> None:
    assert command_in(text) is not None


def test_a_long_text_is_judged_at_once() -> None:
    assert command_in("forget " * 100_000) is None
    assert command_in("please " * 100_000) is None
    assert command_in("correct: " + "I am " * 100_000) is not None
