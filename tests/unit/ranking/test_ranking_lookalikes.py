"""Which of many statements alike a question wants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.v1.entries import Entry
from services.shared.ranking import lookalikes
from services.shared.ranking.lookalikes import alike_among, arranged
from tests.stores.builders import an_entry

NOW = datetime(2026, 9, 30, 20, tzinfo=UTC)
DAYS = (3, 20, 1, 45, 9, 0, 30, 12)
"""How long ago the statements were made, the likest first."""


def said(text: str = "I weighed in at {} kg this morning.", days: Sequence[int] = DAYS) -> list[Entry]:
    return [
        an_entry("ann", text.format(80 + n / 10), role="user", created_at=NOW - timedelta(days=n, hours=12))
        for n in days
    ]


def in_order(entries: Sequence[Entry], question: str, limit: int = 12) -> list[int]:
    alike = alike_among(entries, question, NOW)
    return arranged(entries, alike, question, NOW, limit) if alike else list(range(len(entries)))


def first_told(question: str, entries: Sequence[Entry]) -> int:
    """How many days ago that was said which is told first."""
    return (NOW - entries[in_order(entries, question)[0]].created_at).days


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What is my latest weight?", 0),
        ("How much do I weigh now?", 0),
        ("How much do I weigh?", 0),
        ("What was my most recent weight?", 0),
        ("weight", 0),
        ("Wie viel wiege ich?", 0),
        ("What was my first weight?", 45),
        ("What did I originally weigh?", 45),
        ("How much did I weigh in August?", 30),
        ("What did I weigh three days ago?", 3),
        ("What did I weigh on 10 September?", 20),
        ("What was my first weight in September?", 20),
        ("How much did I weigh?", 3),
    ],
)
def test_of_statements_alike_that_goes_first_which_is_asked_for(question: str, days: int) -> None:
    assert first_told(question, said()) == days


@pytest.mark.parametrize("limit", [2, 3, 12])
@pytest.mark.parametrize("question", ["How much did I weigh?", "Did I ever tell you about my weight?"])
def test_the_newest_is_told_also_where_nothing_asks_for_it(question: str, limit: int) -> None:
    entries = said(days=(*range(3, 15), 0))
    assert 12 in in_order(entries, question, limit)[:limit]


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        ("Where is the van KA-RT 803?", "The van KA-RT {} is at the depot.", "803"),
        ("Where does Calloway sit?", "{} sits by the door.", "Calloway"),
        ("Who has room 80.3?", "Room {} is the choir's.", "80.3"),
    ],
)
def test_what_the_question_names_is_not_passed_by_what_is_newer(question: str, text: str, named: str) -> None:
    names = [named, *"Bakshi Dvorak Gallego Iyengar Mbeki Szabo 812".split()]
    entries = [one.model_copy(update={"text": text.format(name)}) for one, name in zip(said(), names, strict=True)]
    assert in_order(entries, question) == list(range(len(entries)))


def test_what_goes_on_in_other_words_stands_behind_the_newest() -> None:
    steps = said("Status of project Falcon: step {}.", days=range(2, 27))
    shipped = an_entry("ann", "Falcon shipped", role="user", created_at=NOW - timedelta(days=1))
    entries = [*steps[5:], *steps[:5], shipped]
    told = [entries[place] for place in in_order(entries, "What is the status of project Falcon?")]
    assert told[:2] == [steps[0], shipped]


def test_the_one_is_told_that_was_said_again_last() -> None:
    entries = said()
    entries[3] = entries[3].model_copy(update={"last_said_at": NOW})
    assert in_order(entries, "What is my current weight?")[0] == 3


def test_few_or_unlike_ones_and_those_of_several_people_stay_as_they_are() -> None:
    question, few = "How much do I weigh?", said(days=(3, 1, 0))
    unlike = [an_entry("ann", text) for text in ("I weigh 80 kg.", "Tea is green.", "We rowed home.", "Ida won.")]
    others = [one.model_copy(update={"speaker": f"S{n}"}) for n, one in enumerate(said())]
    for entries in (few, unlike, others):
        assert alike_among(entries, question, NOW) is None


def test_the_words_of_a_text_are_its_letters_in_any_script_without_what_has_a_digit() -> None:
    every = "".join(map(chr, range(0xD800)))
    for text in (every[i : i + 300] for i in range(0, len(every), 300)):
        letters = "".join(sign if sign.isalnum() or sign == "'" else " " for sign in text.lower())
        assert lookalikes._words(text) == [word for word in letters.split() if not any(map(str.isdecimal, word))]
