"""Forgetting: from every place, completed when repeated, counted by looking again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import numpy as np
import pytest

from contracts.ports import Key, TextStore, Unavailable, VectorPoint
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry, EntryProposed, EntryRef
from contracts.v1.turns import LoggedTurn, Proposal
from services.curate import scheduler
from services.curate.edits import Editor
from services.curate.privacy import forget
from services.curate.scheduler import Scheduler
from services.curate.settings import CurateSettings
from services.curate.stores import Say, Stores
from services.dedupe.handler import FORGOTTEN, judge_proposals
from services.shared.errors import Rejected
from tests.apps.fakes import FakeInFlight, FakeVectors, say_nothing
from tests.polling import eventually
from tests.stores.builders import NOON, a_proposal, a_turn, outcomes_of, texts_logged

DAY = timedelta(hours=24)


async def say(store: TextStore, text: str, user: str = "ann", **fields: object) -> LoggedTurn:
    """Log a turn and let dedupe judge it."""
    turn = a_turn(user, text, **fields)
    proposal = a_proposal(turn)
    await store.append([turn], [proposal])
    await judge_proposals([proposed(proposal)], store=store)
    return turn


def proposed(proposal: Proposal) -> EntryProposed:
    return EntryProposed.of([EntryRef(user_id=proposal.user_id, id=proposal.id)], at=NOON, cause=str(uuid4()))


async def the_entry(store: TextStore, turn: LoggedTurn) -> Entry:
    settled = (await outcomes_of(store, [a_proposal(turn)]))[a_proposal(turn).id]
    assert settled.entry_id is not None
    return (await store.get([Key(turn.user_id, settled.entry_id)]))[settled.entry_id]


async def embed(vectors: FakeVectors, entry: Entry) -> None:
    await vectors.upsert([VectorPoint(entry, np.ones(4, np.float32))])


def places(store: TextStore, tell: Say = say_nothing) -> tuple[Stores, FakeVectors, FakeInFlight]:
    vectors, in_flight = FakeVectors(), FakeInFlight()
    return Stores(store, vectors, in_flight, tell), vectors, in_flight


async def test_an_entry_is_forgotten_with_its_repeats_vector_and_messages(store: TextStore) -> None:
    everywhere, vectors, in_flight = places(store)
    first, again = await say(store, "My PIN is 4711."), await say(store, "my pin is 4711")
    other = await say(store, "I live in Porto.")
    entry = await the_entry(store, first)
    await embed(vectors, entry)
    in_flight.turns = {"ann": [again.turn_id, other.turn_id]}

    reply = await forget(ForgetRequest(user_id="ann", id=entry.id), stores=everywhere, refuse_for=DAY)

    receipt = reply.receipt
    assert (receipt.turns, receipt.vectors, receipt.messages) == (2, 1, 1)
    assert set(receipt.left.values()) == {0}
    assert in_flight.turns == {"ann": [other.turn_id]}
    assert (await the_entry(store, other)).text == "I live in Porto."
    assert sorted(await texts_logged(store, "ann")) == ["I live in Porto.", "[forgotten]", "[forgotten]"]


async def test_what_was_forgotten_is_refused_with_the_reason_and_leaves_no_words(store: TextStore) -> None:
    entry = await the_entry(store, await say(store, "My PIN is 4711."))
    await forget(ForgetRequest(user_id="ann", id=entry.id), stores=places(store)[0], refuse_for=DAY)
    again = a_proposal(await say(store, "my pin is 4711"))
    settled = (await outcomes_of(store, [again]))[again.id]
    assert (settled.kind, settled.reason) == ("refused", FORGOTTEN)
    assert {*await texts_logged(store, "ann")} == {"[forgotten]"}
    for text, user in (("My PIN is 4712.", "ann"), ("My PIN is 4711.", "eve")):
        assert (await the_entry(store, await say(store, text, user))).status == "active"


async def test_a_late_redelivery_of_a_forgotten_turn_changes_nothing(store: TextStore) -> None:
    """Also once its time is over, when the same may be said again."""
    turn = await say(store, "My PIN is 4711.")
    entry = await the_entry(store, turn)
    await forget(ForgetRequest(user_id="ann", id=entry.id), stores=places(store)[0], refuse_for=timedelta(0))
    before = await store.counts("ann")

    await store.append([turn], [a_proposal(turn)])
    await judge_proposals([proposed(a_proposal(turn))], store=store)

    assert await store.counts("ann") == before
    assert (await the_entry(store, turn)).status == "forgotten"
    assert await texts_logged(store, "ann") == ["[forgotten]"]
    assert (await the_entry(store, await say(store, "My PIN is 4711."))).status == "active"


async def test_forgetting_that_was_broken_off_is_completed_by_the_same_request(store: TextStore) -> None:
    everywhere, vectors, in_flight = places(store)
    turn = await say(store, "My PIN is 4711.")
    entry = await the_entry(store, turn)
    await embed(vectors, entry)
    in_flight.turns = {"ann": [turn.turn_id]}
    vectors.fails = True
    request = ForgetRequest(user_id="ann", id=entry.id)
    with pytest.raises(Unavailable):
        await forget(request, stores=everywhere, refuse_for=DAY)
    assert (await the_entry(store, turn)).status == "forgotten"

    vectors.fails = False
    receipt = (await forget(request, stores=everywhere, refuse_for=DAY)).receipt
    assert vectors.points == {}
    assert in_flight.turns == {"ann": []}
    assert set(receipt.left.values()) == {0}


async def test_a_vector_that_was_being_written_when_its_entry_was_forgotten_is_removed(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    entry = await the_entry(store, await say(store, "My PIN is 4711."))
    await embed(vectors, entry)
    remove = vectors.remove

    async def removed_and_written(ids: Sequence[str]) -> None:
        await remove(ids)
        vectors.remove = remove  # type: ignore[method-assign]
        await embed(vectors, entry)

    vectors.remove = removed_and_written  # type: ignore[method-assign]
    receipt = (await forget(ForgetRequest(user_id="ann", id=entry.id), stores=everywhere, refuse_for=DAY)).receipt
    assert vectors.points == {}
    assert set(receipt.left.values()) == {0}


async def test_nobody_forgets_for_another(store: TextStore) -> None:
    everywhere, _, _ = places(store)
    turn = await say(store, "My PIN is 4711.")
    entry = await the_entry(store, turn)
    with pytest.raises(Rejected, match="no entry"):
        await forget(ForgetRequest(user_id="eve", id=entry.id), stores=everywhere, refuse_for=DAY)
    assert (await the_entry(store, turn)).text == "My PIN is 4711."


@pytest.mark.parametrize("away", ["fails", "hangs"])
async def test_what_a_store_did_not_finish_in_time_is_repeated_until_it_does(
    store: TextStore, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    monkeypatch.setattr(scheduler, "_TRY_AGAIN", 0.01)
    everywhere, vectors, _ = places(store)
    background = Scheduler(cast(Any, SimpleNamespace()), CurateSettings(), everywhere)
    editor = Editor(everywhere, background.finishing, DAY, 16_384)
    entry = await the_entry(store, await say(store, "My PIN is 4711."))
    await embed(vectors, entry)
    setattr(vectors, away, True)
    with pytest.raises((Unavailable, TimeoutError)):
        await asyncio.wait_for(editor.forget(ForgetRequest(user_id="ann", id=entry.id)), 0.5)
    setattr(vectors, away, False)
    repeating = asyncio.create_task(background.finish_forgetting())
    await eventually(partial(vectors.count, "ann"), lambda left: left == 0, within=5.0)
    repeating.cancel()
