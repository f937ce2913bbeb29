"""Of many statements alike the newest is told, and that which is asked for goes first, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from contracts.ports import TextStore, VectorPoint
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.lifecycle.editing import Edit, edited
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.stores.builders import an_entry, store_entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


async def asked(store: TextStore, entries: Sequence[Entry], question: str, *, by_meaning: bool) -> RetrieveReply:
    await store_entries(store, list(entries))
    vectors, embedder = FakeVectors(), FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in entries])
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
    engines, least = ((vectors, embedder), None) if by_meaning else ((None, None), 0.0)
    retriever = Retriever(
        store, vectors=engines[0], embedder=engines[1], counter=Cl100kCounter(), settings=RetrieveSettings()
    )
    return await retriever.retrieve(RetrieveRequest(user_id="ann", query=question, now=NOW, min_score=least))


def series(text: str, count: int, *, every: timedelta, session: str | None = None) -> list[Entry]:
    """Statements alike, the last one an hour ago; the value of each is its number."""
    return [
        an_entry("ann", text.format(n), role="user", session_id=session, created_at=NOW - (count - 1 - n) * every)
        for n in range(count)
    ]


@pytest.mark.parametrize("by_meaning", [False, True])
@pytest.mark.parametrize("count", [20, 90, 400])
@pytest.mark.parametrize("session", [None, "one"])
@pytest.mark.parametrize(
    ("question", "place"), [("How many kg do I weigh in at now?", -1), ("At how many kg did I weigh in at first?", 0)]
)
async def test_the_newest_and_the_first_are_found_among_many(
    store: TextStore, question: str, place: int, count: int, session: str | None, by_meaning: bool
) -> None:
    entries = series("I weigh in at {} kg this morning.", count, every=timedelta(days=1), session=session)
    reply = await asked(store, entries, question, by_meaning=by_meaning)
    assert reply.items[0].id == entries[place].id
    assert entries[-1].id in [item.id for item in reply.items]


@pytest.mark.parametrize("by_meaning", [False, True])
async def test_those_of_a_month_are_found_among_many(store: TextStore, by_meaning: bool) -> None:
    entries = series("The meter reads {} kWh.", 900, every=timedelta(days=1))
    reply = await asked(store, entries, "What did the meter read in March 2025?", by_meaning=by_meaning)
    assert {f"{item.created_at:%Y-%m}" for item in reply.items[:10]} == {"2025-03"}


@pytest.mark.parametrize("every", [timedelta(days=1), timedelta(minutes=1)])
async def test_what_ends_a_series_in_other_words_is_told(store: TextStore, every: timedelta) -> None:
    entries = series("Status of project Falcon: step {}", 25, every=every, session="one")
    shipped = an_entry(
        "ann", "Falcon shipped", role="user", session_id="one", created_at=NOW + timedelta(minutes=-1) / 2
    )
    entries = [one.model_copy(update={"created_at": one.created_at - every}) for one in entries]
    entries = [one.model_copy(update={"last_said_at": one.created_at}) for one in entries]
    reply = await asked(store, [*entries, shipped], "What is the status of project Falcon?", by_meaning=True)
    assert {item.text for item in reply.items[:2]} == {"Status of project Falcon: step 24", "Falcon shipped"}


@pytest.mark.parametrize("by_meaning", [False, True])
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("HH-KL 482", "Truck HH-KL {} left the yard."),
        ("where is hhkl482?", "Truck HH-KL {} has moved to the yard."),
        ("Where did INV-1482 go?", "INV-1{} went to the other office instead."),
        ("Is order 482 still open?", "Order {} was cancelled after all."),
        ("Who has room 482 now?", "Room {} now belongs to the choir."),
        ("What replaced v2.482?", "Release 2.{} has been replaced."),
        ("Which 482 mm pipes?", "The {} mm pipes are no longer sold."),
        ("scan_482.pdf", "I moved scan_{}.pdf into the other folder."),
    ],
)
async def test_what_has_the_code_goes_first_however_much_else_is_newer(
    store: TextStore, question: str, text: str, by_meaning: bool
) -> None:
    numbers = [482, 284, 248, 428, 824, 842, 481, 483]
    entries = [
        an_entry("ann", text.format(number), role="user", created_at=NOW - timedelta(days=9 - place))
        for place, number in enumerate(numbers)
    ]
    old, *newer = (one.id for one in entries[:3])
    against = [newer, [old], [old], *[[]] * 5]
    entries = [one.model_copy(update={"conflicts_with": tuple(it)}) for one, it in zip(entries, against, strict=True)]
    reply = await asked(store, entries, question, by_meaning=by_meaning)
    assert [item.id for item in reply.items][:1] == [old]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("hhkl482", "Truck HH-KL 482 left."),
        ("HH KL 482", "Truck hhkl482 left."),
        ("hh-kl-482", "Truck HHKL482 left."),
        ("zk 482", "Flight ZK482 is late."),
        ("ZK482", "Flight ZK 482 is late."),
        ("what is mb482xq", "My number is MB 482 XQ."),
        ("482-xq", "My number is 482XQ."),
        ("inv1482", "INV-1482 went to Graz."),
    ],
)
async def test_without_meaning_a_code_is_found_however_it_is_spaced(store: TextStore, question: str, text: str) -> None:
    entries = [an_entry("ann", one, role="user") for one in (text, "Truck HH-KL 284 left.", "Tea is green.")]
    reply = await asked(store, entries, question, by_meaning=False)
    assert [item.text for item in reply.items][:1] == [text]


async def test_a_correction_is_said_when_it_is_made(store: TextStore) -> None:
    entry = an_entry("ann", "The boat is called Ilse.", role="user", created_at=NOW - timedelta(days=300))
    corrected = edited(entry, Edit(text="The boat is called Else."), NOW - timedelta(hours=1))
    assert corrected is not None
    await store_entries(store, [corrected])
    retriever = Retriever(store, vectors=None, embedder=None, counter=Cl100kCounter(), settings=RetrieveSettings())
    about = RetrieveRequest(user_id="ann", query="What is the boat called?", recency_days=7)
    reply = await retriever.retrieve(about.model_copy(update={"now": NOW}))
    assert [item.text for item in reply.items] == ["The boat is called Else."]
    assert "2026-01-24, corrected on 2026-11-20, today" in reply.context
    before = await retriever.retrieve(about.model_copy(update={"now": NOW - timedelta(days=1)}))
    assert before.items == ()
