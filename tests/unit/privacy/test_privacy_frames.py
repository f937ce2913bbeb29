"""Frames: what opens one, what leaves it, and what of a text is said in earnest."""

from __future__ import annotations

import re
import time

import pytest

from contracts.v1.turns import Frame, Role
from services.shared.language import wordlists
from services.shared.privacy import frames

_OPENING = (
    "scene", "foreign scene", "scene wished for", "scene asked for", "cast",
    "supposition", "foreign supposition",
    "story", "sample", "text wanted", "foreign text", "sample asked for", "text wanted asked for",
)  # fmt: skip
_LEAVING = ("leaves told", "leaves", "leaves a text", "words are awaited")


@pytest.mark.parametrize("section", _OPENING)
def test_each_row_opens_a_frame_by_its_examples(section: str) -> None:
    for row, examples in wordlists.examples("frames", section).items():
        assert [one for one in examples if not _begins(row, frames._straight(one), "asks", "asks you")] == [], row
        assert [one for one in examples if frames.stated(one, "user", None).strip()] == [], row


def _begins(row: str, said: str, *before: str) -> bool:
    asks = "|".join(wordlists.pattern("frames", section) for section in before)
    return re.match(f"{wordlists.pattern('frames', 'begin')}(?:{asks}|){row}", said, re.IGNORECASE) is not None


@pytest.mark.parametrize("section", _LEAVING)
def test_each_row_holds_of_its_examples(section: str) -> None:
    for row, examples in wordlists.examples("frames", section).items():
        assert [one for one in examples if not _begins(row, frames._plain(one))] == [], row


def test_each_row_of_what_opens_or_leaves_a_frame_has_examples() -> None:
    for section in (*_OPENING, *_LEAVING):
        assert [row for row, given in wordlists.examples("frames", section).items() if given == [""]] == []


def test_long_runs_are_read_in_time_that_grows_with_their_length() -> None:
    for run in ("ok, ", "ok. ", "! ", "...", "write a a a. ", "you are a ", "please ", "in my ", "\n", "- ", '"'):
        for before in (None, "fiction", "awaited"):
            started = time.thread_time()
            frames._read(before, run * (100_000 // len(run)))
            assert time.thread_time() - started < 2, run


@pytest.mark.parametrize(
    ("said", "role", "before", "after"),
    [
        ("I have moved to Leeds.", "user", "fiction", "fiction"),
        ("End of the interview.", "assistant", "fiction", None),
        ("Well done.", "assistant", "fiction", "fiction"),
        ("Write a postcard for me.", "user", None, "awaited"),
        ("Write a postcard for me. I have moved.", "user", None, "given"),
        ("What should it say?", "assistant", "given", "awaited"),
        ("Send it over.", "assistant", "awaited", "awaited"),
        ("Dear aunt, greetings from Rome.", "assistant", "awaited", None),
        ("I have moved to Rome.", "user", "awaited", "given"),
        ("I have moved to Rome.", "user", "given", None),
        ("Imagine I were a pilot. What would my week be?", "user", None, "given"),
        ("Imagine I were a pilot.", "user", None, "fiction"),
        ("You are a pirate.", "system", None, None),
    ],
)
def test_a_turn_hands_on_the_frame_it_leaves_its_conversation_in(
    said: str, role: Role, before: Frame | None, after: Frame | None
) -> None:
    assert frames.frame_after(said, role, before) == after


def test_what_is_said_before_a_frame_and_after_it_is_left_stands_where_it_stood() -> None:
    text = "I am Ann. Let's roleplay. I live in Rome. Out of character: I live in Leeds."
    stated = frames.stated(text, "user", None)
    assert (len(stated), stated.split()) == (len(text), "I am Ann. I live in Leeds.".split())
    assert stated.index("I live in Leeds") == text.index("I live in Leeds")


@pytest.mark.parametrize("end", ["\n", "\n\n", "; ", ". "])
def test_a_proposal_begins_with_its_own_sentence(end: str) -> None:
    text = f"I live in Leeds{end}Scene: you are a waiter, I'm the guest."
    assert frames.stated(text, "user", None).strip() == f"I live in Leeds{end}".strip()


def test_a_text_of_any_length_is_whole_where_no_frame_is_opened() -> None:
    text = "I live in Leeds. " * 3000
    assert frames.stated(text, "user", None) == text


@pytest.mark.parametrize(
    ("text", "earnest"),
    [
        ("Please translate this letter to English. My deadline is Friday.", "My deadline is Friday."),
        ("Proofread my thesis. I live in Leeds now.", "I live in Leeds now."),
        ("Could you shorten this essay? My boss is Tim now.", "My boss is Tim now."),
        ("Translate this sentence. I moved to Rome.", ""),
        ("Translate this letter: Dear aunt. I moved to Rome.", ""),
        ("Translate this letter.\nI moved to Rome.\nYours, Ann", ""),
        ("Proofread my letter. Dear aunt, I moved to Rome. It is warm here.", ""),
        ("Write a letter to my aunt. I have moved to Rome.", ""),
    ],
)
def test_a_single_sentence_is_no_letter_that_is_to_be_worked_on(text: str, earnest: str) -> None:
    assert frames.stated(text, "user", None).strip() == earnest
