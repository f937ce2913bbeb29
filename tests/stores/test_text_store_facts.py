"""Facts that older versions drew from turns, as entries of their own: read as before, and gone with their turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.edits import UpdateRequest
from contracts.v1.entries import Entry
from contracts.v1.turns import WORDLESS
from services.curate.edits import Editor
from services.curate.privacy import forget
from services.curate.stores import Stores
from tests.apps.fakes import FakeInFlight, FakeVectors, say_nothing
from tests.stores.builders import a_proposal
from tests.stores.drawing import Memory, a_former_fact


@pytest.fixture
def memory(text_store: TextStore, user: str) -> Memory:
    return Memory(text_store, user)


def places(store: TextStore) -> Stores:
    return Stores(store, FakeVectors(), FakeInFlight(), say_nothing)


async def forgotten(memory: Memory, entry: Entry) -> dict[str, int]:
    request = ForgetRequest(user_id=memory.user, id=entry.id)
    reply = await forget(request, stores=places(memory.store), refuse_for=timedelta(hours=1))
    return dict(reply.receipt.left)


async def test_the_log_keeps_a_fact_as_it_was_drawn_and_its_entry_says_whose_words_it_is(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!", persona_id="coach", source_ids=("m1",))
    fact = await memory.had_drawn(turn, "Porto")
    assert fact.model_dump(include={"text", "subject", "memory_key", "source", "span", "ordinal", "level"}) == {
        "text": "Home: Porto",
        "subject": "profile",
        "memory_key": "profile|person|me|home",
        "source": "model",
        "span": "Porto",
        "ordinal": 1,
        "level": 2,
    }
    assert (fact.turn_id, fact.persona_id, fact.source_ids, fact.session_id) == (turn.turn_id, "coach", ("m1",), None)
    (logged,) = await memory.store.export_log(memory.user, after=None, limit=10)
    assert [one.proposal for one in logged.proposals] == [a_proposal(turn), a_former_fact(turn, "Porto")]


async def test_facts_are_forgotten_with_their_turn(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!")
    fact = await memory.had_drawn(turn, "Porto")
    left = await forgotten(memory, await memory.entry(turn))
    (gone,) = (await memory.store.get([fact])).values()
    assert (gone.status, gone.text, gone.span, gone.memory_key, gone.tags) == ("forgotten", "", None, None, ())
    assert set(left.values()) == {0}
    (logged,) = await memory.store.export_log(memory.user, after=None, limit=10)
    assert WORDLESS in {one.proposal.text for one in logged.proposals}
    assert "Porto" not in logged.proposals[1].proposal.model_dump_json()


async def test_a_fact_that_is_still_undecided_when_its_turn_is_forgotten_is_refused(memory: Memory) -> None:
    turn = await memory.log("We moved to Porto!")
    fact = a_former_fact(turn, "Porto")
    await memory.store.append([], [fact])
    await memory.store.forget([a_proposal(turn)], until=None)
    await memory.judge([fact])
    assert await memory.store.get([fact]) == {}
    assert "Porto" not in str(await memory.store.export_log(memory.user, after=None, limit=10))


@pytest.mark.parametrize("redact", [False, True])
async def test_what_was_drawn_from_a_text_that_is_corrected_goes_out_of_use(memory: Memory, *, redact: bool) -> None:
    turn = await memory.log("We moved to Porto!")
    fact = await memory.had_drawn(turn, "Porto")
    editor = Editor(places(memory.store), _alone, timedelta(hours=1), 10_000)
    update = UpdateRequest(user_id=memory.user, id=a_proposal(turn).id, text="We stay in Ghent", redact=redact)
    await editor.update(update)
    (gone,) = (await memory.store.get([fact])).values()
    assert (gone.status, "Porto" in gone.text) == (("forgotten", False) if redact else ("superseded", True))


@contextmanager
def _alone(*_: Any) -> Iterator[None]:
    yield
