"""Of many statements alike, of values that took each other's place, and of what is told of one thing again and again,
that is told which is asked for, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import TextStore
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.shared.lifecycle.editing import Edit, edited
from services.shared.lifecycle.lineage import superseded
from tests.apps.asking import a_retriever, by_meaning
from tests.stores.builders import an_entry, store_entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
LATEST = NOW - timedelta(hours=1)
COUNT = 40
FIRST, LAST = 0, COUNT - 1
STATES = ("drafted", "with legal", "in review", "blocked", "being tested", "rolled out", "on hold", "estimated")

in_both_ways = pytest.mark.parametrize("meaning", [False, True], ids=["words", "meaning"])


def said(text: str, at: datetime, **fields: object) -> Entry:
    return an_entry("ann", text, role="user", created_at=at, **fields)


def series(
    text: str, count: int = COUNT, *, every: timedelta = WEEK, last: datetime = LATEST, session: str | None = None
) -> list[Entry]:
    """Statements alike, each with its number and a state other than that of the one before."""
    return [
        said(text.format(n=n, state=STATES[3 * n % 8]), last - (count - 1 - n) * every, session_id=session)
        for n in range(count)
    ]


def replaced(told: Sequence[Entry]) -> list[Entry]:
    """What was told, each in place of the one before."""
    found: list[Entry] = []
    for entry in told:
        if found:
            entry = entry.model_copy(update={"supersedes": (found[-1].id,)})
            found[-1] = superseded(found[-1], entry)
        found.append(entry)
    return found


async def asked(store: TextStore, entries: Sequence[Entry], question: str, *, meaning: bool = True) -> RetrieveReply:
    await store_entries(store, entries)
    retriever = a_retriever(store, *(await by_meaning(entries) if meaning else ()))
    least = None if meaning else 0.0
    return await retriever.retrieve(RetrieveRequest(user_id="ann", query=question, now=NOW, min_score=least))


@in_both_ways
@pytest.mark.parametrize("count", [20, 400])
@pytest.mark.parametrize("session", [None, "one"])
@pytest.mark.parametrize(
    ("question", "place"), [("How many kg do I weigh in at now?", -1), ("At how many kg did I weigh in at first?", 0)]
)
async def test_the_newest_and_the_first_are_found_among_many(
    store: TextStore, question: str, place: int, count: int, session: str | None, meaning: bool
) -> None:
    entries = series("I weigh in at {n} kg this morning.", count, every=DAY, session=session)
    reply = await asked(store, entries, question, meaning=meaning)
    assert reply.items[0].id == entries[place].id
    assert entries[-1].id in [item.id for item in reply.items]


@in_both_ways
async def test_those_of_a_month_are_found_among_many(store: TextStore, meaning: bool) -> None:
    entries = series("The meter reads {n} kWh.", 900, every=DAY)
    reply = await asked(store, entries, "What did the meter read in March 2025?", meaning=meaning)
    assert {f"{item.created_at:%Y-%m}" for item in reply.items[:10]} == {"2025-03"}


@pytest.mark.parametrize("every", [DAY, timedelta(minutes=1)])
async def test_what_ends_a_series_in_other_words_is_told(store: TextStore, every: timedelta) -> None:
    entries = series("Status of project Falcon: step {n}", 25, every=every, last=NOW - every, session="one")
    shipped = said("Falcon shipped", NOW - timedelta(seconds=30), session_id="one")
    reply = await asked(store, [*entries, shipped], "What is the status of project Falcon?")
    assert {item.text for item in reply.items[:2]} == {"Status of project Falcon: step 24", "Falcon shipped"}


@in_both_ways
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("HH-KL 482", "Truck HH-KL {} left the yard."),
        ("where is hhkl482?", "Truck HH-KL {} has moved to the yard."),
        ("hh-kl-482", "Truck HHKL{} has left the yard."),
        ("zk 482", "Flight ZK{} is late."),
        ("Where did INV-1482 go?", "INV-1{} went to the other office instead."),
        ("Is order 482 still open?", "Order {} was cancelled after all."),
        ("What replaced v2.482?", "Release 2.{} has been replaced."),
        ("Which 482 mm pipes?", "The {} mm pipes are no longer sold."),
        ("scan_482.pdf", "I moved scan_{}.pdf into the other folder."),
    ],
)
async def test_what_has_the_code_goes_first_however_much_else_is_newer(
    store: TextStore, question: str, text: str, meaning: bool
) -> None:
    numbers = [482, 284, 248, 428, 824, 842, 481, 483]
    entries = [said(text.format(number), NOW - (9 - place) * DAY) for place, number in enumerate(numbers)]
    old, *newer = (one.id for one in entries[:3])
    against = [newer, [old], [old], *[[]] * 5]
    entries = [one.model_copy(update={"conflicts_with": tuple(it)}) for one, it in zip(entries, against, strict=True)]
    reply = await asked(store, entries, question, meaning=meaning)
    assert [item.id for item in reply.items][:1] == [old]


async def test_a_correction_is_said_when_it_is_made(store: TextStore) -> None:
    entry = said("The boat is called Ilse.", NOW - 300 * DAY)
    corrected = edited(entry, Edit(text="The boat is called Else."), LATEST)
    assert corrected is not None
    await store_entries(store, [corrected])
    about = RetrieveRequest(user_id="ann", query="What is the boat called?", recency_days=7, now=NOW)
    reply = await a_retriever(store).retrieve(about)
    assert [item.text for item in reply.items] == ["The boat is called Else."]
    assert "2026-01-24, corrected on 2026-11-20, today" in reply.context
    before = await a_retriever(store).retrieve(about.model_copy(update={"now": NOW - DAY}))
    assert before.items == ()


@in_both_ways
@pytest.mark.parametrize(
    ("text", "question", "place"),
    [
        ("The doctor set my metformin to {n} mg.", "What metformin dose did I start with?", FIRST),
        ("The doctor set my metformin to {n} mg.", "What is my metformin dose?", LAST),
        ("The gym raised my fee to {n} euros.", "What was my gym fee at the very beginning?", FIRST),
        ("We moved the deadline of the audit to day {n}.", "What was the original deadline of the audit?", FIRST),
        ("The bank lowered our mortgage rate to 1.{n}.", "What is our current mortgage rate?", LAST),
    ],
)
async def test_of_values_that_took_each_others_place_the_one_asked_for_goes_first(
    store: TextStore, text: str, question: str, place: int, meaning: bool
) -> None:
    entries = replaced(series(text))
    reply = await asked(store, entries, question, meaning=meaning)
    assert reply.items[0].id == entries[place].id
    assert place != LAST or [item.id for item in reply.items] == [entries[LAST].id]


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("How much was my gym fee in May?", "2026-05"),
        ("What was my gym fee on 8 May?", "2026-05-08"),
        ("What was my gym fee on 11 May?", "2026-05-08"),  # on which nothing was said
        ("What was my gym fee in June 2026?", "2026-06"),
    ],
)
async def test_what_was_so_at_a_time_is_told_with_its_end(store: TextStore, question: str, day: str) -> None:
    entries = replaced(series("The gym raised my fee to {n} euros."))
    reply = await asked(store, entries, question)
    first = reply.items[0]
    assert first.created_at.isoformat().startswith(day)
    assert first.valid_until == next(entry.valid_until for entry in entries if entry.id == first.id)
    assert f"so until {first.valid_until:%Y-%m-%d}" in reply.context


@in_both_ways
@pytest.mark.parametrize(
    ("text", "question", "place"),
    [
        ("Project Osprey is {state}, {n} percent done.", "What's the latest on project Osprey?", LAST),
        ("Project Osprey is {state}, {n} percent done.", "Is Osprey done yet?", LAST),
        ("The Nordhaus contract is {state} since call {n}.", "How are things with Nordhaus?", LAST),
        ("The Nordhaus contract is {state} since call {n}.", "What was the first thing about Nordhaus?", FIRST),
        ("Ticket OPS-77 is {state}, week {n}.", "What is the status of OPS-77?", LAST),
        ("The tunnel project is {state}, milestone {n}.", "Where did the tunnel project start?", FIRST),
        ("There are {n} euros in the boat fund.", "How much was in the boat fund at the very beginning?", FIRST),
    ],
)
async def test_of_what_is_told_of_one_thing_in_changing_words_the_one_asked_for_goes_first(
    store: TextStore, text: str, question: str, place: int, meaning: bool
) -> None:
    entries = series(text)
    reply = await asked(store, entries, question, meaning=meaning)
    assert reply.items[0].id == entries[place].id


async def test_what_only_mentions_a_thing_is_not_its_state(store: TextStore) -> None:
    entries = series("Project Osprey is {state}, {n} percent done.")
    lunch = said("Lunch with the Osprey team was nice.", NOW - timedelta(minutes=5))
    reply = await asked(store, [*entries, lunch], "What's the latest on Osprey?")
    assert reply.items[0].id == entries[LAST].id


async def test_of_places_that_took_each_others_place_that_is_told_in_which_one_was(store: TextStore) -> None:
    told = ("I live in Graz.", "I moved to Cork.", "I moved to Bern, to the old town.")
    entries = replaced([said(text, NOW - n * DAY) for text, n in zip(told, (400, 200, 20), strict=True)])
    for question, text in (
        ("Where did I live in March?", told[0]),
        ("Where did I live at first?", told[0]),
        ("Where do I live?", told[2]),
        ("What did I do first in Bern?", told[2]),
    ):
        reply = await asked(store, entries, question)
        assert reply.items[0].text == text


async def test_what_is_no_state_of_a_thing_is_not_passed_by_what_is_newer_about_it(store: TextStore) -> None:
    budget = said("The budget of project Osprey is 90 euros.", NOW - 9 * WEEK)
    entries = [*series("Project Osprey is {state}, {n} percent done."), budget]
    reply = await asked(store, entries, "What is the budget of project Osprey?")
    assert reply.items[0].id == budget.id
