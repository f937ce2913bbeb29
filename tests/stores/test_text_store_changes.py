"""What changes or contradicts an older statement, on either store: once, whatever is redelivered or broken off."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.ports import Filters, Key, Record, Scope, Selection, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryRef
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.enrich.lineage import Policy, settle_changes
from services.shared.core.lineage import conflict_key
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.apps.test_edits import Desk
from tests.polling import eventually
from tests.stores.builders import NOON, an_entry, minutes, store_entries
from tests.stores.changing import modify

TUESDAY = "My dentist appointment is on Tuesday"
THURSDAY = "My dentist appointment has moved from Tuesday to Thursday"
FRIDAY = "My dentist appointment has moved to Friday"


async def said(store: TextStore, user: str, *texts: str, **fields: Any) -> list[Entry]:
    """Entries said a minute apart, found by their words from now on."""
    entries = [an_entry(user, text, created_at=NOON + minutes(i), **fields) for i, text in enumerate(texts)]
    await store_entries(store, entries)
    await found(store, entries)
    return entries


async def found(store: TextStore, entries: Sequence[Entry]) -> None:
    one, wanted = entries[-1], {entry.id for entry in entries}
    words = " ".join(entry.text for entry in entries)

    async def hits() -> set[str]:
        found = await store.search(Scope(one.user_id), words, limit=50, filters=Filters())
        return {hit.id for hit in found}

    await eventually(hits, lambda seen: wanted <= seen)


async def current(store: TextStore, *entries: Entry) -> list[Entry]:
    read = await store.get(list(entries))
    return [read[entry.id] for entry in entries]


async def conflicts(store: TextStore, user: str, newer: Entry, older: Entry) -> Collection[Record]:
    return (await store.get_records([conflict_key(newer, older.id)])).values()


async def test_a_change_takes_the_older_statement_out_of_use(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    gone = await settle_changes([new], contradictions=True, store=text_store)

    was, is_ = await current(text_store, old, new)
    assert gone == [EntryRef(user_id=user, id=old.id)]
    assert (was.status, was.superseded_by, was.valid_until) == ("superseded", new.id, new.created_at)
    assert (is_.status, is_.supersedes, is_.valid_from) == ("active", (old.id,), new.created_at)
    assert was.text == TUESDAY
    kept = await text_store.page(Selection(user, status="superseded"), limit=5, cursor=None)
    assert [entry.id for entry in kept.entries] == [old.id]


async def test_an_end_takes_the_older_statement_out_of_use_though_it_says_nothing_else(
    text_store: TextStore, user: str
) -> None:
    pet, other, end = await said(
        text_store, user, "We have a cat named Muffin", "I live in Graz", "Muffin died yesterday"
    )
    assert await settle_changes([end], store=text_store) == [EntryRef(user_id=user, id=pet.id)]
    assert [one.status for one in await current(text_store, pet, other, end)] == ["superseded", "active", "active"]


@pytest.mark.parametrize("how", [{"manually_saved": True}, {"source_ids": ("mem0:1",)}])
async def test_a_note_about_the_user_is_changed_by_what_they_say_and_by_another_note(
    text_store: TextStore, user: str, how: dict[str, Any]
) -> None:
    (note,) = await said(text_store, user, "User lives in Lisbon", **how)
    moved = an_entry(user, "I have moved to Porto", created_at=NOON + minutes(5))
    again = an_entry(user, "The user moved to Ghent", created_at=NOON + minutes(9), manually_saved=True)
    await store_entries(text_store, [moved, again])
    await settle_changes([moved], store=text_store)
    await settle_changes([again], store=text_store)
    was, is_, last = await current(text_store, note, moved, again)
    told = (was.superseded_by, last.conflicts_with, is_.superseded_by)
    assert told == ((None, (note.id,), again.id) if was.manually_saved else (moved.id, (), again.id))


async def test_a_correction_that_names_nothing_conflicts_with_what_was_said_just_before_it(
    text_store: TextStore, user: str
) -> None:
    texts = ("My flight leaves at 9:10", "My bus leaves at 7:15", "No, it is 7:40", "My ferry leaves at 11:20")
    flight, bus, fixed, _ = await said(text_store, user, *texts, conversation_id="c1")
    (elsewhere,) = await said(text_store, user, "No, it is 6:30", conversation_id="c2")
    late = an_entry(user, "No, it is 12:20", conversation_id="c1", created_at=NOON + minutes(90))
    await store_entries(text_store, [late])
    for one in (fixed, elsewhere, late):
        assert await settle_changes([one], store=text_store) == []
    now = await current(text_store, flight, bus, fixed, elsewhere, late)
    assert [entry.conflicts_with for entry in now] == [(), (fixed.id,), (bus.id,), (), ()]
    assert {entry.status for entry in now} == {"active"}
    (noted,) = await conflicts(text_store, user, fixed, bus)
    assert noted.body["older"] == bus.id


@pytest.mark.parametrize("contradictions", [False, True])
async def test_what_is_said_not_to_be_so_is_a_conflict(text_store: TextStore, user: str, contradictions: bool) -> None:
    texts = ("My daughter Mia is allergic to peanuts", "My son Leo is allergic to peanuts")
    denied = "The doctor said Mia is not allergic to peanuts, it is hazelnuts"
    mia, leo, new = await said(text_store, user, *texts, denied)
    assert await settle_changes([new], store=text_store, contradictions=contradictions) == []
    now = await current(text_store, mia, leo, new)
    assert [entry.conflicts_with for entry in now] == [(new.id,), (), (mia.id,)]
    assert {entry.status for entry in now} == {"active"}


async def test_done_again_it_changes_nothing_and_tells_the_same(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    first = await settle_changes([new], contradictions=True, store=text_store)
    before = await current(text_store, old, new)
    assert await settle_changes(await current(text_store, new), contradictions=True, store=text_store) == first
    assert await current(text_store, old, new) == before


async def test_broken_off_between_the_two_it_is_completed(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await modify(text_store, [new], lambda entry: entry.model_copy(update={"supersedes": (old.id,)}))
    await settle_changes(await current(text_store, new), contradictions=True, store=text_store)
    assert [entry.status for entry in await current(text_store, old, new)] == ["superseded", "active"]


async def test_changes_follow_each_other(text_store: TextStore, user: str) -> None:
    old, new, newest = await said(text_store, user, TUESDAY, THURSDAY, FRIDAY)
    await settle_changes([new, newest], contradictions=True, store=text_store)
    states = [(entry.status, entry.superseded_by) for entry in await current(text_store, old, new, newest)]
    assert states in (
        [("superseded", new.id), ("superseded", newest.id), ("active", None)],
        [("superseded", newest.id), ("superseded", newest.id), ("active", None)],
    )


async def test_of_two_changes_at_the_same_moment_the_later_one_stands(text_store: TextStore, user: str) -> None:
    old, new, newest = await said(text_store, user, TUESDAY, THURSDAY, FRIDAY)
    await asyncio.gather(*(settle_changes([entry], contradictions=True, store=text_store) for entry in (newest, new)))
    states = [entry.status for entry in await current(text_store, old, new, newest)]
    assert states == ["superseded", "superseded", "active"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"role": "user"}, {"role": "assistant"}),
        ({"role": "assistant"}, {"role": "user"}),
        ({"speaker": "Ann"}, {"speaker": "Ben"}),
        ({"space": "home"}, {"space": "work"}),
        ({"persona_id": "coach"}, {}),
    ],
)
async def test_nobody_changes_what_another_voice_said(
    text_store: TextStore, user: str, older: dict[str, Any], newer: dict[str, Any]
) -> None:
    old = an_entry(user, TUESDAY, **older)
    new = an_entry(user, THURSDAY, created_at=NOON + minutes(1), **newer)
    await store_entries(text_store, [old, new])
    await settle_changes([new], contradictions=True, store=text_store)
    assert [entry.status for entry in await current(text_store, old, new)] == ["active", "active"]


async def test_what_was_said_again_after_the_change_stays(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await modify(text_store, [old], lambda entry: entry.model_copy(update={"last_said_at": NOON + minutes(9)}))
    await settle_changes([new], contradictions=True, store=text_store)
    assert [entry.status for entry in await current(text_store, old, new)] == ["active", "active"]


@pytest.mark.parametrize("kept", [{"pinned": True}, {"manually_saved": True}])
async def test_what_somebody_asked_to_keep_stays_and_is_a_conflict(
    text_store: TextStore, user: str, kept: dict[str, Any]
) -> None:
    old = an_entry(user, TUESDAY, **kept)
    new = an_entry(user, THURSDAY, created_at=NOON + minutes(1))
    await store_entries(text_store, [old, new])
    await found(text_store, [old, new])
    await settle_changes([new], contradictions=True, store=text_store)
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.supersedes, is_.conflicts_with) == ("active", (), (old.id,))
    assert await conflicts(text_store, user, new, old)


async def test_what_merely_contradicts_is_flagged_and_both_stay(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, "My landlord is called Huber", "My landlord is called Hofer")
    assert await settle_changes([new], contradictions=True, store=text_store) == []
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.status, is_.conflicts_with) == ("active", "active", (old.id,))
    (record,) = await conflicts(text_store, user, new, old)
    assert record.body == {"space": "default", "newer": new.id, "older": old.id}


async def test_what_could_mean_either_of_two_things_is_a_conflict_with_both(text_store: TextStore, user: str) -> None:
    bob, ann, new = await said(
        text_store,
        user,
        "The meeting with Bob is on Tuesday",
        "The meeting with Ann is on Monday",
        "the meeting has moved to Friday",
    )
    await settle_changes([new], contradictions=True, store=text_store)
    *old, is_ = await current(text_store, bob, ann, new)
    assert [entry.status for entry in old] == ["active", "active"]
    assert set(is_.conflicts_with) == {bob.id, ann.id}


async def test_what_the_user_decided_is_not_decided_again(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    key = conflict_key(new, old.id)
    await text_store.add_records([Record(user, "conflict", key.name, {"kept": "both"}, datetime.now(UTC))])
    await settle_changes([new], contradictions=True, store=text_store)
    as_read_before = new.model_copy(update={"supersedes": (old.id,)})
    await settle_changes([as_read_before], contradictions=True, store=text_store)
    assert [entry.status for entry in await current(text_store, old, new)] == ["active", "active"]


async def test_no_vector_of_what_was_superseded_is_left(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    vectors, embedder = FakeVectors(), FakeEmbedder()
    for entry in (old, new):
        event = EntryAccepted.of([EntryRef(user_id=user, id=entry.id)], at=NOON)
        told = await enrich_entries([event], store=text_store, annotator=None)
        await embed_entries(told, store=text_store, vectors=vectors, embedder=embedder)
    assert set(vectors.points) == {new.id}


async def test_forgetting_reaches_both_and_brings_nothing_back(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await settle_changes([new], contradictions=True, store=text_store)
    await text_store.forget([Key(user, new.id)], until=None)
    assert [entry.status for entry in await current(text_store, old, new)] == ["superseded", "forgotten"]
    await text_store.forget([Key(user, old.id)], until=None)
    was, _ = await current(text_store, old, new)
    assert (was.status, was.text) == ("forgotten", "")


async def test_what_changed_meanwhile_is_not_overwritten(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await modify(text_store, [new], lambda entry: entry.model_copy(update={"text": "never mind"}))
    await settle_changes([new], contradictions=True, store=text_store)
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.text, is_.supersedes) == ("active", "never mind", ())


@pytest.mark.parametrize(("policy", "named"), [("flag", 1), ("leave", 0)])
async def test_by_another_policy_nothing_is_superseded(
    text_store: TextStore, user: str, policy: Policy, named: int
) -> None:
    old, new = await said(text_store, user, TUESDAY, THURSDAY)
    await settle_changes([new], contradictions=True, store=text_store, policy=policy)
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.supersedes, len(is_.conflicts_with)) == ("active", (), named)


@pytest.mark.parametrize(
    ("several", "change"),
    [
        ("My standup is at 9:30 every day, Jonas is my lead and Joanna draws", "my standup has moved to 10:15"),
        ("My husband Tom is a teacher and is allergic to bees", "My husband Tom is no longer a teacher"),
        ("I play tennis and football", "I have given up tennis"),
    ],
)
async def test_what_also_states_other_things_stays_and_is_a_conflict(
    text_store: TextStore, user: str, several: str, change: str
) -> None:
    old, new = await said(text_store, user, several, change)
    await settle_changes([new], contradictions=True, store=text_store)
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.conflicts_with) == ("active", (old.id,))


CLARA = ("Clara is my sister", "Clara lives in Oslo", "My sister Clara has moved to Porto.")


async def test_a_change_is_one_of_the_same_fact_however_it_is_worded(text_store: TextStore, user: str) -> None:
    sister, old, new = await said(text_store, user, *CLARA)
    assert await settle_changes([new], store=text_store) == [EntryRef(user_id=user, id=old.id)]
    told, was, is_ = await current(text_store, sister, old, new)
    assert (told.status, was.status, was.superseded_by, is_.supersedes) == ("active", "superseded", new.id, (old.id,))


async def test_the_older_fact_is_found_behind_many_other_turns(text_store: TextStore, user: str) -> None:
    others = [f"Lunch number {i} was soup and bread" for i in range(30)]
    old, *_, new = await said(text_store, user, "I live in Lisbon", *others, "I have moved to Porto")
    await settle_changes([new], store=text_store)
    assert [one.status for one in await current(text_store, old, new)] == ["superseded", "active"]


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (("I live in Lisbon and I work at Siemens", "I have moved to Porto"), {}),
        (("I live in Lisbon", "I have moved to Porto"), {"pinned": True}),
        (("Clara is my sister", "My colleague Clara is nice", "Clara lives in Oslo", CLARA[2]), {}),
        (("i live in lisbon", "i have moved to porto"), {}),
    ],
    ids=["states more", "pinned", "two of one name", "perhaps no place"],
)
async def test_a_fact_that_may_be_true_still_stays_and_is_a_conflict(
    text_store: TextStore, user: str, texts: tuple[str, ...], fields: dict[str, Any]
) -> None:
    *_, old, new = await said(text_store, user, *texts, **fields)
    await settle_changes([new], store=text_store)
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.supersedes, is_.conflicts_with) == ("active", (), (old.id,))


async def test_another_fact_of_the_same_person_stays(text_store: TextStore, user: str) -> None:
    old, new = await said(text_store, user, "My brother Ben works at Bosch", "My brother Ben has moved to Berlin")
    assert await settle_changes([new], store=text_store) == []
    assert [one.conflicts_with for one in await current(text_store, old, new)] == [(), ()]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("I like Wels beer", ("active", "active")),
        ("I have moved to Linz", ("superseded", "active")),
        ("My standup has moved to Friday", ("active", "active")),
    ],
)
async def test_what_a_corrected_statement_does_not_change_any_more_comes_back(
    text_store: TextStore, user: str, text: str, states: tuple[str, str]
) -> None:
    desk = Desk(text_store)
    old, new = await said(text_store, user, "I live in Graz", "I have moved to Wels")
    await desk.digest([old, new])
    assert [one.status for one in await current(text_store, old, new)] == ["superseded", "active"]
    await desk.update(new, text=text)
    await desk.digest([new])
    await desk.digest([new])
    was, is_ = await current(text_store, old, new)
    assert (was.status, is_.status) == states
    assert (old.id in desk.vectors.points, bool(is_.supersedes)) == (was.status == "active", was.status != "active")
    assert (was.superseded_by, was.embedding_state) == (
        (None, "ready") if was.status == "active" else (new.id, "pending")
    )


@pytest.mark.parametrize("corrected", [0, 1])
async def test_a_conflict_goes_when_either_half_is_corrected_and_what_it_says_is_settled_anew(
    text_store: TextStore, user: str, corrected: int
) -> None:
    desk = Desk(text_store)
    old, new = pair = await said(text_store, user, "I live in Graz", "I have moved to Wels", manually_saved=True)
    await desk.digest(pair)
    assert [one.conflicts_with for one in await current(text_store, *pair)] == [(new.id,), (old.id,)]
    await desk.update(pair[corrected], text="I like Wels beer")
    await desk.digest([pair[corrected]])
    assert [one.conflicts_with for one in await current(text_store, *pair)] == [(), ()]
    assert not await conflicts(text_store, user, new, old)
    await desk.update(pair[corrected], text=pair[corrected].text)
    await desk.digest([new])
    assert await conflicts(text_store, user, new, old)
