"""Of values that took each other's place, and of what is told of one thing again and again, that is told which is
asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import TextStore
from contracts.v1.entries import Entry
from services.shared.lifecycle.lineage import superseded
from tests.apps.test_retrieve_lookalikes import asked
from tests.stores.builders import an_entry

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
COUNT = 40
WEEK = timedelta(days=7)
STATES = ("drafted", "with legal", "in review", "blocked", "being tested", "rolled out", "on hold", "estimated")


def told_weekly(text: str) -> list[Entry]:
    """A statement each week, the last one an hour ago; its state is another one than that of the week before."""
    return [
        an_entry(
            "ann",
            text.format(n=n, state=STATES[3 * n % 8]),
            role="user",
            created_at=NOW - timedelta(hours=1) - (COUNT - 1 - n) * WEEK,
        )
        for n in range(COUNT)
    ]


def replaced(series: Sequence[Entry]) -> list[Entry]:
    """The series, each in place of the one before."""
    said: list[Entry] = []
    for entry in series:
        if said:
            entry = entry.model_copy(update={"supersedes": (said[-1].id,)})
            said[-1] = superseded(said[-1], entry)
        said.append(entry)
    return said


LAST, FIRST = COUNT - 1, 0


@pytest.mark.parametrize("by_meaning", [False, True])
@pytest.mark.parametrize(
    ("text", "question", "place"),
    [
        ("The doctor set my metformin to {n} mg.", "What was my first dose of metformin?", FIRST),
        ("The doctor set my metformin to {n} mg.", "What metformin dose did I start with?", FIRST),
        ("The doctor set my metformin to {n} mg.", "What is my metformin dose?", LAST),
        ("The gym raised my fee to {n} euros.", "What was my gym fee at the very beginning?", FIRST),
        ("The gym raised my fee to {n} euros.", "What is my gym fee now?", LAST),
        ("We moved the deadline of the audit to day {n}.", "What was the original deadline of the audit?", FIRST),
        ("The landlord put the parking fee up to {n} euros.", "How much was the parking fee initially?", FIRST),
        ("The bank lowered our mortgage rate to 1.{n}.", "What was our mortgage rate when we started?", FIRST),
        ("The bank lowered our mortgage rate to 1.{n}.", "What is our current mortgage rate?", LAST),
    ],
)
async def test_of_values_that_took_each_others_place_the_one_asked_for_goes_first(
    store: TextStore, text: str, question: str, place: int, by_meaning: bool
) -> None:
    entries = replaced(told_weekly(text))
    reply = await asked(store, entries, question, by_meaning=by_meaning)
    assert reply.items[0].id == entries[place].id
    assert place != LAST or [item.id for item in reply.items] == [entries[LAST].id]


@pytest.mark.parametrize(
    ("text", "question", "day"),
    [
        ("The doctor set my metformin to {n} mg.", "How much metformin was I on in March?", "2026-03"),
        ("The gym raised my fee to {n} euros.", "How much was my gym fee in May?", "2026-05"),
        ("The gym raised my fee to {n} euros.", "What was my gym fee on 8 May?", "2026-05-08"),
        ("The bank lowered our mortgage rate to 1.{n}.", "What was our mortgage rate in June 2026?", "2026-06"),
    ],
)
async def test_what_was_so_at_a_time_is_told_with_its_end(store: TextStore, text: str, question: str, day: str) -> None:
    entries = replaced(told_weekly(text))
    reply = await asked(store, entries, question, by_meaning=True)
    assert reply.items[0].created_at.isoformat().startswith(day)
    known = {entry.id: entry for entry in entries}
    assert reply.items[0].valid_until == known[reply.items[0].id].valid_until
    assert f"so until {reply.items[0].valid_until:%Y-%m-%d}" in reply.context


async def test_what_was_so_on_a_day_on_which_nothing_was_said_is_what_was_said_before(store: TextStore) -> None:
    entries = replaced(told_weekly("The gym raised my fee to {n} euros."))
    reply = await asked(store, entries, "What was my gym fee on 11 May?", by_meaning=True)
    assert reply.items[0].created_at.date().isoformat() == "2026-05-08"


@pytest.mark.parametrize("by_meaning", [False, True])
@pytest.mark.parametrize(
    ("text", "question", "place"),
    [
        ("Project Osprey is {state}, {n} percent done.", "What's the latest on project Osprey?", LAST),
        ("Project Osprey is {state}, {n} percent done.", "Where does Osprey stand?", LAST),
        ("Project Osprey is {state}, {n} percent done.", "How far along is project Osprey?", LAST),
        ("Project Osprey is {state}, {n} percent done.", "Is Osprey done yet?", LAST),
        ("The Nordhaus contract is {state} since call {n}.", "How are things with Nordhaus?", LAST),
        ("The Nordhaus contract is {state} since call {n}.", "What was the first thing about Nordhaus?", FIRST),
        ("Ticket OPS-77 is {state}, week {n}.", "What is the status of OPS-77?", LAST),
        ("The tunnel project is {state}, milestone {n}.", "Where did the tunnel project start?", FIRST),
        ("There are {n} euros in the boat fund.", "How much was in the boat fund at the very beginning?", FIRST),
    ],
)
async def test_of_what_is_told_of_one_thing_in_changing_words_the_one_asked_for_goes_first(
    store: TextStore, text: str, question: str, place: int, by_meaning: bool
) -> None:
    entries = told_weekly(text)
    reply = await asked(store, entries, question, by_meaning=by_meaning)
    assert reply.items[0].id == entries[place].id


@pytest.mark.parametrize("question", ["What's the latest on Osprey?", "How is Osprey coming along?"])
async def test_what_only_mentions_a_thing_is_not_its_state(store: TextStore, question: str) -> None:
    entries = told_weekly("Project Osprey is {state}, {n} percent done.")
    lunch = an_entry("ann", "Lunch with the Osprey team was nice.", role="user", created_at=NOW - timedelta(minutes=5))
    reply = await asked(store, [*entries, lunch], question, by_meaning=True)
    assert reply.items[0].id == entries[LAST].id


async def test_of_places_that_took_each_others_place_that_is_told_in_which_one_was(store: TextStore) -> None:
    told = ("I live in Graz.", "I moved to Cork.", "I moved to Bern, to the old town.")
    days = (400, 200, 20)
    said = [
        an_entry("ann", text, role="user", created_at=NOW - n * WEEK / 7) for text, n in zip(told, days, strict=True)
    ]
    entries = replaced(said)
    for question, text in (
        ("Where did I live in March?", told[0]),
        ("Where did I live at first?", told[0]),
        ("Where do I live?", told[2]),
        ("What did I do first in Bern?", told[2]),
    ):
        reply = await asked(store, entries, question, by_meaning=True)
        assert reply.items[0].text == text


async def test_what_is_no_state_of_a_thing_is_not_passed_by_what_is_newer_about_it(store: TextStore) -> None:
    entries = told_weekly("Project Osprey is {state}, {n} percent done.")
    budget = an_entry("ann", "The budget of project Osprey is 90 euros.", role="user", created_at=NOW - 9 * WEEK)
    reply = await asked(store, [*entries, budget], "What is the budget of project Osprey?", by_meaning=True)
    assert reply.items[0].id == budget.id
