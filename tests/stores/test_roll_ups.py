"""Roll-ups on every text store: made once, taken back whole, and completed by others."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from contracts.ports import Change, Key, RecordKey, Selection, TextStore
from contracts.v1.claims import Reading
from contracts.v1.rollups import RollUpsRequest, RollUpUndoRequest
from services.curate import ageing, rollups
from services.curate.ageing import Ages
from services.shared.context.rollups import drafts
from services.shared.errors import Rejected
from tests.apps.fakes import FakeReader, FakeVectors, claim
from tests.apps.settling import settle
from tests.stores.rolling import (
    AGES,
    DAY,
    NOW,
    aged,
    asked,
    break_off,
    embed,
    embedded,
    replica,
    rolled_up,
    said_by,
    say,
    texts,
    the_roll_up,
)
from tests.unit.context.test_context_clusters import BREAD


async def test_what_is_old_is_rolled_up_by_topic_and_its_originals_are_archived(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD)
    kept = await say(text_store, user, "The pinned sourdough rests", pinned=True)
    kept += await say(text_store, user, "The saved sourdough rests", manually_saved=True)
    kept += await say(text_store, user, "I prefer sourdough to rye", type="preference")
    kept += await say(text_store, user, "Fresh sourdough for breakfast", days=3)
    vectors = await embedded([*old, *kept])
    made = replica(text_store, vectors)

    assert await aged(made, user) == 1

    one = await the_roll_up(text_store, user)
    assert set(one.source_ids) == {entry.id for entry in old}
    assert set(one.text.split("\n")) <= set(BREAD)
    assert set(await texts(text_store, user)) == {one.text, *(entry.text for entry in kept)}
    assert set(await texts(text_store, user, "archived")) == set(BREAD)
    assert {entry.rolled_up_into for entry in (await text_store.get(old)).values()} == {one.id}
    assert vectors.points.keys() == {entry.id for entry in kept}
    assert said_by(made) == [one.id]
    assert await text_store.records(user, "rolling") == []
    assert await aged(made, user, now=NOW + 2 * DAY) == 0


async def test_nothing_ages_unless_somebody_wants_it_and_what_was_an_answer_lately_does_not(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, asked_at=NOW - 2 * DAY)
    made = replica(text_store, await embedded(old))
    assert await aged(made, user, Ages()) == 0
    assert await aged(made, user) == 0
    assert await text_store.records(user, "rollup") == []


async def test_a_space_is_looked_through_once_in_a_while_and_anew_when_its_settings_change(
    text_store: TextStore, user: str
) -> None:
    made = replica(text_store, vectors := FakeVectors())
    assert await aged(made, user) == 0
    await embed(vectors, await say(text_store, user, *BREAD))
    assert await aged(made, user, now=NOW + DAY / 2) == 0
    assert await aged(made, user, Ages(roll_up_after=91), now=NOW + DAY / 2) == 1


async def test_replicas_that_look_at_the_same_moment_roll_up_once(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    vectors = await embedded(old)
    done = await asyncio.gather(*(aged(replica(text_store, vectors), user) for _ in range(4)))
    assert sorted(done) == [0, 0, 0, 1]
    assert set((await the_roll_up(text_store, user)).source_ids) == {one.id for one in old}


async def test_of_roll_ups_that_are_made_of_the_same_at_once_each_original_is_in_one(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, *(f"Sourdough loaf number {i} was flat" for i in range(8)))
    (whole,) = drafts(old)
    (part,) = drafts(old[2:9])
    await asyncio.gather(*(replica(text_store).make(one) for one in (whole, part, whole)))
    archived = (await text_store.get(old)).values()
    page = await text_store.page(Selection(user), limit=100, cursor=None)
    made = [one for one in page.entries if one.source == "rollup"]
    sources = [id_ for one in made for id_ in one.source_ids]
    assert sorted(sources) == sorted({one.id for one in archived if one.status == "archived"})
    for one in made:
        assert {its.id for its in archived if its.rolled_up_into == one.id} == set(one.source_ids)
    assert {its.id for its in archived if its.status == "active"}.isdisjoint(sources)


async def test_a_topic_is_rolled_up_on_request_after_a_preview_that_changes_nothing(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, days=1)
    await say(text_store, user, "My train was late")
    made = replica(text_store, await embedded(old))

    shown = await asked(made, user, "sourdough flour", preview=True)
    assert [one.state for one in shown.items] == ["preview"]
    assert {id_ for one in shown.items for id_ in one.source_ids} == {old[0].id, old[3].id}
    assert len(await texts(text_store, user)) == 5
    assert await text_store.records(user, "rollup") == []

    (one,) = (await asked(made, user, "sourdough flour")).items
    assert one.state == "done"
    assert [sentence.text for sentence in one.sentences] == [sentence.text for sentence in shown.items[0].sentences]
    assert len(await texts(text_store, user)) == 4
    assert (await asked(made, user, "sourdough flour")).items == ()
    assert (await asked(made, user, older_than_days=30)).items == ()
    (listed,) = (await ageing.list_roll_ups(RollUpsRequest(user_id=user), made=made)).items
    assert listed == one


async def test_without_a_topic_those_that_are_found_are_rolled_up_and_what_is_left_is_told(
    text_store: TextStore, user: str
) -> None:
    mine = await say(text_store, user, *BREAD)
    theirs = await say(text_store, user, *BREAD, role="assistant")
    made = replica(text_store, await embedded([*mine, *theirs]))
    reply = await asked(made, user, None, limit=1)
    assert (len(reply.items), reply.left) == (1, 1)
    reply = await asked(made, user, None, limit=1)
    assert (len(reply.items), reply.left) == (1, 0)
    assert {sentence.role for sentence in reply.items[0].sentences} in ({"user"}, {"assistant"})
    themed = await say(text_store, user, "Rye is for Mondays", "Wheat is for Sundays", themes=("bread",))
    (one,) = (await asked(made, user, None, theme="bread")).items
    assert set(one.source_ids) == {entry.id for entry in themed}


async def test_taken_back_everything_is_as_it_was_and_ageing_leaves_it_alone(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, tags=("bread",), importance=0.3)
    vectors = await embedded(old)
    made = replica(text_store, vectors)
    await aged(made, user)
    one = await the_roll_up(text_store, user)
    await embed(vectors, [one])

    request = RollUpUndoRequest(user_id=user, id=one.id)
    for _ in range(2):
        reply = await ageing.undo(request, made=made)
        assert (reply.id, set(reply.restored)) == (one.id, {entry.id for entry in old})

    now = await text_store.get(old)
    changed = {"version", "updated_at", "embedding_state"}
    assert [now[its.id].model_dump(exclude=changed) for its in old] == [its.model_dump(exclude=changed) for its in old]
    assert said_by(made) == [one.id, *(its.id for its in old)]
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    assert one.id not in vectors.points
    assert (await text_store.get([one]))[one.id].text == ""
    await text_store.replace([Change(its, its.model_copy(update={"embedding_state": "ready"})) for its in now.values()])
    await embed(vectors, old)
    assert await aged(made, user, now=NOW + 2 * DAY) == 0
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    assert len((await asked(made, user)).items) == 1


async def test_what_was_said_again_meanwhile_comes_back_superseded_by_that(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    await aged(made, user)
    (again,) = await say(text_store, user, BREAD[0], days=0)
    await made.undo(user, (await rolled_up(text_store, old[0])))
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    back = (await text_store.get(old))[old[0].id]
    assert (back.status, back.superseded_by, back.rolled_up_into) == ("superseded", again.id, None)


async def test_what_is_no_longer_so_comes_back_superseded(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, "I am allergic to kayak glue.", "The kayak is red.")
    made = replica(text_store, await embedded(old))
    await asked(made, user, "kayak")
    (denial,) = await say(text_store, user, "I am no longer allergic to kayak glue.", days=1)
    is_new = Reading((claim(denial.text, "no longer allergic", "allergy", is_new=True),))
    reader = FakeReader(updates=[(old[0].text, denial.text)], knows={denial.text: is_new})
    await settle(text_store, [denial], reader)
    await made.undo(user, await rolled_up(text_store, old[0]))
    told = await text_store.get([Key(user, id_) for id_ in said_by(made)])
    await settle(text_store, list(told.values()), reader)
    back = (await text_store.get(old))[old[0].id]
    assert (back.status, back.superseded_by) == ("superseded", denial.id)


async def test_nothing_is_taken_back_that_is_no_roll_up(text_store: TextStore, user: str) -> None:
    (entry,) = await say(text_store, user, BREAD[0])
    for id_ in (entry.id, "nothing"):
        with pytest.raises(Rejected, match="no roll-up"):
            await ageing.undo(RollUpUndoRequest(user_id=user, id=id_), made=replica(text_store))


@pytest.mark.parametrize("broken_off_at", range(12))
async def test_broken_off_at_any_step_the_next_process_completes_it(
    text_store: TextStore, user: str, broken_off_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    with monkeypatch.context() as patched:
        steps = break_off(patched, text_store, after=broken_off_at)
        with_luck = await asyncio.gather(asked(made, user), return_exceptions=True)
    assert steps["done"] == broken_off_at or not isinstance(with_luck[0], BaseException)

    again = replica(text_store)
    await again.go_on_with_all(timedelta(0))
    if await text_store.records(user, "rollup") == []:
        assert sorted(await texts(text_store, user)) == sorted(BREAD)
        return
    one = await the_roll_up(text_store, user)
    assert set(one.source_ids) == {entry.id for entry in old}
    assert await texts(text_store, user) == [one.text]
    assert sorted(await texts(text_store, user, "archived")) == sorted(BREAD)
    assert await text_store.records(user, "rolling") == []

    with monkeypatch.context() as patched:
        break_off(patched, text_store, after=broken_off_at)
        await asyncio.gather(again.undo(user, one.id), return_exceptions=True)
    await replica(text_store).go_on_with_all(timedelta(0))
    (listed,) = (await ageing.list_roll_ups(RollUpsRequest(user_id=user), made=again)).items
    assert listed.state in ("done", "undone")
    await again.undo(user, one.id)
    assert sorted(await texts(text_store, user)) == sorted(BREAD)


async def test_marks_of_others_are_left_to_them_for_a_while(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = replica(text_store)
    await made._mark(RecordKey(user, "rollup", "11111111-2222-4333-8444-555555555555"))
    await made.go_on_with_all(timedelta(0))
    assert len(await text_store.records(user, "rolling")) == 1, "its record is about to be written"

    await say(text_store, user, *BREAD)
    with monkeypatch.context() as patched:
        break_off(patched, text_store, after=2)
        await asyncio.gather(asked(made, user), return_exceptions=True)
    await made.go_on_with_all(rollups.OTHERS)
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    await made.go_on_with_all(timedelta(0))
    assert len(await texts(text_store, user)) == 1


async def test_while_one_process_is_at_it_no_other_looks_whatever_it_wants(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    vectors = await embedded(old)
    others: list[list[float]] = []

    async def meanwhile(_: float) -> None:
        assert await aged(replica(text_store, vectors), user, Ages(roll_up_after=91)) == 0
        (taken,) = await text_store.records(user, "ageing")
        others.append(taken.body["ages"])

    every: dict[str, Any] = {"every": DAY, "now": NOW, "pause": meanwhile}
    assert await ageing.age(user, "default", AGES, made=replica(text_store, vectors), **every) == 1
    assert others == [[90, 0]] * 2, "once the entries are read, and once the roll-up is made"
