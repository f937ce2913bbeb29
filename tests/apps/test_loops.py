"""Open loops: listed with their days, closed by what is said later or by the user, and forgotten with their entry."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.claims import Change
from contracts.v1.entries import Entry
from contracts.v1.loops import LoopsReply, LoopsRequest, OpenLoop, SettleRequest, State
from contracts.v1.sessions import SessionsRequest
from services.curate import loops, sessions
from services.shared.errors import Rejected
from services.shared.knowledge.tasks import tasks_of
from tests.apps.telling import said, to_do
from tests.apps.test_edits import Desk
from tests.claims import a_task, an_end_of
from tests.stores.builders import NOON, an_entry, store_entries

PASSPORT, STAMPS = "I need to renew my passport by Friday", "I have to buy stamps"


def ended(text: str, day: int, *changes: Change, **fields: Any) -> Entry:
    """A text of a day that ends what was to be done."""
    earlier = tuple(change.entry_id for change in changes)
    return said(text, day=day, conversation_id="c1", changes=changes, supersedes=earlier, **fields)


def two_tasks() -> Entry:
    """A text of two sentences, each of which is to be done."""
    text = f"{PASSPORT}. {STAMPS}."
    first = a_task(text, "renew my passport", sentence=(0, len(PASSPORT) + 1))
    return said(text, claims=(first, a_task(text, "buy stamps", sentence=(len(PASSPORT) + 2, len(text)))))


async def listed(store: TextStore, **fields: object) -> LoopsReply:
    return await loops.list_loops(LoopsRequest(user_id="ann", **fields), store=store, now=NOON)


async def settle(store: TextStore, id_: str, state: State | None) -> OpenLoop:
    return (await loops.settle(SettleRequest(user_id="ann", id=id_, state=state), store=store)).loop


def texts(reply: LoopsReply) -> list[str]:
    return [loop.text for loop in reply.items]


async def test_what_is_due_next_comes_first(store: TextStore) -> None:
    passport, letter = to_do(PASSPORT), to_do("I will answer the letter tomorrow", 1)
    await store_entries(store, [passport, letter, to_do(STAMPS, 2), said("I like stamps", day=3)])
    first, second, third = (await listed(store)).items
    assert [first.text, second.text, third.text] == [letter.text, PASSPORT, STAMPS]
    assert (first.role, first.said_at, third.due_on) == ("user", letter.created_at, None)
    assert second.due_on == date.fromordinal(NOON.toordinal() + (4 - NOON.weekday()) % 7)
    late = await listed(store, now=NOON + timedelta(days=30))
    assert [one.overdue for one in late.items] == [True, True, False]
    assert texts(await listed(store, limit=1)) == [letter.text]


async def test_what_is_said_later_closes_it_and_says_how(store: TextStore) -> None:
    passport, stamps = to_do(PASSPORT), to_do(STAMPS, 2)
    renewed = ended("Renewed it today", 1, *an_end_of(passport))
    await store_entries(store, [passport, renewed, stamps])
    assert texts(await listed(store)) == [stamps.text]
    found = {loop.text: (loop.state, loop.closed_by) for loop in (await listed(store, state="all")).items}
    assert found == {PASSPORT: ("done", renewed.id), stamps.text: ("open", None)}
    assert texts(await listed(store, state="done")) == [PASSPORT]


async def test_it_is_open_again_once_what_closed_it_is_forgotten(store: TextStore) -> None:
    passport = to_do(PASSPORT)
    renewed = ended("Renewed it today", 1, *an_end_of(passport))
    await store_entries(store, [passport, renewed])
    assert texts(await listed(store)) == []
    await Desk(store).forget(renewed)
    assert texts(await listed(store)) == [PASSPORT]


async def test_the_user_decides_and_takes_it_back(store: TextStore) -> None:
    entry = two_tasks()
    ending = ended("Got the stamps", 1, *an_end_of(entry)[1:])
    await store_entries(store, [entry, ending])
    (passport,) = (await listed(store)).items
    done = await settle(store, passport.id, "done")
    assert (done.state, done.decided, done.closed_by) == ("done", True, None)
    assert (await listed(store)).items == ()
    (stamps,) = [loop for loop in (await listed(store, state="all")).items if loop.id != passport.id]
    assert (await settle(store, stamps.id, "open")).state == "open"
    assert [loop.id for loop in (await listed(store)).items] == [stamps.id]
    taken_back = await settle(store, stamps.id, None)
    assert (taken_back.state, taken_back.closed_by) == ("done", ending.id)
    assert (await settle(store, passport.id, None)).decided is False


async def test_what_is_decided_is_no_open_loop_of_the_spine_and_the_session(store: TextStore) -> None:
    await store_entries(store, [to_do(PASSPORT)])
    assert (await sessions.spine("ann", None, "", store=store)).open_loops
    await settle(store, (await listed(store)).items[0].id, "dropped")
    assert not (await sessions.spine("ann", None, "", store=store)).open_loops
    (session,) = (await sessions.list_sessions(SessionsRequest(user_id="ann"), store=store)).items
    asked = SessionsRequest(user_id="ann", id=session.id)
    summary = (await sessions.list_sessions(asked, store=store)).summary
    assert summary is not None
    assert (summary.open_loops, len(summary.commitments)) == ((), 0)


async def test_what_went_out_of_use_when_it_was_done_is_listed_as_done_and_can_be_opened_again(
    store: TextStore,
) -> None:
    passport = to_do(PASSPORT)
    renewed = ended("Renewed it today", 1, *an_end_of(passport))
    gone = passport.model_copy(update={"status": "superseded", "superseded_by": renewed.id})
    await store_entries(store, [gone, renewed])
    (done,) = (await listed(store, state="done")).items
    assert (done.text, done.closed_by) == (PASSPORT, renewed.id)
    assert (await settle(store, done.id, "open")).state == "open"
    assert texts(await listed(store)) == [PASSPORT]


async def test_what_went_out_of_use_for_another_reason_is_not_settled(store: TextStore) -> None:
    passport = to_do(PASSPORT)
    moved = said("I have moved", day=1)
    await store_entries(store, [passport.model_copy(update={"status": "superseded", "superseded_by": moved.id}), moved])
    (task,) = tasks_of([passport])
    for state in ("done", None):
        with pytest.raises(Rejected, match="nothing to be done"):
            await settle(store, task.id, state)


async def test_each_persona_has_its_own(store: TextStore) -> None:
    coach, chef = to_do("I will walk to work", persona_id="coach"), to_do("I will bake bread", persona_id="chef")
    walked = ended("I walked to work", 1, *an_end_of(coach), persona_id="chef")
    await store_entries(store, [coach, chef, to_do(PASSPORT), walked])
    assert set(texts(await listed(store, persona_id="coach"))) == {coach.text, PASSPORT}
    assert set(texts(await listed(store, persona_id="chef"))) == {chef.text, PASSPORT}
    assert len((await listed(store)).items) == len((await listed(store, persona_id="*")).items) == 3
    await store_entries(store, [ended("I walked to work now", 2, *an_end_of(coach))])
    assert texts(await listed(store, persona_id="coach")) == [PASSPORT]
    assert {loop.persona_id for loop in (await listed(store)).items} == {None, "chef"}


async def test_other_spaces_and_users_are_left_out(store: TextStore) -> None:
    await store_entries(store, [to_do(PASSPORT, space="home"), an_entry("bob", STAMPS, claims=(a_task(STAMPS),))])
    assert texts(await listed(store, space="home")) == texts(await listed(store)) == [PASSPORT]
    assert texts(await listed(store, space="work")) == []


async def test_a_decision_goes_with_its_entry(store: TextStore) -> None:
    entry = to_do(PASSPORT)
    await store_entries(store, [entry])
    (loop,) = (await listed(store)).items
    await settle(store, loop.id, "done")
    (record,) = await store.records("ann", "loops")
    assert "passport" not in f"{record.name}{dict(record.body)}"
    await Desk(store).forget(entry)
    assert await store.records("ann", "loops") == []
    with pytest.raises(Rejected, match="nothing to be done"):
        await settle(store, loop.id, "done")


@pytest.mark.parametrize("id_", ["x", ":", "a:b", "e" * 256])
async def test_what_is_not_there_is_not_settled(store: TextStore, id_: str) -> None:
    await store_entries(store, [to_do(PASSPORT)])
    with pytest.raises(Rejected, match="nothing to be done"):
        await settle(store, id_, "done")


async def test_a_decision_can_be_taken_back_though_what_closed_it_is_not_among_those_that_are_read(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = two_tasks()
    ending = ended("Renewed it", 1, *an_end_of(entry)[:1])
    gone = entry.model_copy(update={"status": "superseded", "superseded_by": ending.id})
    await store_entries(store, [gone, ending, said("I like stamps", day=2)])
    passport, stamps = [one.id for one in tasks_of([entry])]
    monkeypatch.setattr(loops, "_READ", 1)
    for id_, state in ((passport, "done"), (stamps, "open")):
        await settle(store, id_, "dropped")
        assert (await settle(store, id_, None)).state == state
