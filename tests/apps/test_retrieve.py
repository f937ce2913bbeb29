"""retrieve answers from the leg that is left, and never shows what is not in scope."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.ports import Filters, Scope, TextStore, Unavailable, VectorPoint
from contracts.v1.claims import Change
from contracts.v1.commands import ListRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from services.curate.commands import list_entries
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.retrieve.speakers import Speakers
from services.retrieve.visibility import is_visible
from services.shared.lifecycle.sayings import renewed
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors
from tests.apps.settling import settle
from tests.stores.builders import NOON, an_entry, store_entries

SETTINGS = RetrieveSettings(leg_timeout_seconds=1.0, min_score=0.0, relevance="profile")


@pytest.fixture
async def entries(store: TextStore) -> list[Entry]:
    return await store_entries(store, [an_entry("ann", text) for text in ("green tea", "black coffee", "red wine")])


@pytest.fixture
async def vectors(entries: list[Entry]) -> FakeVectors:
    filled, embedder = FakeVectors(), FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in entries])
    await filled.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
    return filled


def a_retriever(store: TextStore, vectors: FakeVectors | None, embedder: FakeEmbedder | None) -> Retriever:
    return Retriever(store=store, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=SETTINGS)


async def ask(retriever: Retriever, query: str = "green tea", **given: Any) -> RetrieveReply:
    return await retriever.retrieve(RetrieveRequest(user_id="ann", query=query, **given))


async def test_both_legs_answer_and_say_so(store: TextStore, vectors: FakeVectors) -> None:
    reply = await ask(a_retriever(store, vectors, FakeEmbedder()))
    assert reply.degraded == ()
    assert reply.items[0].text == "green tea"
    assert reply.items[0].signals.lexical
    assert reply.items[0].signals.semantic


@pytest.mark.parametrize("trouble", ["fails", "hangs"])
async def test_without_the_vector_store_words_still_answer(
    store: TextStore, vectors: FakeVectors, trouble: str
) -> None:
    setattr(vectors, trouble, True)
    reply = await ask(a_retriever(store, vectors, FakeEmbedder()))
    assert reply.degraded == ("semantic",)
    assert [item.text for item in reply.items] == ["green tea"]


async def test_without_the_model_words_still_answer(store: TextStore, vectors: FakeVectors) -> None:
    embedder = FakeEmbedder()
    embedder.fails = Unavailable("the model is away")
    reply = await ask(a_retriever(store, vectors, embedder))
    assert reply.degraded == ("semantic",)
    assert [item.text for item in reply.items] == ["green tea"]


async def test_a_memory_of_words_only_is_not_degraded(store: TextStore, entries: list[Entry]) -> None:
    reply = await ask(a_retriever(store, None, None))
    assert reply.degraded == ()
    assert [item.text for item in reply.items] == ["green tea"]
    assert reply.items[0].embedding_state == "pending"


async def test_when_words_cannot_be_searched_meaning_answers(store: TextStore, vectors: FakeVectors) -> None:
    class Wordless:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def search(self, *args: Any, **kwargs: Any) -> Any:
            raise Unavailable("the index is away")

    reply = await ask(a_retriever(Wordless(), vectors, FakeEmbedder()))
    assert reply.degraded == ("lexical",)
    assert "green tea" in [item.text for item in reply.items]
    with pytest.raises(Unavailable):
        await ask(a_retriever(Wordless(), None, None))


class Away:
    """A text store whose every method fails, or hangs."""

    def __init__(self, *, hangs: bool) -> None:
        self.hangs = hangs

    def __getattr__(self, name: str) -> Any:
        return self._away

    async def _away(self, *_: Any, **__: Any) -> Any:
        if self.hangs:
            await asyncio.sleep(60)
        raise Unavailable("the text store is away")


@pytest.mark.parametrize("hangs", [False, True])
async def test_while_the_text_store_is_away_meaning_answers_from_copies(
    vectors: FakeVectors, entries: list[Entry], hangs: bool
) -> None:
    store: Any = Away(hangs=hangs)
    reply = await ask(a_retriever(store, vectors, FakeEmbedder()))
    assert reply.degraded == ("lexical",)
    assert {item.text for item in reply.items} == {entry.text for entry in entries}
    vectors.keeps_copies = False
    with pytest.raises(Unavailable):
        await ask(a_retriever(store, vectors, FakeEmbedder()))


class Late:
    """A text store of which one method takes longer than a leg is waited for."""

    def __init__(self, store: TextStore, late: str) -> None:
        self.store, self.late = store, late

    def __getattr__(self, name: str) -> Any:
        return self._late if name == self.late else getattr(self.store, name)

    async def _late(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(SETTINGS.leg_timeout_seconds * 2)
        return await getattr(self.store, self.late)(*args, **kwargs)


async def test_while_both_searches_are_late_the_first_to_come_answers(store: TextStore, vectors: FakeVectors) -> None:
    late: Any = Late(store, "search")
    vectors.hangs = True
    reply = await ask(a_retriever(late, vectors, FakeEmbedder()))
    assert reply.degraded == ("semantic",)
    assert [item.text for item in reply.items] == ["green tea"]


async def test_entries_that_come_late_are_waited_for_where_there_are_no_copies(
    store: TextStore, vectors: FakeVectors
) -> None:
    late: Any = Late(store, "get")
    vectors.keeps_copies = False
    reply = await ask(a_retriever(late, vectors, FakeEmbedder()))
    assert reply.degraded == ()
    assert "green tea" in [item.text for item in reply.items]


async def test_a_late_search_by_words_does_not_keep_entries_from_being_read(
    store: TextStore, vectors: FakeVectors
) -> None:
    late: Any = Late(store, "search")
    vectors.keeps_copies = False
    reply = await ask(a_retriever(late, vectors, FakeEmbedder()))
    assert reply.degraded == ("lexical",)
    assert "green tea" in [item.text for item in reply.items]


async def test_a_copy_of_somebody_else_never_goes_out(vectors: FakeVectors) -> None:
    foreign = an_entry("bob", "green tea for bob")
    (vector,) = await FakeEmbedder().embed([foreign.text])
    await vectors.upsert([VectorPoint(foreign, vector)])
    store: Any = Away(hangs=False)
    assert foreign.id not in [item.id for item in (await ask(a_retriever(store, vectors, FakeEmbedder()))).items]


async def test_a_hit_that_is_not_in_scope_never_goes_out(store: TextStore, vectors: FakeVectors) -> None:
    foreign = await store_entries(store, [an_entry("bob", "green tea for bob")])
    matrix = await FakeEmbedder().embed(["green tea for bob"])
    await vectors.upsert([VectorPoint(foreign[0], matrix[0])])  # a store that ignores scopes
    reply = await ask(a_retriever(store, vectors, FakeEmbedder()))
    assert foreign[0].id not in [item.id for item in reply.items]
    assert len(reply.items) == 3


@pytest.mark.parametrize(
    ("change", "visible"),
    [
        ({}, True),
        ({"user_id": "bob"}, False),
        ({"space": "work"}, False),
        ({"persona_id": "coach"}, False),
        ({"status": "superseded"}, False),
        ({"type": "note"}, False),
    ],
)
def test_the_last_look_checks_scope_status_and_filters(change: dict[str, Any], visible: bool) -> None:
    entry = an_entry("ann", "green tea", type="fact").model_copy(update=change)
    assert is_visible(entry, Scope("ann"), Filters(types=("fact",))) is visible


async def test_what_was_asked_before_does_not_stand_in_for_its_answer(store: TextStore) -> None:
    said = ["I am allergic to peanuts.", "Peanuts?", "Can I eat peanuts?", "Where do peanuts grow?"]
    await store_entries(store, [an_entry("ann", text, created_at=day(n)) for n, text in enumerate(said)])
    reply = await ask(a_retriever(store, None, None), "Can I eat peanuts?")
    assert {item.text for item in reply.items} == {said[0], said[3]}
    asked = await ask(a_retriever(store, None, None), "Can I eat peanuts?", explain=True, persona_id="*")
    assert {item.text for item in asked.items} == {said[0], said[3]}


async def test_asking_in_other_ways_does_not_stand_in_for_the_answer_and_small_talk_is_none(store: TextStore) -> None:
    texts = (
        "My favourite tea is green tea.",
        "Which tea do I like best?",
        "Is green tea good with milk?",
        "Good to know.",
    )
    await store_entries(store, [an_entry("ann", text) for text in texts])
    reply = await ask(a_retriever(store, None, None), "what is my favourite tea? good to know")
    assert {item.text for item in reply.items} == {texts[0], texts[2]}
    reply = await ask(a_retriever(store, None, None), "what did I ask about tea that I like?")
    assert texts[1] in {item.text for item in reply.items}


async def test_limit_budget_and_least_score_are_kept(store: TextStore, vectors: FakeVectors) -> None:
    retriever = a_retriever(store, vectors, FakeEmbedder())
    assert len((await ask(retriever, limit=2)).items) == 2
    assert (await ask(retriever, limit=2)).truncated
    assert (await ask(retriever, token_budget=0)).items == ()
    assert (await ask(retriever, token_budget=70)).token_count <= 70
    assert (await ask(retriever, min_score=1.0)).items == ()
    assert (await ask(retriever, query="  ")).items == ()


def day(number: float) -> datetime:
    return NOON + timedelta(days=number)


def said_again(entry: Entry, *days: float) -> Entry:
    """The entry, said again on these days, each time in a conversation of its own."""
    for number in days:
        turn = {"turn_id": f"t{number}", "conversation_id": f"c{number}"}
        entry = renewed(entry, an_entry("ann", entry.text, created_at=day(number), **turn))
    return entry


async def the_items(store: TextStore, entries: list[Entry], **given: Any) -> dict[str, RetrievedItem]:
    """What is found by both legs, by its text."""
    await store_entries(store, entries)
    vectors, embedder = FakeVectors(), FakeEmbedder()
    matrix: Any = await embedder.embed([entry.text for entry in entries]) if entries else []
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(entries, matrix, strict=True)])
    retriever = a_retriever(store, vectors, embedder)
    reply = await ask(retriever, "tea", limit=20, **given)
    return {item.text: item for item in reply.items}


async def test_a_repeat_counts_for_recency_and_is_shown(store: TextStore) -> None:
    entries = [said_again(an_entry("ann", "green tea", turn_id="t"), 280, 100), an_entry("ann", "old tea")]
    found = await the_items(store, entries, recency_days=7, now=day(281))
    assert list(found) == ["green tea"]
    item = found["green tea"]
    assert (item.created_at, item.last_said_at, item.repeat_count) == (NOON, day(280), 2)
    assert item.scores.recency == pytest.approx(math.exp(-1 / 7))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (-1, {}),
        (0, {"green tea": (0, 0)}),
        (50, {"green tea": (0, 0)}),
        (100, {"green tea": (100, 1), "black tea": (90, 0)}),
        (1000, {"green tea": (280, 2), "black tea": (90, 0), "late tea": (300, 0)}),
    ],
)
async def test_nothing_that_was_said_after_the_moment_asked_for_is_returned(
    store: TextStore, now: float, expected: dict[str, tuple[float, int]]
) -> None:
    green, black, late = (an_entry("ann", f"{kind} tea", turn_id="t") for kind in ("green", "black", "late"))
    black, late = (
        e.model_copy(update={"created_at": day(n), "last_said_at": day(n)}) for e, n in ((black, 90), (late, 300))
    )
    found = await the_items(store, [said_again(green, 280, 100), black, late], now=day(now))
    assert {text: (item.last_said_at, item.repeat_count) for text, item in found.items()} == {
        text: (day(last), repeats) for text, (last, repeats) in expected.items()
    }


async def test_a_conversation_finds_what_was_said_in_it_and_shows_that_turn(store: TextStore) -> None:
    first = an_entry("ann", "green tea", turn_id="t", conversation_id="c")
    entries = [said_again(first, 5, 9), an_entry("ann", "black tea", turn_id="u", conversation_id="other")]
    found = await the_items(store, entries, conversation_id="c5")
    assert {text: (item.turn_id, item.conversation_id) for text, item in found.items()} == {"green tea": ("t5", "c5")}
    found = await the_items(store, [], conversation_id="c")
    assert {text: item.turn_id for text, item in found.items()} == {"green tea": "t"}
    assert not await the_items(store, [], conversation_id="c5", now=day(4))
    assert not await the_items(store, [], conversation_id="nowhere")


@pytest.mark.parametrize(("persona", "seen"), [(None, "c"), ("guide", "cg"), ("*", "cgt"), ("unheard", "c")])
async def test_a_persona_is_none_one_or_all(store: TextStore, persona: str | None, seen: str) -> None:
    owners = {"c tea": None, "g tea": "guide", "t tea": "tutor"}
    found = await the_items(store, [an_entry("ann", t, persona_id=p) for t, p in owners.items()], persona_id=persona)
    assert sorted(text[0] for text in found) == list(seen)
    listed = await list_entries(ListRequest(user_id="ann", persona_id=persona), store=store)
    assert sorted(entry.text[0] for entry in listed.items) == list("cgt" if persona is None else seen)
    assert listed.total_count == len(listed.items)


async def test_empty_filters_do_not_filter(store: TextStore) -> None:
    found = await the_items(
        store, [an_entry("ann", "green tea"), an_entry("ann", "tea", tags=("a",))], tags=[], types=[]
    )
    assert set(found) == {"green tea", "tea"}


async def test_explaining_tells_whose_clock_was_ahead(store: TextStore) -> None:
    entries = [an_entry("ann", "green tea", clock_ahead=True), an_entry("ann", "black tea")]
    found = await the_items(store, entries, explain=True)
    assert {text: (item.explanation or {})["clock_ahead"] for text, item in found.items()} == {
        "green tea": True,
        "black tea": False,
    }


async def test_a_question_is_searched_once_as_the_speaker_whom_it_names_would_ask_it(store: TextStore) -> None:
    said = [an_entry("ann", "I row on the lake", speaker="Ada Byron"), an_entry("bob", "My lake", speaker="Bob")]
    await store_entries(store, said)
    embedder = FakeEmbedder()
    retriever = a_retriever(store, FakeVectors(), embedder)
    for question in ("On which lake does Ada row?", "Whose lake is Ada's lake?", "Where is Bob's lake?"):
        await ask(retriever, question)
    assert embedder.asked == ["On which lake does I row?", "Whose lake is my lake?", "Where is Bob's lake?"]


async def test_names_of_speakers_are_looked_up_once_a_minute_and_only_for_a_question_that_may_name_one(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = await store_entries(store, [an_entry("ann", "I row on the lake", speaker="Ada")])
    calls: list[str] = []

    class Noting:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(store, name)

    noting: Any = Noting()
    speakers, now, ann = Speakers(), [0.0], Scope("ann")
    monkeypatch.setattr("services.retrieve.speakers.time", SimpleNamespace(monotonic=lambda: now[0] + 1000))
    assert await speakers.look_up(ann, "What did i say?", noting) == frozenset()
    assert calls == []
    for _ in range(2):
        assert await speakers.look_up(ann, "Where on the lake does Ada row?", noting) == {"Ada"}
    assert calls == ["page"]
    speakers.note(ann, [entries[0].model_copy(update={"speaker": "Ben"})])
    assert await speakers.look_up(ann, "what did i say?", noting) == {"Ada", "Ben"}
    now[0] = 61.0
    speakers.note(ann, [entries[0].model_copy(update={"speaker": "Cleo"})])
    assert await speakers.look_up(ann, "what did i say?", noting) == {"Cleo"}
    assert await speakers.look_up(ann, "Does Ada row?", noting) == {"Ada", "Cleo"}, "noted is not looked up"
    assert calls == ["page"] * 2


async def test_a_time_in_the_question_brings_up_what_was_said_then_and_explaining_tells_it(store: TextStore) -> None:
    moments = [NOON - timedelta(days=days) for days in (1, 9, 40, 100)]
    said = [an_entry("ann", "I cooked a green curry", created_at=moment) for moment in moments]
    await store_entries(store, said)
    vectors, embedder = FakeVectors(), FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in said])
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(said, matrix, strict=True)])
    retriever = a_retriever(store, vectors, embedder)
    for question, best in (("two weeks ago", 1), ("yesterday", 0), ("before November", 3)):
        reply = await ask(retriever, f"Which curry did I cook {question}?", now=NOON, explain=True)
        assert reply.items[0].id == said[best].id, question
        assert reply.explanation is not None
        ((time),) = reply.explanation["times"]
        assert time["text"] == question
        assert set(time) == {"text", "since", "until"}
    reply = await ask(retriever, "Which curry in March 2025?", now=NOON, explain=True)
    assert (reply.explanation or {})["times"] == [{"month": 3, "year": 2025}]


async def test_yesterday_is_that_of_who_asks_and_the_context_tells_their_dates(store: TextStore) -> None:
    now = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)  # in Auckland the 26th, 4:30
    await store_entries(store, [an_entry("ann", "I cooked a curry", created_at=now - timedelta(hours=5))])
    for zone, midnight, told in (
        ("Pacific/Auckland", datetime(2026, 11, 24, 11, tzinfo=UTC), "2026-11-25, yesterday"),
        (None, datetime(2026, 11, 24, tzinfo=UTC), "2026-11-25, today"),
    ):
        question = "Which curry did I cook yesterday?"
        reply = await ask(a_retriever(store, None, None), question, now=now, explain=True, time_zone=zone)
        assert reply.explanation is not None
        (time,) = reply.explanation["times"]
        assert (time["since"], time["until"] - time["since"]) == (midnight, timedelta(days=1))
        assert reply.explanation["time_zone"] == (zone or "UTC")
        assert told in reply.context


async def test_both_halves_of_a_conflict_are_shown(store: TextStore) -> None:
    texts = ("I live in Ulm", "I have moved to Passau")
    said = [
        an_entry("ann", text, created_at=NOON + timedelta(days=n), manually_saved=True) for n, text in enumerate(texts)
    ]
    await store_entries(store, said)
    retriever = a_retriever(store, None, None)
    assert [item.text for item in (await ask(retriever, "where do I live?")).items] == ["I live in Ulm"]
    await settle(store, said, FakeReader(updates=[texts]))
    reply = await ask(retriever, "where do I live?")
    assert [item.text for item in reply.items] == list(texts)
    assert (reply.total_count, reply.truncated) == (2, False)
    assert [item.text for item in (await ask(retriever, "where do I live?", limit=1)).items] == ["I live in Ulm"]
    assert [item.text for item in (await ask(retriever, "where do I live?", now=NOON)).items] == ["I live in Ulm"]
    assert [item.text for item in (await ask(retriever, "who moved to Passau?")).items] == [texts[n] for n in (1, 0)]


@pytest.mark.parametrize("fields", [{"space": "work"}, {"persona_id": "coach"}, {"status": "superseded"}])
async def test_the_other_half_of_a_conflict_is_shown_to_who_may_see_it(
    store: TextStore, fields: dict[str, str]
) -> None:
    other = an_entry("ann", "I have moved to Passau", **fields)
    here = an_entry("ann", "I live in Ulm", conflicts_with=(other.id,))
    await store_entries(store, [other, here])
    reply = await ask(a_retriever(store, None, None), "where do I live?")
    assert [item.text for item in reply.items] == ["I live in Ulm"]


@pytest.mark.parametrize("newest_first", [True, False])
async def test_what_tells_of_a_change_is_shown_before_what_it_may_have_changed(
    store: TextStore, newest_first: bool
) -> None:
    texts = ("My standup is at 9:30 each morning", "The standup of each morning is at 10:15 now")
    days = (NOON, NOON + timedelta(days=1))
    said = [an_entry("ann", text, created_at=at, last_said_at=at) for text, at in zip(texts, days, strict=True)]
    change = Change(entry_id=said[0].id, slot="appointment", value=(17, 21), confidence=0.9)
    said[1] = said[1].model_copy(update={"changes": (change,)})
    kept, vectors, embedder = await store_entries(store, said), FakeVectors(), FakeEmbedder()
    matrix = await embedder.embed([entry.text for entry in kept])
    await vectors.upsert([VectorPoint(e, v) for e, v in zip(kept, matrix, strict=True)])
    settings = SETTINGS.model_copy(update={"newest_first": newest_first})
    retriever = Retriever(store=store, vectors=vectors, embedder=embedder, counter=Cl100kCounter(), settings=settings)
    reply = await ask(retriever, "When is my standup?", limit=1)
    assert [item.text for item in reply.items] == [texts[newest_first]]
