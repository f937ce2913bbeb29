"""Questions for nothing but a time: what was said then answers, and nothing else does."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.ports import Filters, TextStore, Unavailable, VectorPoint
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.retrieve.visibility import narrowed
from services.shared.core.time_spans import Span
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.stores.builders import an_entry, store_entries

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)  # a Thursday
SAID = {1: "The bike is blue.", 8: "I sold the boat.", 9: "Rent went up.", 130: "We married in July.", 500: "I rowed."}


@pytest.fixture(params=["meaning", "words only", "no model"])
def way(request: pytest.FixtureRequest) -> str:
    """How a memory is searched."""
    return str(request.param)


async def answers(store: TextStore, question: str, way: str = "meaning", **given: Any) -> set[str]:
    """What is told, with the threshold that holds by default."""
    entries = [an_entry("ann", text, created_at=NOW - timedelta(days)) for days, text in SAID.items()]
    await store_entries(store, entries)
    embedder, vectors = FakeEmbedder(), FakeVectors()
    matrix = await embedder.embed([entry.text for entry in entries])
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
    if way == "no model":
        embedder.fails = Unavailable("the model is away")
    has_model = way != "words only"
    retriever = Retriever(
        store, vectors if has_model else None, embedder if has_model else None, Cl100kCounter(), RetrieveSettings()
    )
    reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query=question, now=NOW, limit=10, **given))
    return {item.text for item in reply.items}


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did I say yesterday?", [1]),
        ("What did we talk about last week?", [8, 9]),
        ("Was habe ich letzte Woche erzählt?", [8, 9]),
        ("Recap what I told you in July", [130]),
        ("What did I tell you in 2025?", [500]),
        ("What did I say two months ago?", []),
        (unicodedata.normalize("NFD", "Was habe ich in den letzten zwölf Tagen erzählt?"), [1, 8, 9]),
    ],
)
async def test_what_was_said_then_answers(store: TextStore, way: str, question: str, days: Sequence[int]) -> None:
    assert await answers(store, question, way) == {SAID[day] for day in days}


async def test_what_others_said_then_or_somewhere_else_does_not(store: TextStore, way: str) -> None:
    at = {"created_at": NOW - timedelta(1)}
    places: list[dict[str, Any]] = [
        {"space": "work"},
        {"persona_id": "guide"},
        {"conversation_id": "c2"},
        {"tags": ("red",)},
        {"status": "archived"},
    ]
    await store_entries(store, [an_entry("ann", f"The boat {n}.", **at, **place) for n, place in enumerate(places)])
    await store_entries(store, [an_entry("bob", "The bike of Bob.", **at)])
    question = "What did I say yesterday?"
    assert await answers(store, question, way) == {SAID[1], "The boat 2.", "The boat 3."}
    assert await answers(store, question, way, persona_id="guide") == {SAID[1], *(f"The boat {n}." for n in (1, 2, 3))}
    assert await answers(store, question, way, conversation_id="c2") == {"The boat 2."}
    assert await answers(store, question, way, tags=("red",)) == {"The boat 3."}
    assert await answers(store, question, way, space="work") == {"The boat 0."}


async def test_where_what_was_said_then_cannot_be_read_the_answer_says_so(store: TextStore) -> None:
    class Pageless:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def page(self, *_: Any, **__: Any) -> Any:
            raise Unavailable("the store is away")

    pageless: Any = Pageless()
    retriever = Retriever(pageless, None, None, Cl100kCounter(), RetrieveSettings())
    reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query="What did I say yesterday?", now=NOW))
    assert (reply.items, reply.degraded) == ((), ("lexical",))


async def test_a_time_beside_something_else_shuts_nothing_out(store: TextStore) -> None:
    assert SAID[8] in await answers(store, "Did I say anything about the boat yesterday?", min_score=0.0)


async def test_what_was_done_then_may_be_told_later_and_not_long_before(store: TextStore) -> None:
    assert SAID[130] in await answers(store, "What did we do in July?")
    told = await answers(store, "What did we do in July?", min_score=0.0)
    assert told == {said for days, said in SAID.items() if days < 500}


def test_filters_are_narrowed_and_never_widened() -> None:
    monday, friday, sunday = (datetime(2026, 11, day, tzinfo=UTC) for day in (2, 6, 8))
    asked = Filters(since=friday)
    assert narrowed(asked, []) == asked
    assert narrowed(asked, [Span("", monday, sunday)]) == Filters(since=friday, until=sunday)
    assert narrowed(Filters(), [Span("", monday, friday), Span("", friday, sunday)]) == Filters(
        since=monday, until=sunday
    )
    assert narrowed(Filters(), [Span("", monday, None), Span("", None, sunday)]) == Filters()
