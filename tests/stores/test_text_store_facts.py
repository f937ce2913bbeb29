"""Facts that a model draws from turns: logged, judged and replaced like all else, and gone with what they came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from contracts.ports import Filters, Key, Record, Scope, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.control import EVERY_SPACE
from contracts.v1.edits import UpdateRequest
from contracts.v1.entries import Entry
from contracts.v1.turns import WORDLESS, Proposal
from services.curate.edits import Editor
from services.curate.privacy import DataStores, forget
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeInFlight, FakeVectors
from tests.stores.builders import NOON, a_proposal, minutes
from tests.stores.drawing import Memory, a_fact
from tests.stores.sqlite_secrets import found

HOME = a_fact("moved to Porto", "Porto", "home")
STANDUP = a_fact("standup is at 9:30", "9:30", "time", "standup", kind="event")
MOVED = a_fact("moved to quarter past ten", "quarter past ten", "time", "standup", kind="event")


@pytest.fixture
def memory(text_store: TextStore, user: str) -> Memory:
    return Memory(text_store, user)


def places(store: TextStore) -> DataStores:
    return DataStores(store, FakeVectors(), FakeInFlight())


async def forgotten(memory: Memory, entry: Entry) -> dict[str, int]:
    request = ForgetRequest(user_id=memory.user, id=entry.id)
    reply = await forget(request, stores=places(memory.store), refuse_for=timedelta(hours=1))
    return dict(reply.receipt.left)


def core(entry: Entry) -> dict[str, Any]:
    return entry.model_dump(include={"text", "subject", "memory_key", "entity_refs", "fact_type", "source", "span"})


async def test_a_fact_goes_the_way_of_all_proposals_and_says_what_it_rests_on(memory: Memory) -> None:
    turn, (fact,) = await memory.say("We moved to Porto!", HOME, persona_id="coach", source_ids=("m1",))
    assert core(fact) == {
        "text": "Home: Porto",
        "subject": "profile",
        "memory_key": "profile|person|me|home",
        "entity_refs": ("person:me",),
        "fact_type": "fact",
        "source": "model",
        "span": "moved to Porto",
    }
    assert (fact.ordinal, fact.turn_id, fact.persona_id, fact.level) == (1, turn.turn_id, "coach", 2)
    assert (fact.source_ids, fact.metadata_confidence, fact.session_id) == (("m1",), 0.9, None)
    (logged,) = await memory.store.export_log(memory.user, after=None, limit=10)
    assert [(one.proposal.ordinal, one.proposal.text) for one in logged.proposals] == [(0, turn.text), (1, fact.text)]
    assert logged.proposals[1].proposal.fact is not None


async def test_a_newer_value_of_the_same_key_supersedes_and_is_valid_from_when_it_was_said(memory: Memory) -> None:
    _, (old,) = await memory.say("my standup is at 9:30 every day", STANDUP)
    _, (new,) = await memory.say("the morning thing moved to quarter past ten", MOVED, created_at=NOON + minutes(90))
    (former,) = (await memory.store.get([old])).values()
    assert (former.status, former.superseded_by, former.valid_until) == ("superseded", new.id, new.created_at)
    assert (new.supersedes, new.valid_from) == ((old.id,), new.created_at)


async def test_an_older_value_that_is_drawn_later_does_not_replace_the_newer_one(memory: Memory) -> None:
    _, (new,) = await memory.say("the standup moved to quarter past ten", MOVED, created_at=NOON + minutes(90))
    _, (old,) = await memory.say("my standup is at 9:30 every day", STANDUP)
    (present,) = (await memory.store.get([new])).values()
    assert (old.status, old.superseded_by, present.status) == ("superseded", new.id, "active")


async def test_a_key_that_holds_many_adds(memory: Memory) -> None:
    _, (tea,) = await memory.say("I like green tea", a_fact("like green tea", "green tea", "likes"))
    _, (jazz,) = await memory.say("I like jazz too", a_fact("like jazz", "jazz", "likes"))
    assert tea.memory_key == jazz.memory_key
    assert [one.status for one in (await memory.store.get([tea, jazz])).values()] == ["active", "active"]


async def test_two_personas_and_spaces_have_facts_of_their_own(memory: Memory) -> None:
    _, (coach,) = await memory.say("my standup is at 9:30 every day", STANDUP, persona_id="coach")
    later = {"created_at": NOON + minutes(5)}
    await memory.say("the morning thing moved to quarter past ten", MOVED, persona_id="cook", **later)
    await memory.say("the morning thing moved to quarter past ten", MOVED, space="work", **later)
    assert (await memory.store.get([coach]))[coach.id].status == "active"


async def test_a_turn_is_read_once_whatever_is_delivered_again(memory: Memory) -> None:
    turn, facts = await memory.say("We moved to Porto!", HOME)
    memory.model.facts[turn.text] = [HOME, a_fact("We moved", "We", "family")]
    for extractor in (memory.extractor, memory.another_extractor()):
        memory.extractor = extractor
        assert await memory.draw(turn) == facts
    assert memory.model.asked == [turn.text]


async def test_what_was_logged_by_one_who_died_is_told_by_the_next(memory: Memory) -> None:
    memory.model.facts["We moved to Porto!"] = [HOME]
    turn = await memory.log("We moved to Porto!")
    await memory.extractor.handle([memory.wish(turn)])
    memory.said, memory.extractor = [], memory.another_extractor()
    assert len(await memory.draw(turn)) == 1
    assert memory.model.asked == [turn.text]


@pytest.mark.parametrize("error", [NoAnswer("too long"), ModelFailed("away")])
async def test_a_model_that_fails_leaves_the_turn_as_it_is(memory: Memory, error: Exception) -> None:
    turn = await memory.log("We moved to Porto!")
    memory.model.fails = error
    if isinstance(error, ModelFailed):
        with pytest.raises(ModelFailed):
            await memory.draw(turn)
        memory.model.fails, memory.model.facts[turn.text] = None, [HOME]  # delivered again
    assert len(await memory.draw(turn)) == int(isinstance(error, ModelFailed))
    assert (await memory.entry(turn)).status == "active"


async def test_an_entry_that_a_model_fails_with_again_and_again_does_not_hold_up_the_others(memory: Memory) -> None:
    turn, memory.model.fails = await memory.log("We moved to Porto!"), ModelFailed("away")
    memory.model.is_left_alone = True
    errors = []
    for _ in range(8):
        with pytest.raises((ModelFailed, Unavailable)) as raised:
            await memory.draw(turn)
        errors.append(raised.type)
    assert errors == [Unavailable] * 7 + [ModelFailed]


async def test_facts_are_forgotten_with_their_turn_and_not_made_again(memory: Memory) -> None:
    turn, (fact,) = await memory.say("We moved to Porto!", HOME)
    left = await forgotten(memory, await memory.entry(turn))
    (gone,) = (await memory.store.get([fact])).values()
    assert (gone.status, gone.text, gone.span, gone.memory_key, gone.tags) == ("forgotten", "", None, None, ())
    assert set(left.values()) == {0}
    (logged,) = await memory.store.export_log(memory.user, after=None, limit=10)
    assert WORDLESS in {one.proposal.text for one in logged.proposals}
    assert "Porto" not in logged.proposals[1].proposal.model_dump_json()
    memory.extractor = memory.another_extractor()
    assert [one.status for one in await memory.draw(turn)] == ["forgotten"]


async def test_a_fact_that_repeats_another_goes_with_either_turn(memory: Memory) -> None:
    _, (fact,) = await memory.say("We moved to Porto!", HOME)
    again, merged = await memory.say("As I said: we moved to Porto", HOME, created_at=NOON + minutes(9))
    assert merged == []
    await forgotten(memory, await memory.entry(again))
    assert (await memory.store.get([fact]))[fact.id].status == "forgotten"


async def test_what_is_drawn_from_a_turn_while_it_is_forgotten_is_refused(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!")
    entry = await memory.entry(turn)

    async def forget_it() -> None:
        await forgotten(memory, entry)

    memory.model.facts[turn.text], memory.model.before = [HOME], forget_it
    assert await memory.draw(turn) == []
    assert memory.said == []


async def test_what_was_logged_before_its_turn_was_forgotten_is_refused(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!")
    memory.model.facts[turn.text] = [HOME]
    await memory.extractor.handle([memory.wish(turn)])
    await memory.store.forget([a_proposal(turn)], until=None)
    (event,) = memory.said
    await memory.judge([Proposal.of_fact(turn, 1, fact) for fact in await _facts_logged(memory, event.entries[0].id)])
    assert await memory.facts(turn) == []
    assert "Porto" not in str(await memory.store.export_log(memory.user, after=None, limit=10))


async def _facts_logged(memory: Memory, id_: str) -> list[Any]:
    records = (await memory.store.pending([Key(memory.user, id_)])).values()
    return [record.proposal.fact for record in records]


async def test_erasing_leaves_no_fact(memory: Memory) -> None:
    turn, _ = await memory.say("We moved to Porto!", HOME)
    await memory.store.erase(memory.user)
    assert set((await memory.store.count_remaining(memory.user)).values()) == {0}
    memory.extractor = memory.another_extractor()
    assert await memory.draw(turn) == []


async def test_where_memory_is_off_or_incognito_by_now_no_model_sees_a_turn(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!")
    body = {"memory_enabled": False}
    await memory.store.put_record(Record(memory.user, "settings", EVERY_SPACE, body, datetime.now(UTC)), held=None)
    await memory.draw(turn)
    assert memory.model.asked == []


@pytest.mark.parametrize(
    "said", [{"role": "assistant"}, {"role": "system"}, {"type": "summary"}, {"text": "ok thanks!"}]
)
async def test_only_what_a_user_says_is_read(memory: Memory, said: dict[str, Any]) -> None:
    turn = await memory.log(**{"text": "We moved to Porto!", **said})
    await memory.draw(turn)
    assert memory.model.asked == []


@pytest.mark.parametrize(("of_user", "of_all", "asked"), [(2, 100, 2), (100, 1, 1), (0, 100, 0)])
async def test_a_day_has_a_budget(text_store: TextStore, user: str, of_user: int, of_all: int, asked: int) -> None:
    memory = Memory(text_store, user, of_user=of_user, of_all=of_all + await _read_today(text_store))
    for place in ("Porto", "Ghent", "Oslo"):
        await memory.say(f"We moved to {place}!")
        memory.extractor = memory.another_extractor()
    assert len(memory.model.asked) == asked


async def _read_today(store: TextStore) -> int:
    page = await store.page_records("extraction", user_id=None, limit=1000, cursor=None)
    return sum(int(record.body["turns"]) for record in page.records)


async def test_a_statement_that_is_superseded_takes_its_facts_with_it(memory: Memory) -> None:
    _, (fact,) = await memory.say(
        "My dentist appointment is on Tuesday", a_fact("is on Tuesday", "Tuesday", "date", "dentist", kind="event")
    )
    await memory.log("My dentist appointment has moved to Thursday", created_at=NOON + minutes(60))
    assert (await memory.store.get([fact]))[fact.id].status == "superseded"


async def test_a_fact_is_found_by_its_key_however_many_others_there_are(memory: Memory) -> None:
    _, (old,) = await memory.say("my standup is at 9:30 every day", STANDUP)
    for number in range(30):
        await memory.log(f"note number {number}", created_at=NOON + minutes(1 + number))
    await memory.say("the morning thing moved to quarter past ten", MOVED, created_at=NOON + minutes(90))
    assert (await memory.store.get([old]))[old.id].status == "superseded"


async def test_the_marker_of_a_forgotten_turn_is_in_no_byte(sqlite_store: SqliteTextStore, path: Path) -> None:
    memory = Memory(sqlite_store, "ann")
    turn, (fact,) = await memory.say("We moved to Zanzibarium!", a_fact("moved to Zanzibarium", "Zanzibarium", "home"))
    assert found(path, "Zanzibarium") > 2
    await forgotten(memory, await memory.entry(turn))
    assert await sqlite_store.compact()
    assert found(path, "Zanzibarium") == 0
    assert found(path, "zanzibarium") == 0
    hits = await sqlite_store.search(Scope("ann", "default"), "Zanzibarium home", limit=9, filters=Filters())
    assert fact.id not in {hit.id for hit in hits}


@pytest.mark.parametrize("redact", [False, True])
async def test_what_was_drawn_from_a_text_that_is_corrected_goes_out_of_use(memory: Memory, *, redact: bool) -> None:
    turn, (fact,) = await memory.say("We moved to Porto!", HOME)
    editor = Editor(places(memory.store), _say_nothing, _alone, timedelta(hours=1), 10_000)
    update = UpdateRequest(user_id=memory.user, id=a_proposal(turn).id, text="We stay in Ghent", redact=redact)
    await editor.update(update)
    (gone,) = (await memory.store.get([fact])).values()
    assert (gone.status, "Porto" in gone.text) == (("forgotten", False) if redact else ("superseded", True))


async def _say_nothing(_: object) -> None:
    """Nobody hears it."""


@contextmanager
def _alone(*_: object) -> Iterator[None]:
    yield
