"""Questions for a time, or as of one: what was said or true then answers, and nothing else does."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from contracts.ports import Filters, Selection, TextStore, Unavailable
from contracts.v1.conflicts import ResolveRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import LoggedTurn, Turn
from services.curate.conflicts import resolve
from services.dedupe.handler import candidate_entry
from services.ingest.handler import propose
from services.retrieve.visibility import narrowed
from services.shared.temporal.time_spans import Span
from tests.apps.asking import a_retriever, by_meaning
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors, Instead
from tests.apps.settling import settle
from tests.apps.test_forgetting import places
from tests.stores.builders import NOON, an_entry, minutes, store_entries

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)  # a Thursday
SAID = {1: "The bike is blue.", 8: "I sold the boat.", 9: "Rent went up.", 130: "We married in July.", 500: "I rowed."}


@pytest.fixture(params=["meaning", "words only", "no model"])
def way(request: pytest.FixtureRequest) -> str:
    """How a memory is searched."""
    return str(request.param)


async def answers(
    store: TextStore, question: str, way: str = "meaning", said: dict[int, str] = SAID, **given: Any
) -> list[str]:
    """What is told, with the threshold that holds by default, of what was said so many days ago."""
    entries = [an_entry("ann", text, created_at=NOW - timedelta(days)) for days, text in said.items()]
    await store_entries(store, entries)
    vectors, embedder = await by_meaning(entries)
    if way == "no model":
        embedder.fails = Unavailable("the model is away")
    retriever = a_retriever(store, *(() if way == "words only" else (vectors, embedder)))
    reply = await retriever.retrieve(RetrieveRequest(user_id="ann", query=question, now=NOW, limit=10, **given))
    return [item.text for item in reply.items]


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
    assert {*await answers(store, question, way)} == {SAID[day] for day in days}


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
    asked: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {SAID[1], "The boat 2.", "The boat 3."}),
        ({"persona_id": "guide"}, {SAID[1], "The boat 1.", "The boat 2.", "The boat 3."}),
        ({"conversation_id": "c2"}, {"The boat 2."}),
        ({"tags": ("red",)}, {"The boat 3."}),
        ({"space": "work"}, {"The boat 0."}),
    ]
    for given, told in asked:
        assert {*await answers(store, "What did I say yesterday?", way, **given)} == told


async def test_where_what_was_said_then_cannot_be_read_the_answer_says_so(store: TextStore) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise Unavailable("the store is away")

    request = RetrieveRequest(user_id="ann", query="What did I say yesterday?", now=NOW)
    reply = await a_retriever(Instead(store, page=away)).retrieve(request)
    assert (reply.items, reply.degraded) == ((), ("lexical",))


async def test_a_time_beside_something_else_shuts_nothing_out(store: TextStore) -> None:
    assert SAID[8] in await answers(store, "Did I say anything about the boat yesterday?", min_score=0.0)


async def test_what_was_done_then_may_be_told_later_and_not_long_before(store: TextStore) -> None:
    assert SAID[130] in await answers(store, "What did we do in July?")
    told = await answers(store, "What did we do in July?", min_score=0.0)
    assert {*told} == {said for days, said in SAID.items() if days < 500}


def test_filters_are_narrowed_and_never_widened() -> None:
    monday, friday, sunday = (datetime(2026, 11, day, tzinfo=ZoneInfo("Europe/Vienna")) for day in (2, 6, 8))
    since, whole = Filters(since=friday), Filters(since=monday, until=friday)
    assert narrowed(since, []) == since
    assert narrowed(since, [Span("", monday, sunday)]) == Filters(since=friday, until=sunday)
    spans = [Span("", monday, friday), Span("", friday, sunday)]
    assert narrowed(Filters(), spans) == Filters(since=monday, until=sunday)
    assert narrowed(Filters(), [Span("", monday, None), Span("", None, sunday)]) == Filters()
    assert narrowed(whole, [Span("", monday, friday)]) == whole


def test_without_a_zone_a_day_may_begin_anywhere() -> None:
    monday, friday, around = datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 6, tzinfo=UTC), timedelta(hours=14)
    assert narrowed(Filters(), [Span("", monday, friday)]) == Filters(since=monday - around, until=friday + around)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I do on 12 August?", 12),
        ("What did I say on 12 August?", 12),
        ("What did we do on August 11?", 11),
        ("What did I do on 13 Aug 2026?", 13),
        ("What happened on 2026-08-12?", 12),
        ("Was habe ich am 12. August gemacht?", 12),
    ],
)
@pytest.mark.parametrize("searched", ["words only", "meaning"])
async def test_what_was_said_on_the_day_that_is_asked_for_goes_first(
    store: TextStore, question: str, first: int, searched: str
) -> None:
    said = {
        9: "On 12 August I did nothing, I hope.",
        10: "I did a long swim.",
        11: "I did the shopping and what not.",
        12: "We ate soup.",
        13: "I did a lot.",
        14: "What a day, I did August's accounts.",
    }
    until_now = (NOW - datetime(2026, 8, 1, 12, tzinfo=UTC)).days + 1
    told = await answers(store, question, searched, {until_now - day: text for day, text in said.items()})
    assert told[:1] == [said[first]]


@pytest.mark.parametrize(
    ("said_at", "zone", "day"),
    [
        ("2026-03-01T00:30:00+02:00", None, "2026-03-01"),
        ("2026-03-01T00:30:00+02:00", "UTC", "2026-02-28"),
        ("2026-03-01T22:30:00-0800", "Europe/Vienna", "2026-03-02"),
        ("2026-03-01T23:30:00+05:30", None, "2026-03-01"),
        ("2026-03-01T00:10:00+14:00", None, "2026-03-01"),
        ("2026-03-01T23:50:00Z", None, "2026-03-01"),
    ],
)
async def test_a_memory_is_told_with_the_day_that_it_was_where_it_was_said(
    store: TextStore, said_at: str, zone: str | None, day: str
) -> None:
    turn = Turn.model_validate({"user_id": "ann", "role": "user", "text": "The kiln is full.", "created_at": said_at})
    sent = Turn.model_validate_json(turn.model_dump_json())
    logged = LoggedTurn.model_validate({**sent.model_dump(), "turn_id": "t", "session_id": "s"})
    await store_entries(store, [candidate_entry(propose(logged))])
    retriever = a_retriever(store)
    about = RetrieveRequest(user_id="ann", query="Is the kiln full?", now=NOW, time_zone=zone)
    assert f"- [{day}, " in (await retriever.retrieve(about)).context
    for other, is_told in ((day, True), ("2026-03-04", False)):
        then = about.model_copy(update={"query": f"What did I say on {other}?"})
        assert bool((await retriever.retrieve(then)).items) == is_told


TUESDAY = "My dentist appointment is on Tuesday"
THURSDAY = "My dentist appointment has moved to Thursday"
FRIDAY = "My dentist appointment has moved from Thursday to Friday"
QUESTION = "when is my dentist appointment?"


async def told(store: TextStore, *texts: str, **fields: Any) -> None:
    """What ann said on the hour, one statement after another, settled by a reader."""
    times = [NOON + minutes(60 * hour) for hour in range(len(texts))]
    entries = [an_entry("ann", text, created_at=at, **fields) for text, at in zip(texts, times, strict=True)]
    await store_entries(store, entries)
    await settle(store, entries, FakeReader(updates=[*pairwise(texts)]))


async def asked(store: Any, hour: float, vectors: FakeVectors | None = None, **fields: Any) -> RetrieveReply:
    embedder = FakeEmbedder() if vectors else None
    retriever = a_retriever(store, vectors, embedder, leg_timeout_seconds=1.0, min_score=0.0)
    given = {"user_id": "ann", "query": QUESTION, "now": NOON + minutes(round(60 * hour))} | fields
    return await retriever.retrieve(RetrieveRequest(**given))


def texts(reply: RetrieveReply) -> list[str]:
    return [item.text for item in reply.items]


@pytest.mark.parametrize(("hour", "then"), [(-0.5, []), (0.5, [TUESDAY]), (1.5, [THURSDAY]), (2.5, [FRIDAY])])
async def test_what_was_true_then_is_the_answer(store: TextStore, hour: float, then: list[str]) -> None:
    await told(store, TUESDAY, THURSDAY, FRIDAY)
    reply = await asked(store, hour)
    assert texts(reply) == then
    assert all(text not in reply.context.split("[before:")[0] for text in {TUESDAY, THURSDAY, FRIDAY} - {*then})


async def test_what_it_was_before_is_told_as_of_then(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY, FRIDAY)
    ((before,),) = [item.before for item in (await asked(store, 1.5)).items]
    assert before.text == TUESDAY
    assert (await asked(store, 0.5)).items[0].before == ()


async def test_what_its_user_decided_was_never_so_is_no_former_state(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY)
    (newer,) = (await store.page(Selection("ann"), limit=1, cursor=None)).entries
    request = ResolveRequest(user_id="ann", newer=newer.id, older=newer.supersedes[0], keep="old")
    await resolve(request, stores=places(store)[0])
    (item,) = (await asked(store, 2)).items
    assert (item.text, item.before) == (TUESDAY, ())


async def test_meaning_alone_finds_what_was_true_then(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY)
    active = [entry for entry in await store.scan(after="", limit=10) if entry.status == "active"]
    vectors, _ = await by_meaning(active)
    assert texts(await asked(store, 0.5, vectors, query="Zahnarzt")) == [TUESDAY]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"persona_id": "coach"}, [TUESDAY]),
        ({}, []),
        ({"persona_id": "coach", "user_id": "bob"}, []),
        ({"persona_id": "coach", "space": "work"}, []),
        ({"persona_id": "coach", "types": ("summary",)}, []),
        ({"persona_id": "coach", "conversation_id": "another"}, []),
    ],
)
async def test_scope_and_filters_hold_for_it(store: TextStore, fields: dict[str, Any], found: list[str]) -> None:
    await told(store, TUESDAY, THURSDAY, persona_id="coach")
    assert texts(await asked(store, 0.5, **fields)) == found


async def test_what_was_repeated_since_is_found_once(store: TextStore) -> None:
    entry = an_entry("ann", TUESDAY).model_copy(update={"last_said_at": NOON + minutes(300), "repeat_count": 1})
    await store_entries(store, [entry])
    assert texts(await asked(store, 0.5)) == [TUESDAY]


async def test_while_what_came_later_cannot_be_looked_at_the_rest_is_answered(store: TextStore) -> None:
    async def search(*args: Any, **given: Any) -> Any:
        if given["filters"].since is not None:
            raise Unavailable("too busy")
        return await store.search(*args, **given)

    await told(store, TUESDAY, THURSDAY)
    await store_entries(store, [an_entry("ann", "The dentist is in Lisbon")])
    assert texts(await asked(Instead(store, search=search), 0.5)) == ["The dentist is in Lisbon"]
