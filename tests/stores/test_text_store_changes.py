"""What a statement changes, on either store: once, whatever is redelivered, broken off, or arrives in another order."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest

from contracts.ports import Filters, Record, Scope, TextStore, Unavailable, VectorPoint
from contracts.v1.claims import Change, Reading, Relation
from contracts.v1.entries import Entry
from services.embed import changes
from services.embed.changes import Rules
from services.shared.knowledge.changes import UNSURE
from services.shared.lifecycle.lineage import conflict_key
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors, claim
from tests.apps.settling import settle
from tests.apps.test_edits import Desk
from tests.stores.builders import NOON, an_entry, minutes, store_entries
from tests.stores.changing import modify

TUESDAY = "My dentist appointment is on Tuesday."
THURSDAY = "My dentist appointment has moved from Tuesday to Thursday."
FRIDAY = "My dentist appointment has moved to Friday."
CHANGES = [(TUESDAY, THURSDAY), (TUESDAY, FRIDAY), (THURSDAY, FRIDAY)]

BOSCH, SIEMENS = "I work for Bosch and I'm allergic to nuts.", "I've just started at Siemens."
WORK = {
    BOSCH: Reading((claim(BOSCH, "Bosch", "employer"), claim(BOSCH, "nuts", "allergy"))),
    SIEMENS: Reading((claim(SIEMENS, "Siemens", "employer", is_new=True),)),
}


def a_reader(**known: Any) -> FakeReader:
    return FakeReader(updates=[*CHANGES, (BOSCH, SIEMENS)], knows=WORK, **known)


async def said(store: TextStore, user: str, *texts: str, **fields: Any) -> list[Entry]:
    """Entries said a minute apart."""
    entries = [an_entry(user, text, created_at=NOON + minutes(i), **fields) for i, text in enumerate(texts)]
    return await store_entries(store, entries)


async def current(store: TextStore, *entries: Entry) -> list[Entry]:
    read = await store.get(list(entries))
    return [read[entry.id] for entry in entries]


async def statuses(store: TextStore, *entries: Entry) -> list[str]:
    return [entry.status for entry in await current(store, *entries)]


async def conflicts(store: TextStore, user: str, newer: Entry, older: Entry) -> Collection[Record]:
    return (await store.get_records([conflict_key(newer, older.id)])).values()


async def test_a_change_takes_the_older_statement_out_of_use(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    vectors = FakeVectors()
    await settle(text_store, [old], a_reader(), vectors=vectors)
    (before,) = await current(text_store, new)
    await settle(text_store, [new], a_reader(), vectors=vectors)
    was, is_ = await current(text_store, old, new)
    assert (was.status, was.superseded_by, was.valid_until) == ("superseded", new.id, new.created_at)
    assert (is_.status, is_.supersedes, is_.valid_from) == ("active", (old.id,), new.created_at)
    assert (is_.version, is_.embedding_state) == (before.version + 1, "ready")  # named in the write that marks it
    (home,) = was.claims
    assert is_.changes == (Change(entry_id=old.id, slot="home", value=home.value, confidence=1),)
    assert was.text == TUESDAY
    assert set(vectors.points) == {new.id}
    await settle(text_store, [old, new], again := a_reader(), vectors=vectors)
    assert (await current(text_store, old, new), again.compared) == ([was, is_], [])


async def of(*entries: Entry) -> FakeVectors:
    """Vectors that have these entries already."""
    vectors = FakeVectors()
    matrix = await FakeEmbedder().embed([one.text for one in entries])
    await vectors.upsert([VectorPoint(one, vector) for one, vector in zip(entries, matrix, strict=True)])
    return vectors


async def test_what_changes_a_part_ends_that_part_alone(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, BOSCH, SIEMENS)
    vectors = FakeVectors()
    for _ in range(2):
        await settle(text_store, [old, new], a_reader(), vectors=vectors)
        was, is_ = await current(text_store, old, new)
        assert (was.status, was.superseded_by, was.outdated) == ("active", new.id, ("Bosch",))
        assert [(one.slot, one.entry_id) for one in is_.changes] == [("employer", old.id)]
        assert set(vectors.points) == {old.id, new.id}


async def test_a_part_that_ended_is_compared_no_more_and_with_the_last_part_all_goes(
    text_store: TextStore, user: str
) -> None:
    old, new = await said(text_store, user, BOSCH, SIEMENS)
    await settle(text_store, [old, new], a_reader())
    healed = "My allergy to nuts is gone."
    last = an_entry(user, healed, created_at=NOON + minutes(9))
    await store_entries(text_store, [last])
    reader = FakeReader(updates=[(BOSCH, healed)], knows={**WORK, healed: Reading(ends=0.9)})
    await settle(text_store, [last], reader, vectors=await of(old, new))
    assert set(reader.compared) == {(BOSCH, healed), (SIEMENS, healed)}
    was, _, end = await current(text_store, old, new, last)
    assert [one.slot for one in end.changes] == ["allergy"]
    assert (was.status, was.superseded_by) == ("superseded", last.id)


@pytest.mark.parametrize("step", ["flag", "put_away"])
@pytest.mark.parametrize("fields", [{}, {"pinned": True}])
async def test_broken_off_after_the_mark_it_is_completed(
    text_store: TextStore, user: str, step: str, fields: dict[str, Any]
) -> None:
    pair = old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await modify(text_store, [old], lambda one: one.model_copy(update=fields))
    vectors = FakeVectors()
    with patch.object(changes, step, side_effect=Unavailable("died")), pytest.raises(Unavailable):
        await settle(text_store, pair, a_reader(), vectors=vectors)
    assert await statuses(text_store, *pair) == ["active", "active"]
    await settle(text_store, pair, a_reader(), vectors=vectors)
    was, is_ = await current(text_store, *pair)
    assert was.status == ("active" if fields else "superseded")
    assert bool(await conflicts(text_store, user, new, old)) == bool(fields)
    assert (old.id in vectors.points, was.conflicts_with, is_.supersedes) == (
        (True, (new.id,), ()) if fields else (False, (), (old.id,))
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (2, 0, 1)])
async def test_in_whatever_order_they_arrive_the_last_one_stands(
    text_store: TextStore, user: str, order: Sequence[int]
) -> None:
    entries = await said(text_store, user, TUESDAY, THURSDAY, FRIDAY, conversation_id="c1")
    vectors = FakeVectors()
    for place in order:
        await settle(text_store, [entries[place]], a_reader(), vectors=vectors)
    assert await statuses(text_store, *entries) == ["superseded", "superseded", "active"]


async def test_read_at_the_same_moment_by_two_the_later_one_stands(text_store: TextStore, user: str) -> None:
    pair = await said(text_store, user, TUESDAY, THURSDAY, conversation_id="c1")
    vectors = FakeVectors()
    await asyncio.gather(*(settle(text_store, [one], a_reader(), vectors=vectors) for one in reversed(pair)))
    assert await statuses(text_store, *pair) == ["superseded", "active"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"role": "user"}, {"role": "assistant"}),
        ({"speaker": "Ann"}, {"speaker": "Ben"}),
        ({"space": "home"}, {"space": "work"}),
        ({"persona_id": "coach"}, {}),
        ({"user_id": "somebody else"}, {}),
    ],
)
async def test_nobody_changes_what_another_voice_said(
    text_store: TextStore, user: str, older: dict[str, Any], newer: dict[str, Any]
) -> None:
    talk = {"conversation_id": "c1"}
    old = an_entry(user, TUESDAY, **talk).model_copy(update=older)
    new = an_entry(user, THURSDAY, created_at=NOON + minutes(1), **newer, **talk)
    await store_entries(text_store, [old, new])
    reader, vectors = a_reader(), FakeVectors()
    for entries in ([old, new], [new], [old]):
        await settle(text_store, entries, reader, vectors=vectors)
    assert await statuses(text_store, old, new) == ["active", "active"]
    assert reader.compared == []


async def test_what_ends_nothing_is_compared_with_nothing(text_store: TextStore, user: str) -> None:
    pair = await said(text_store, user, TUESDAY, THURSDAY)
    reader = a_reader()
    reader.knows = {THURSDAY: Reading((claim(THURSDAY, "Thursday", "appointment"),), ends=0.1)}
    await settle(text_store, pair, reader)
    assert (reader.compared, await statuses(text_store, *pair)) == ([], ["active", "active"])


async def test_what_was_said_again_after_the_change_stays(text_store: TextStore, user: str) -> None:
    pair = old, _ = await said(text_store, user, TUESDAY, THURSDAY)
    await modify(text_store, [old], lambda entry: entry.model_copy(update={"last_said_at": NOON + minutes(9)}))
    await settle(text_store, pair, a_reader())
    assert await statuses(text_store, *pair) == ["active", "active"]


@pytest.mark.parametrize("kept", [{"pinned": True}, {"manually_saved": True}])
async def test_what_somebody_asked_to_keep_stays_and_is_a_conflict(
    text_store: TextStore, user: str, kept: dict[str, Any]
) -> None:
    pair = old, new = await said(text_store, user, TUESDAY, THURSDAY, **kept)
    await settle(text_store, pair, a_reader())
    was, is_ = await current(text_store, *pair)
    assert (was.status, was.conflicts_with, is_.supersedes, is_.conflicts_with) == ("active", (new.id,), (), (old.id,))
    (record,) = await conflicts(text_store, user, new, old)
    assert record.body == {"space": "default", "newer": new.id, "older": old.id}


@pytest.mark.parametrize(
    ("relation", "contradictions", "is_conflict"),
    [
        (Relation(0.1, 0.2, 0, 0.7), False, True),
        (Relation(0.1, 0.4, 0, 0.5), False, False),
        (Relation(0, 0.1, 0.8, 0.1), True, True),
    ],
)
async def test_what_may_be_a_change_or_contradicts_is_flagged_and_both_stay(
    text_store: TextStore, user: str, relation: Relation, contradictions: bool, is_conflict: bool
) -> None:
    pair = old, new = await said(text_store, user, "My landlord is called Huber.", "My landlord is called Hofer.")
    reader = FakeReader(relations={(old.text, new.text): relation})
    await settle(text_store, pair, reader, rules=Rules(contradictions=contradictions))
    was, is_ = await current(text_store, *pair)
    assert (was.status, is_.status, is_.changes) == ("active", "active", ())
    assert is_.conflicts_with == ((old.id,) if is_conflict else ())
    assert bool(await conflicts(text_store, user, new, old)) == is_conflict


async def test_what_the_user_decided_is_not_decided_again(text_store: TextStore, user: str) -> None:
    pair = old, new = await said(text_store, user, TUESDAY, THURSDAY)
    key = conflict_key(new, old.id)
    await text_store.add_records([Record(user, "conflict", key.name, {"kept": "both"}, datetime.now(UTC))])
    await settle(text_store, pair, a_reader())
    await modify(text_store, [new], lambda entry: entry.model_copy(update={"supersedes": (old.id,)}))
    await settle(text_store, pair, a_reader())
    assert await statuses(text_store, *pair) == ["active", "active"]


async def test_what_changed_meanwhile_is_not_overwritten(text_store: TextStore, user: str) -> None:
    pair = await said(text_store, user, TUESDAY, THURSDAY)
    new = pair[1]

    class Late(FakeReader):
        async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
            await modify(text_store, [new], lambda entry: entry.model_copy(update={"text": "never mind it"}))
            return await super().compare(pairs)

    await settle(text_store, pair, Late(updates=CHANGES))
    was, is_ = await current(text_store, *pair)
    assert (was.status, is_.text, is_.supersedes, is_.changes) == ("active", "never mind it", (), ())


@pytest.mark.parametrize(("policy", "named"), [("flag", 1), ("leave", 0)])
async def test_by_another_policy_nothing_is_superseded(
    text_store: TextStore, user: str, policy: changes.Policy, named: int
) -> None:
    pair = await said(text_store, user, TUESDAY, THURSDAY)
    await settle(text_store, pair, a_reader(), rules=Rules(policy))
    was, is_ = await current(text_store, *pair)
    assert (was.status, is_.supersedes, len(is_.conflicts_with)) == ("active", (), named)


async def test_the_nearest_is_found_behind_many_other_turns(text_store: TextStore, user: str) -> None:
    others = [f"Lunch number {i} was soup." for i in range(30)]
    old, *_, new = entries = await said(text_store, user, TUESDAY, *others, THURSDAY, conversation_id="c1")
    vectors = await of(*entries)
    await settle(text_store, [old], a_reader(), vectors=vectors)
    near = await vectors.search(Scope(user), (await FakeEmbedder().embed([TUESDAY]))[0], limit=1, filters=Filters())
    assert near[0].id == old.id
    vectors.points = {old.id: vectors.points[old.id]}
    await settle(text_store, [new], a_reader(), vectors=vectors)
    assert await statuses(text_store, old, new) == ["superseded", "active"]


GRAZ, WELS, BEER = "I live in Graz.", "I have moved to Wels.", "I like the beer of Wels."


@pytest.mark.parametrize(("text", "is_back"), [(BEER, True), ("I have moved to Wels, at last.", False)])
async def test_what_a_corrected_statement_does_not_change_any_more_comes_back(
    text_store: TextStore, user: str, text: str, is_back: bool
) -> None:
    desk = Desk(text_store, FakeReader(updates=[(GRAZ, WELS), (GRAZ, "I have moved to Wels, at last.")]))
    pair = old, new = await said(text_store, user, GRAZ, WELS)
    await desk.digest(pair)
    assert await statuses(text_store, *pair) == ["superseded", "active"]
    await desk.update(new, text=text)
    for _ in range(2):
        await desk.digest([new])
        was, is_ = await current(text_store, *pair)
        assert (was.status == "active", old.id in desk.vectors.points) == (is_back, is_back)
        assert is_.supersedes == (() if is_back else (old.id,))
        assert [one.entry_id for one in is_.changes] == ([] if is_back else [old.id])
        assert (was.superseded_by, was.embedding_state) == ((None, "ready") if is_back else (new.id, "pending"))


async def test_what_a_corrected_statement_only_may_change_is_in_use_and_a_conflict(
    text_store: TextStore, user: str
) -> None:
    corrected = "I've just started at Siemens in Ulm."
    knows = {**WORK, corrected: Reading((claim(corrected, "Siemens", "employer", is_new=True),))}
    doubt = {(BOSCH, corrected): Relation(1 - UNSURE, 0, 0, UNSURE)}
    desk = Desk(text_store, FakeReader(updates=[(BOSCH, SIEMENS)], relations=doubt, knows=knows))
    pair = old, new = await said(text_store, user, BOSCH, SIEMENS)
    await desk.digest(pair)
    await desk.update(new, text=corrected)
    for _ in range(2):
        await desk.digest([new])
        was, is_ = await current(text_store, *pair)
        assert (was.status, was.superseded_by, was.outdated) == ("active", None, ())
        assert (is_.supersedes, is_.changes, is_.conflicts_with) == ((), (), (old.id,))


@pytest.mark.parametrize("corrected", [0, 1])
async def test_a_conflict_goes_when_either_half_is_corrected_and_what_it_says_is_settled_anew(
    text_store: TextStore, user: str, corrected: int
) -> None:
    desk = Desk(text_store, FakeReader(updates=[(GRAZ, WELS)]))
    pair = old, new = await said(text_store, user, GRAZ, WELS, manually_saved=True, conversation_id="c1")
    await desk.digest(pair)
    assert [one.conflicts_with for one in await current(text_store, *pair)] == [(new.id,), (old.id,)]
    await desk.update(pair[corrected], text=BEER)
    await desk.digest([pair[corrected]])
    assert [one.conflicts_with for one in await current(text_store, *pair)] == [(), ()]
    assert not await conflicts(text_store, user, new, old)
    await desk.update(pair[corrected], text=pair[corrected].text)
    await desk.digest([pair[corrected]])
    assert await conflicts(text_store, user, new, old)


@pytest.mark.parametrize(("older", "newer"), [(GRAZ, WELS), (BOSCH, SIEMENS)])
async def test_forgetting_the_newer_one_brings_the_older_one_back(
    text_store: TextStore, user: str, older: str, newer: str
) -> None:
    desk = Desk(text_store, FakeReader(updates=[(older, newer)], knows=WORK))
    old, new = await said(text_store, user, older, newer)
    await desk.digest([old, new])
    (before,) = await current(text_store, old)
    assert before.superseded_by == new.id
    await desk.forget(new)
    await desk.digest([old])
    was, is_ = await current(text_store, old, new)
    assert (was.status, was.superseded_by, was.outdated, is_.status) == ("active", None, (), "forgotten")
    assert old.id in desk.vectors.points


async def test_forgetting_what_is_out_of_use_brings_nothing_back(text_store: TextStore, user: str) -> None:
    desk = Desk(text_store, a_reader())
    old, new, newest = await said(text_store, user, TUESDAY, THURSDAY, FRIDAY)
    await desk.digest([old, new, newest])
    await desk.forget(new)
    assert await statuses(text_store, old, new, newest) == ["superseded", "forgotten", "active"]
