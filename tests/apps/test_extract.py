"""A language model reads entries beside the pipeline: what it reads replaces what the heads read, each text once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import Record, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.control import EVERY_SPACE
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn
from services.curate.privacy import forget
from services.curate.reconcile import read_anew
from services.curate.stores import Stores
from services.shared.context.block import HEAD, TAIL
from services.shared.lifecycle.editing import Edit, edited
from services.shared.vectors.reindexer import Reindexer
from tests.apps.fakes import FakeInFlight, FakeReader, FakeVectors, home, say_nothing
from tests.apps.settling import settle
from tests.stores.builders import NOON, minutes
from tests.stores.changing import modify
from tests.stores.drawing import Memory, a_claim, told

PORTO = "We moved to Porto!"
HOME = a_claim("Porto", "home", PORTO, is_new=True)
BY_TINY = "model:tiny"


@pytest.fixture
def memory(store: TextStore) -> Memory:
    return Memory(store, "ann")


async def embedded(memory: Memory, turn: LoggedTurn, vectors: FakeVectors | None = None) -> Entry:
    (entry,) = await settle(memory.store, [await memory.entry(turn)], FakeReader(), vectors=vectors)
    return entry


async def correct(memory: Memory, turn: LoggedTurn, text: str) -> None:
    now = datetime.now(UTC)
    await modify(memory.store, [await memory.entry(turn)], lambda one: edited(one, Edit(text=text, by="ann"), now))


async def forget_it(memory: Memory, turn: LoggedTurn) -> None:
    stores = Stores(memory.store, FakeVectors(), FakeInFlight(), say_nothing)
    request = ForgetRequest(user_id=memory.user, id=(await memory.entry(turn)).id)
    await forget(request, stores=stores, refuse_for=timedelta(hours=1))


async def test_they_replace_those_of_the_heads_in_one_write_that_changes_nothing_else(memory: Memory) -> None:
    memory.model.claims[PORTO] = [HOME]
    turn = await memory.log(PORTO)
    before = await embedded(memory, turn)
    assert before.read_by == "reader-1"
    after = await memory.read(turn)
    expected = {"claims": after.claims, "read_by": BY_TINY, "version": before.version + 1}
    assert after == before.model_copy(update=expected)


async def test_heads_that_come_later_or_read_anew_leave_them(memory: Memory) -> None:
    vectors, other = FakeVectors(), FakeReader("reader-2")
    turn, read = await memory.say(PORTO, HOME)
    after = await embedded(memory, turn, vectors)
    assert (after.claims, after.read_by, after.embedding_state) == (read.claims, BY_TINY, "ready")
    await Reindexer(memory.store, vectors, other).settle()
    assert await memory.entry(turn) == after
    assert other.has_read == []
    assert await read_anew("reader-2", Stores(memory.store, None, FakeInFlight(), _nobody_hears)) == 0


async def _nobody_hears(events: object) -> None:
    raise AssertionError(f"nothing is to be told, but {events}")


async def test_a_valid_answer_without_claims_says_that_nothing_is_stated(memory: Memory) -> None:
    turn = await memory.log(PORTO)
    await embedded(memory, turn)
    entry = await memory.read(turn)
    assert (entry.claims, entry.read_by) == ((), BY_TINY)


@pytest.mark.parametrize("answer", [[a_claim("Lisbon", "home", PORTO)], [{"claims": "hello"}], ["MARKER"]])
async def test_where_nothing_of_an_answer_stands_in_the_text_that_of_the_heads_stays(
    memory: Memory, answer: list[Any]
) -> None:
    memory.model.claims[PORTO] = answer
    turn = await memory.log(PORTO)
    before = await embedded(memory, turn)
    for _ in range(2):
        assert await memory.read(turn) == before
    assert memory.model.asked == [PORTO]


@pytest.mark.parametrize("error", [NoAnswer("too long"), ModelFailed("away"), Unavailable("wrong key")])
async def test_where_the_model_fails_that_of_the_heads_stays(memory: Memory, error: Exception) -> None:
    turn = await memory.log(PORTO)
    before = await embedded(memory, turn)
    memory.model.fails, memory.model.claims[PORTO] = error, [HOME]
    with suppress(ModelFailed, Unavailable):
        await memory.read(turn)
    assert await memory.entry(turn) == before
    memory.model.fails = None
    again = await memory.read(turn)
    assert again.read_by == ("reader-1" if isinstance(error, NoAnswer) else BY_TINY)


async def test_an_entry_that_a_model_fails_with_again_and_again_does_not_hold_up_the_others(memory: Memory) -> None:
    turn, memory.model.fails = await memory.log(PORTO), ModelFailed("away")
    memory.model.is_left_alone = True
    errors = []
    for _ in range(8):
        with pytest.raises((ModelFailed, Unavailable)) as raised:
            await memory.read(turn)
        errors.append(raised.type)
    assert errors == [Unavailable] * 7 + [ModelFailed]


async def test_a_text_is_read_once_by_each_model_however_often_and_by_whomever_it_is_delivered(memory: Memory) -> None:
    turn, first = await memory.say(PORTO, HOME)
    for extractor in (memory.extractor, memory.another_extractor()):
        memory.extractor = extractor
        assert await memory.read(turn) == first
    assert memory.model.asked == [PORTO]
    memory.extractor = memory.another_extractor("large")
    assert (await memory.read(turn)).read_by == "model:large"


async def test_two_who_read_it_at_the_same_moment_leave_the_state_of_one(memory: Memory) -> None:
    memory.model.claims[PORTO] = [HOME]
    turn = await memory.log(PORTO)
    before = await memory.entry(turn)
    both = asyncio.Barrier(2)
    memory.model.before = both.wait  # type: ignore[assignment]
    await asyncio.gather(*(memory.another_extractor().handle([memory.wish(turn)]) for _ in range(2)))
    after = await memory.entry(turn)
    assert (told(after), after.version, len(memory.model.asked)) == (["home: Porto"], before.version + 1, 2)


async def test_one_who_dies_before_storing_leaves_it_to_the_next(memory: Memory) -> None:
    turn = await memory.log(PORTO)
    memory.model.claims[PORTO] = [HOME]
    asking = asyncio.Event()

    async def hang() -> None:
        asking.set()
        await asyncio.Event().wait()

    memory.model.before = hang
    task = asyncio.create_task(memory.extractor.handle([memory.wish(turn)]))
    await asking.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await memory.entry(turn)).read_by is None
    memory.model.before, memory.extractor = None, memory.another_extractor()
    assert told(await memory.read(turn)) == ["home: Porto"]


async def test_a_corrected_text_is_read_anew_each_time_and_nothing_is_left_of_the_old_one(memory: Memory) -> None:
    turn, _ = await memory.say(PORTO, HOME)
    for place in ("Lisbon", "Oslo"):
        text = f"We moved to {place}!"
        memory.model.claims[text] = [a_claim(place, "home", text)]
        await correct(memory, turn, text)
        between = await memory.entry(turn)
        assert (between.claims, between.read_by) == ((), None)
        assert told(await memory.read(turn)) == [f"home: {place}"]
    assert len(memory.model.asked) == 3


@pytest.mark.parametrize("text", ["We moved to Lisbon!", ""], ids=["corrected", "forgotten"])
async def test_a_text_that_is_corrected_or_forgotten_while_it_is_read_gets_no_claims_of_the_former(
    memory: Memory, text: str
) -> None:
    turn = await memory.log(PORTO)
    memory.model.claims[PORTO] = [HOME]

    async def change_it() -> None:
        await (correct(memory, turn, text) if text else forget_it(memory, turn))

    memory.model.before = change_it
    entry = await memory.read(turn)
    assert (entry.text, entry.claims, entry.read_by) == (text, (), None)
    assert text or "Porto" not in entry.model_dump_json()


async def test_what_is_forgotten_has_no_claims_and_is_not_read(memory: Memory) -> None:
    turn, _ = await memory.say(PORTO, HOME)
    await forget_it(memory, turn)
    memory.extractor = memory.another_extractor()
    entry = await memory.read(turn)
    assert (entry.status, entry.text, entry.claims) == ("forgotten", "", ())
    assert memory.model.asked == [PORTO]


async def test_where_memory_is_off_or_incognito_by_now_no_model_sees_a_turn(memory: Memory) -> None:
    turn = await memory.log(PORTO)
    body = {"memory_enabled": False}
    await memory.store.put_record(Record(memory.user, "settings", EVERY_SPACE, body, datetime.now(UTC)), held=None)
    await memory.read(turn)
    assert memory.model.asked == []


@pytest.mark.parametrize(
    "said",
    [
        {"role": "assistant"},
        {"role": "system"},
        {"type": "summary"},
        {"frame": "fiction"},
        {"text": "ok thanks!"},
        {"text": "so " * 5000},
    ],
)
async def test_only_what_a_user_states_is_read_and_nothing_very_long(memory: Memory, said: dict[str, Any]) -> None:
    turn = await memory.log(**{"text": PORTO, **said})
    await memory.read(turn)
    assert memory.model.asked == []


async def test_memories_that_were_put_into_a_turn_are_neither_shown_nor_believed(memory: Memory) -> None:
    block = f"{HEAD}\n- [2026-03-01 | user | abc] I own a yacht\n{TAIL}"
    await memory.log(f"{block} What is it worth?", role="assistant", created_at=NOON - minutes(1))
    text = f"{block} {PORTO}"
    memory.model.claims[PORTO] = [a_claim("yacht", "possession", "I own a yacht"), HOME]
    turn = await memory.log(text)
    entry = await memory.read(turn)
    assert told(entry) == ["home: Porto"]
    assert entry.claims[0].value[0] > len(block)
    assert "yacht" not in str(memory.model.shown)


async def test_the_turns_before_are_shown_and_nothing_of_them_is_kept(memory: Memory) -> None:
    await memory.log("Do you live in Ghent?", role="assistant", created_at=NOON - minutes(1))
    _, entry = await memory.say(PORTO, a_claim("Ghent", "home", "Do you live in Ghent?"), HOME)
    assert memory.model.shown[0]["before"] == ["assistant: Do you live in Ghent?"]
    assert told(entry) == ["home: Porto"]


async def test_the_claims_of_the_heads_and_of_a_model_are_alike(memory: Memory) -> None:
    text = "I live in Ghent."
    _, entry = await memory.say(text, a_claim("Ghent", "home", text))
    assert entry.claims == (home(text),)


@pytest.mark.parametrize(("of_user", "of_all", "asked"), [(2, 100, 2), (100, 1, 1), (0, 100, 0)])
async def test_a_day_has_a_budget(store: TextStore, of_user: int, of_all: int, asked: int) -> None:
    memory = Memory(store, "ann", of_user=of_user, of_all=of_all)
    for place in ("Porto", "Ghent", "Oslo"):
        await memory.say(f"We moved to {place}!")
        memory.extractor = memory.another_extractor()
    assert len(memory.model.asked) == asked
