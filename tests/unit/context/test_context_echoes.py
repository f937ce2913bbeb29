"""What only repeats a memory is not learned again."""

from __future__ import annotations

import pytest

from services.shared.context.block import HEAD, TAIL
from services.shared.context.echoes import (
    is_influenced,
    memories_in,
    without_blocks,
    without_echoes,
    without_memories,
    without_words_of,
)

UV = "I prefer uv over pip for managing packages, so use it in every example."
DENTIST = "My dentist appointment has moved to Thursday, 12 March at 14:00."
KNOWN = (UV, DENTIST, "I live in Vienna with two cats.")
BLOCK = (
    f"{HEAD}## more\n- [2026-02-09 | user | instruction | 4264e842 | c1] {UV}\n- [2026-03-05 | user] {DENTIST}\n{TAIL}"
)


def test_blocks_are_cut_out_pasted_quoted_or_broken_off() -> None:
    assert without_blocks(f"See:\n{BLOCK}\nWhat is it?") == "See:\n\nWhat is it?"
    quoted = "\n".join(f"> {line}" for line in BLOCK.splitlines())
    assert "uv" not in without_blocks(f"{quoted}\nWhat is it?")
    assert without_blocks(f"Well. {BLOCK[:-40]}") == "Well."
    assert without_blocks(f"{BLOCK} and {BLOCK}") == "and"
    assert without_blocks("What does <memory> mean in HTML?") == "What does <memory> mean in HTML?"


def test_a_memory_is_taken_out_of_a_block_with_its_heading() -> None:
    block = (
        f"{HEAD}## about tools\n- [2026-02-09 | user | 4264e842] uv\n- [2026-02-09 | user | 11111111] pip\n"
        f"## more\n- [2026-02-09 | user | 22222222 | c1] Vienna\n{TAIL}"
    )
    assert without_memories(block, ["22222222-aaaa"]) == block.replace(
        "## more\n- [2026-02-09 | user | 22222222 | c1] Vienna\n", ""
    )
    assert memories_in(without_memories(block, ["4264e842-1"])) == ("pip", "Vienna")
    assert without_memories(block, ["4264e842-1", "11111111-1"]) == f"{HEAD}## more\n{block.splitlines()[-2]}\n{TAIL}"
    assert without_memories(block, ["4264e842", "11111111", "22222222"]) == ""
    assert without_memories(block, []) == block


def test_further_lines_of_a_memory_go_with_it() -> None:
    code = "- [2026-02-09 | user | 4264e842] so:\n  ```\n  - [2026-02-09 | user | 11111111] ls\n  ## more\n  ```\n"
    rest = "- [2026-02-09 | user | 22222222] Vienna\n"
    block = f"{HEAD}## more\n{code}{rest}{TAIL}"
    assert memories_in(block) == ("so:\n```\n- [2026-02-09 | user | 11111111] ls\n## more\n```", "Vienna")
    assert without_memories(block, ["11111111-1"]) == block
    assert without_memories(block, ["4264e842-1"]) == f"{HEAD}## more\n{rest}{TAIL}"
    assert without_memories(block, ["22222222-1"]) == f"{HEAD}## more\n{code}{TAIL}"
    assert without_memories(block, ["4264e842-1", "22222222-1"]) == ""
    assert without_blocks("\n".join(f"> {line}" for line in block.splitlines())) == ">"


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("As you told me earlier, you prefer uv over pip for managing packages.", "uv or pip?"),
        ("Your dentist appointment is on Thursday, 12 March at 14:00.", "When is my dentist appointment?"),
        ("It is on Thursday.", "When is my dentist appointment?"),
        ("You live in Vienna. You prefer uv over pip.\n- Dentist: Thursday, 12 March, 14:00", "What do you know?"),
        ("I remember that you live in Vienna, have two cats and prefer uv over pip.", "Who am I?"),
    ],
)
def test_an_answer_that_repeats_memories_teaches_nothing(answer: str, question: str) -> None:
    assert without_echoes(answer, KNOWN, question) == ""


@pytest.mark.parametrize(
    ("answer", "question", "left"),
    [
        ("You prefer uv over pip. Run `uv add httpx` in the project folder.", "How do I add httpx?",
         "Run `uv add httpx` in the project folder."),
        ("Your dentist appointment is on Friday, 13 March at 14:00.", "When is it?", None),
        ("Sure!", "Thanks", None),
        ("", "Thanks", None),
    ],
)  # fmt: skip
def test_what_is_new_stays(answer: str, question: str, left: str | None) -> None:
    assert without_echoes(answer, KNOWN, question) == (answer if left is None else left)


def test_without_memories_an_answer_to_a_question_stays() -> None:
    assert without_echoes("You prefer uv over pip.", (), "uv or pip?") == "You prefer uv over pip."


def test_an_answer_is_influenced_by_words_that_the_question_does_not_have() -> None:
    assert is_influenced("Use uv: you prefer it over pip.", KNOWN, "Which package manager should I use?")
    assert is_influenced("On Thursday the 12th, at 14:00.", KNOWN, "When is my dentist appointment?")
    assert not is_influenced("I do not know your dentist appointment.", KNOWN, "When is my dentist appointment?")
    assert not is_influenced("Lisbon is in Portugal.", KNOWN, "Where is Lisbon?")
    assert not is_influenced("Use uv.", (), "uv or pip?")


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Got it, I will remember that your bank PIN is 4711.", "My bank PIN is 4711."),
        ("Okay, I've saved that your bank PIN is 4711. Anything else?", "My bank PIN is 4711."),
        ("I'll keep in mind that you're allergic to nuts.", "I'm allergic to nuts."),
        ("So you moved to Lisbon in May. Thanks for sharing!", "I moved to Lisbon in May. What should I see there?"),
        ("You have two cats. You live in Vienna.", "I have two cats and live in Vienna."),
        ("Great, Mia plays the piano!", "My niece Mia plays the piano"),
    ],
)
def test_what_only_says_back_what_was_said_is_not_learned(answer: str, question: str) -> None:
    assert without_echoes(answer, (), question) == ""


@pytest.mark.parametrize(
    ("answer", "question", "left"),
    [
        ("Your bank PIN is 4711. Never use the same one for your phone.", "My bank PIN is 4711.",
         "Never use the same one for your phone."),
        ("You moved to Lisbon in May. See the Belem tower.", "I moved to Lisbon in May. What should I see there?",
         "See the Belem tower."),
        ("Your bank PIN is 4712.", "My bank PIN is 4711.", None),
        ("Nuts are seeds of trees.", "I'm allergic to nuts.", None),
        ("You are not allergic to nuts.", "I'm allergic to nuts.", None),
        ("Yes, Lisbon is in Portugal.", "Is Lisbon in Portugal?", None),
        ("You live in Vienna, a city in Austria.", "I live in Vienna.", None),
        ("Got it!", "My bank PIN is 4711.", None),
        ("You prefer tea over coffee.", "I like tea. Which do I prefer, tea or coffee?", None),
    ],
)  # fmt: skip
def test_what_adds_something_to_what_was_said_stays(answer: str, question: str, left: str | None) -> None:
    assert without_echoes(answer, (), question) == (answer if left is None else left)


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("PIN4711 is weak. Your code 4 7 1 1, too, or 47-11. Tulips are cheap.", "Tulips are cheap."),
        ("With $90,000 you can afford it, 90.000 is a lot. Rent is due.", "Rent is due."),
        ("During a pregnancy the folate matters. Ask a doctor. Pregnant women rest.", "Ask a doctor."),
        ("Ask Dr. Ophidia about it. Bring e.g. roses to Mr. Ophidia. See p. 90.", "See p. 90."),
        (
            "Sure: the digits were 4711x, and you live in Dover. Change it at your bank.",
            "Sure: Change it at your bank.",
        ),
        ("Change it at your bank.", "Change it at your bank."),
    ],
)
def test_of_what_is_not_to_be_kept_no_answer_keeps_a_word(answer: str, left: str) -> None:
    unwanted = ["Don't remember this: my PIN is 4711x.", "off the record, my lover is Ophidia"]
    unwanted += ["I earn 90k a year, don't save that", "don't save this: my partner is pregnant"]
    assert without_words_of(answer, unwanted, "What was my PIN again?") == left
    assert without_words_of(answer, (), "What was my PIN again?") == answer


LEFTOVERS = [
    ("Echo: You prefer uv over pip.", ""),
    ("Memory: You prefer uv over pip.\nTrains to Oslo leave at noon.", "Trains to Oslo leave at noon."),
    ('You said: "You prefer uv over pip."', ""),
    ("Sure! This is what is stored:\n1. You prefer uv over pip.\n2. You prefer uv over pip.", ""),
    ("> Quoted:\n> You prefer uv over pip.", ""),
    ("Stored: you prefer uv over pip. Trains leave at noon.", "Stored: Trains leave at noon."),
    ("Trains:\n- Oslo at noon\n\nMemory: you prefer uv over pip.", "Trains:\n- Oslo at noon"),
]


@pytest.mark.parametrize(("answer", "left"), LEFTOVERS)
def test_a_label_of_what_was_cut_is_cut_with_it(answer: str, left: str) -> None:
    assert without_echoes(answer, KNOWN, "What do you know?") == left
