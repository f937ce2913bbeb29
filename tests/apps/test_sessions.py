"""Sessions and what they amount to, by rules or as a model writes it; forgetting reaches all of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import TextStore
from contracts.v1.claims import Slot
from contracts.v1.control import SettingsChange, SettingsRequest, SpaceSettings
from contracts.v1.entries import Entry
from contracts.v1.overview import SummaryRequest
from contracts.v1.sessions import SessionsReply, SessionsRequest
from services.curate import control, overview, sessions, summary_writer
from services.curate.summary_writer import SummaryWriter
from services.shared.context.model_summaries import ROLLING_FORM
from services.shared.errors import Rejected
from services.shared.llm.budget import Budget
from services.shared.preferences import PreferenceReader
from tests.claims import a_claim, a_task
from tests.polling import eventually
from tests.stores.builders import NOON, a_session, an_entry, store_entries
from tests.stores.changing import modify

TOLD = ["My sister Clara moved to Porto.", "I'll send her the marmalade by Friday.", "How far is Porto?"]


async def asked(store: TextStore, user: str = "ann", **fields: object) -> SessionsReply:
    request = SessionsRequest.model_validate({"user_id": user, **fields})
    return await sessions.list_sessions(request, store=store, now=NOON + timedelta(days=2))


async def test_sessions_are_listed_page_by_page_the_latest_first(store: TextStore) -> None:
    days = [an_entry("ann", session_id=f"s{n}", created_at=NOON + timedelta(hours=n)) for n in range(5)]
    await store_entries(store, [*days, an_entry("bob"), an_entry("ann", space="work")])
    pages, cursor = list[str](), None
    while True:
        reply = await asked(store, space="default", limit=2, cursor=cursor)
        pages += [one.id for one in reply.items]
        cursor = reply.next_cursor
        if cursor is None:
            break
    assert pages == ["s4", "s3", "s2", "s1", "s0"]
    assert (reply.total_count, reply.states[0].sessions, reply.states[0].present) == (5, 5, None)
    assert (await asked(store)).total_count == 6
    with pytest.raises(Rejected, match="cursor"):
        await asked(store, cursor="none of ours")


async def test_a_persona_sees_its_own_sessions_and_those_of_none(store: TextStore) -> None:
    given = [an_entry("ann", f"{name}", session_id=f"s {name}", persona_id=name) for name in ("coach", "chef", None)]
    await store_entries(store, given)
    assert {one.persona_id for one in (await asked(store, persona_id="coach")).items} == {"coach", None}
    assert (await asked(store, persona_id="*")).total_count == 3


async def test_what_is_forgotten_is_in_no_summary(store: TextStore) -> None:
    said = a_session("ann", TOLD, conversation_id="c1")
    claims = (a_task(TOLD[1], "send her the marmalade"), a_claim(TOLD[1], "Friday", "deadline"))
    said[1] = said[1].model_copy(update={"claims": claims})
    await store_entries(store, said)
    reply = await asked(store, id="s1", rolling="c1")
    assert reply.summary is not None
    assert reply.entry_ids == tuple(entry.id for entry in said)
    (promise,) = reply.summary.commitments
    assert (promise.text, promise.source_ids) == (TOLD[1], (said[1].id,))
    whole = await overview.summarize(SummaryRequest(user_id="ann"), store=store)
    assert [one.text for one in whole.spine.open_loops] == [TOLD[1]]
    await store.forget([said[1]], until=None)
    whole = await overview.summarize(SummaryRequest(user_id="ann"), store=store)
    assert "marmalade" not in whole.model_dump_json() + (await asked(store, id="s1", rolling="c1")).model_dump_json()


async def test_a_rolling_summary_is_of_a_conversation(store: TextStore) -> None:
    said = a_session("ann", [*TOLD, "Porto is near Lisbon"], conversation_id="c1")
    await store_entries(store, [*said, an_entry("ann", "I like walks", conversation_id="c2")])
    rolling = (await asked(store, rolling="c1")).rolling
    assert rolling is not None
    assert rolling.turns == 4
    assert "Clara" in rolling.text
    assert "walks" not in rolling.text
    alone = await asked(store, rolling="c1", rolling_length=40, limit=0)
    assert (alone.items, alone.total_count) == ((), 0)
    assert alone.rolling is not None
    assert 0 < len(alone.rolling.text) <= 40
    assert alone.rolling.characters == sum(len(entry.text) for entry in said)
    none = await asked(store, limit=0)
    assert (none.items, none.total_count, none.next_cursor) == ((), 1, None)


async def test_nobody_has_the_session_of_another_user(store: TextStore) -> None:
    await store_entries(store, a_session("ann", TOLD))
    with pytest.raises(Rejected, match="there is no session 's1'"):
        await asked(store, "bob", id="s1")


SAID = (
    "My sister Clara moved to Porto.",
    "I'm working on the budget app with Ben.",
    "I love hiking along the Douro river.",
    "The budget app needs a new login page.",
)
READ: tuple[tuple[str, Slot], ...] = (
    ("sister Clara", "family"),
    ("budget app", "project"),
    ("hiking", "hobby"),
    ("login page", "project_detail"),
)
OF_CLARA = "The user's sister Clara moved to Porto."


class FakeWriter:
    """A model that repeats turns in its own words, or does what a test tells it."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []
        self.fails: Exception | None = None
        self.is_left_alone = False
        self.answer: Callable[[list[dict[str, Any]]], str] = self._well
        self.may = asyncio.Event()
        self.may.set()
        self.sections = ("sentences", "one_liner", "what_mattered", "profile", "projects", "people")

    def _well(self, turns: list[dict[str, Any]]) -> str:
        told = [(f"The user said: {one['text']}" if len(one["text"]) < 100 else "", one["n"]) for one in turns]
        sentences = [{"section": name, "text": text, "turns": [n]} for name in self.sections for text, n in told]
        return json.dumps({"sentences": sentences})

    def check(self) -> None:
        if self.is_left_alone:
            raise Unavailable("left alone")

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> str:
        turns = json.loads(messages[-1]["content"])["turns"]
        self.shown.append([one["text"] for one in turns])
        await self.may.wait()
        if self.fails is not None:
            raise self.fails
        return self.answer(turns)

    async def close(self) -> None:
        """Nothing to close."""


class World:
    """A store with a conversation of four turns, whoever sums it up, and how it is asked for."""

    def __init__(self, store: TextStore, said: list[Entry], most: int) -> None:
        self.store, self.said, self.model = store, said, FakeWriter()
        budget = Budget(store, of_user=most, of_all=100)
        self.writer = SummaryWriter(store, self.model, preferences=PreferenceReader(store), budget=budget)

    async def asked(self, **fields: Any) -> SessionsReply:
        request = SessionsRequest.model_validate({"user_id": "ann", "limit": 0, "rolling": "c1", **fields})
        now = NOON + timedelta(days=2)
        return await sessions.list_sessions(request, store=self.store, now=now, writer=self.writer)

    async def rolling(self) -> tuple[str, str]:
        reply = (await self.asked()).rolling
        assert reply is not None
        return reply.made_by, reply.text

    async def written(self) -> tuple[str, str]:
        return await eventually(self.rolling, lambda seen: seen[0] == "model", within=10)

    async def rested(self) -> tuple[str, str]:
        """What is answered once the model has nothing to do."""
        await self.rolling()
        await eventually(self._waiting, lambda waiting: not waiting, within=10)
        return await self.rolling()

    async def correct(self) -> None:
        rome = {"text": "My brother lives in Rome."}
        await modify(self.store, self.said[:1], lambda one: one.model_copy(update=rome))

    async def _waiting(self) -> int:
        return len(self.writer._waiting) + (self.writer._writing is not None)


async def a_conversation(store: TextStore) -> list[Entry]:
    """The conversation, as a reader read it."""
    read = zip(a_session("ann", list(SAID), conversation_id="c1"), READ, strict=True)
    claims = [(one, a_claim(one.text, value, slot)) for one, (value, slot) in read]
    return await store_entries(store, [one.model_copy(update={"claims": (claim,)}) for one, claim in claims])


@asynccontextmanager
async def a_world(store: TextStore, most: int = 50) -> AsyncIterator[World]:
    world = World(store, await a_conversation(store), most)
    running = asyncio.create_task(world.writer.run())
    yield world
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
async def world(store: TextStore) -> AsyncIterator[World]:
    async with a_world(store) as made:
        yield made


async def test_a_request_is_answered_by_rules_until_the_model_has_written(world: World) -> None:
    world.model.may.clear()
    by_rules = await world.rolling()
    assert by_rules[0] == "rules"
    await asyncio.sleep(0.05)
    assert await world.rolling() == by_rules
    world.model.may.set()
    _, text = await world.written()
    assert text.startswith("The user said: My sister Clara moved to Porto.")
    assert len(text) <= 600
    assert world.model.shown == [list(SAID)]


async def test_a_shorter_summary_has_as_many_whole_sentences_as_fit(world: World) -> None:
    await world.written()
    short, shorter = [(await world.asked(rolling_length=length)).rolling for length in (60, 35)]
    assert short is not None
    assert shorter is not None
    assert (short.text, short.made_by) == ("The user said: My sister Clara moved to Porto.", "model")
    assert [one.source_ids for one in short.sentences] == [(world.said[0].id,)]
    assert shorter.made_by == "rules"


async def test_sessions_that_ended_and_the_spine_are_written_too_and_none_that_goes_on(world: World) -> None:
    async def session() -> Any:
        return (await world.asked(id="s1", limit=20)).summary

    async def spine() -> Any:
        request = SummaryRequest(user_id="ann")
        return (await overview.summarize(request, store=world.store, writer=world.writer)).spine

    goes_on = SessionsRequest(user_id="ann", id="s1")
    await sessions.list_sessions(goes_on, store=world.store, now=NOON + timedelta(minutes=5), writer=world.writer)
    assert not world.writer._waiting
    made = await eventually(session, lambda summary: summary.made_by == "model", within=10)
    assert made.one_liner.text == "The user said: My sister Clara moved to Porto."
    assert len(made.what_mattered) == 3  # what stands in the line is not said twice
    whole = await eventually(spine, lambda found: found.made_by == "model", within=10)
    assert all(one.text.startswith("The user said: ") for one in whole.profile)
    told = [one for its in (whole.profile, whole.projects, whole.people) for one in its]
    assert len({one.source_ids for one in told}) == len(told)


async def test_what_is_forgotten_is_in_no_summary_from_then_on_and_it_is_remade(world: World) -> None:
    await world.written()
    world.model.may.clear()
    await world.store.forget([world.said[0]], until=None)
    made_by, text = await world.rolling()
    assert made_by == "rules"
    assert "Clara" not in text
    assert "Clara" not in repr(world.writer._kept._held)
    world.model.may.set()
    assert "Clara" not in repr(await world.rested())


async def test_nothing_is_kept_of_a_user_who_is_erased(world: World) -> None:
    await world.written()
    world.model.is_left_alone = True
    await world.correct()
    await world.asked(id="s1", limit=20)
    world.writer.forget("bob")
    assert world.writer._waiting
    world.writer.forget("ann")
    assert "river" not in repr(world.writer._kept._held)
    assert not world.writer._waiting


async def test_what_is_forgotten_or_corrected_while_the_model_reads_it_is_not_kept(world: World) -> None:
    world.model.may.clear()
    await world.rolling()
    await eventually(lambda: asyncio.sleep(0, world.model.shown), bool, within=10)
    await world.correct()
    world.model.may.set()
    await asyncio.sleep(0.1)
    assert "Clara" not in repr(world.writer._kept._held)
    assert "Rome" in (await world.written())[1]


def sentence(text: str, turn: int) -> dict[str, Any]:
    return {"section": "sentences", "text": text, "turns": [turn]}


@pytest.mark.parametrize(
    "answer",
    [
        ModelFailed("dead"),
        Unavailable("wrong key"),
        NoAnswer("verbose"),
        "no JSON",
        {"sentences": []},
        {"sentences": [sentence("The user owns a bank in Zurich.", 1)]},
        {"sentences": [sentence(OF_CLARA, 2)]},
        {"sentences": [sentence(f"{OF_CLARA} " * 20, 1)] * 400},
    ],
    ids=repr,
)
async def test_a_model_that_fails_or_says_nothing_true_changes_nothing_and_is_not_asked_at_every_request(
    world: World, answer: object
) -> None:
    world.model.fails = answer if isinstance(answer, Exception) else None
    world.model.answer = lambda turns: json.dumps(answer)
    by_rules = await world.rolling()
    assert by_rules[0] == "rules"
    for _ in range(3):
        assert await world.rested() == by_rules
    assert len(world.model.shown) == 1


async def test_a_model_that_is_left_alone_is_asked_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_writer, "_TRY_AGAIN", 0.01)
    world.model.is_left_alone = True
    assert (await world.rolling())[0] == "rules"
    await asyncio.sleep(0.05)
    assert not world.model.shown
    world.model.is_left_alone = False
    await world.written()


async def test_no_more_is_written_than_the_budget_of_a_day(store: TextStore) -> None:
    async with a_world(store, most=1) as world:
        await world.written()
        await world.correct()
        assert (await world.rested())[0] == "rules"
        assert len(world.model.shown) == 1


async def test_what_is_said_to_a_memory_that_is_off_no_model_sees(world: World) -> None:
    off = SettingsRequest(user_id="ann", space="default", change=SettingsChange(memory_enabled=False))
    await control.settings(off, records=world.store, defaults=SpaceSettings())
    assert (await world.rested())[0] == "rules"
    assert not world.model.shown


async def test_a_list_that_is_full_takes_no_more(store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_writer, "_MOST_WAITING", 2)
    world = World(store, await a_conversation(store), 10)
    for name in "abc":
        world.writer.of(("rolling", name), ROLLING_FORM, world.said, world.said)
    assert len(world.writer._waiting) == 2
