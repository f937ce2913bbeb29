"""Erasing a user, counting what is out of use, and going through everybody's memory in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contracts.ports import Accepted, Decision, Filters, Key, Record, Refused, Scope, Selection, SpaceSize, TextStore
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import Proposal
from tests.polling import eventually
from tests.stores.builders import (
    NOON,
    a_repeat,
    a_session,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    minutes,
    outcomes_of,
    similar_to,
    store_entries,
    suppressed,
    tomorrow,
    undecided_of,
)
from tests.stores.changing import modify


async def a_memory(store: TextStore, user: str) -> list[Proposal]:
    """Something of everything: stored, repeated, refused, undecided, archived, forgotten, in two spaces; a record."""
    at_work = await log_proposals(store, user, 2, space="work", speaker="Anna")
    proposals = [*await log_proposals(store, user, 6), *at_work]
    stored, repeat, refused, forgotten, archived, _, *_ = proposals
    known: dict[str, Any] = {"statement_hash": "h", "minhash_bands": ("b1", "b2"), "tags": ("numbers",)}
    entries = [entry_of(p, **known) for p in (stored, forgotten, archived, *at_work)]
    await store.apply([Accepted(entry) for entry in entries])
    await store.apply([a_repeat(repeat, stored.id), Refused(refused, "no")])
    await store.forget([forgotten], until=tomorrow())
    await modify(store, [archived], lambda entry: entry.model_copy(update={"status": "archived"}))
    await store.put_record(Record(user, "settings", "*", {"soft_cap": 9}, NOON), held=None)
    return proposals


async def seen(store: TextStore, user: str, proposals: Sequence[Proposal]) -> dict[str, object]:
    """All that anybody can see of a user."""
    queries = [entry_of(p, statement_hash="h", minhash_bands=("b1",)) for p in proposals]
    entries = [entry_of(p, statement_hash="h") for p in proposals]
    spaces = [Scope(user), Scope(user, "work")]
    hits = [await store.search(scope, "statement number 1", limit=50, filters=Filters()) for scope in spaces]
    statuses: tuple[Status, ...] = ("active", "archived", "superseded", "forgotten")
    return {
        "entries": list((await store.get(proposals)).values()),
        "outcomes": list((await outcomes_of(store, proposals)).values()),
        "undecided": await undecided_of(store, proposals),
        "hits": [sorted((hit.id, round(hit.score, 9)) for hit in found) for found in hits],
        "near": list((await store.neighbours(proposals, reach=2)).values()),
        "similar": [[entry.id for entry in found] for found in await similar_to(store, *queries)],
        "pages": [await store.page(Selection(user, status=s), limit=50, cursor=None) for s in statuses],
        "forgotten": await suppressed(store, entries),
        "counts": await store.counts(user),
        "logged": await store.export_log(user, after=None, limit=50),
        "kept": await store.export_entries(user, after=None, limit=50),
    }


async def test_everything_of_a_user_is_erased_and_nothing_of_others(text_store: TextStore) -> None:
    gone, stays, newcomer = a_user(), a_user(), a_user()
    erased, others = await a_memory(text_store, gone), await a_memory(text_store, stays)
    before = await seen(text_store, stays, others)
    assert any((await text_store.count_remaining(gone)).values())
    await text_store.erase(gone)
    assert await seen(text_store, stays, others) == before
    nothing = await seen(text_store, newcomer, [])
    left = await seen(text_store, gone, erased)
    assert {what: _flat(found) for what, found in left.items()} == {what: _flat(f) for what, f in nothing.items()}
    assert set((await text_store.count_remaining(gone)).values()) == {0}


def _flat(found: object) -> object:
    """Empty lists of how many ever are one empty list."""
    return [] if isinstance(found, list) and not any(found) else found


async def test_traces_count_what_there_is_by_kind(text_store: TextStore, user: str) -> None:
    unknown = await text_store.count_remaining(user)
    assert unknown
    assert set(unknown.values()) == {0}
    await a_memory(text_store, user)
    found = await text_store.count_remaining(user)
    assert found.keys() == unknown.keys()
    assert min(found.values()) > 0
    await a_memory(text_store, a_user())
    assert await text_store.count_remaining(user) == found


async def test_an_erased_user_is_unknown(empty_text_store: TextStore) -> None:
    await a_memory(empty_text_store, "ann")
    proposals = await a_memory(empty_text_store, "ben")
    assert await empty_text_store.users(after="", limit=9) == ["ann", "ben"]
    await empty_text_store.erase("ann")
    await empty_text_store.erase("ann")
    await empty_text_store.erase("nobody")
    assert await empty_text_store.users(after="", limit=9) == ["ben"]
    assert await empty_text_store.counts() == await empty_text_store.counts("ben")
    assert len(await empty_text_store.export_log("ben", after=None, limit=50)) == len(proposals)


async def test_what_was_judged_before_its_user_was_erased_does_not_come_back(text_store: TextStore, user: str) -> None:
    first, second, third = await log_proposals(text_store, user, 3)
    await text_store.apply([Accepted(entry_of(first), known_similar=frozenset())])
    await text_store.erase(user)
    judged: list[Decision] = [
        Accepted(entry_of(second), known_similar=frozenset()),
        a_repeat(third, first.id),
        Refused(third, "no"),
    ]
    assert await text_store.apply(judged) == []
    assert set((await text_store.count_remaining(user)).values()) == {0}


@pytest.mark.timeout(120)
async def test_after_sweeping_nothing_is_left_to_sweep(empty_text_store: TextStore, user: str) -> None:
    proposals = await a_memory(empty_text_store, user)
    await eventually(empty_text_store.compact, bool, within=50)  # a cluster keeps what it removed for half a minute
    assert await empty_text_store.compact()
    before = await seen(empty_text_store, user, proposals)
    await empty_text_store.erase(a_user())
    await eventually(empty_text_store.compact, bool, within=50)  # a cluster keeps what it removed for half a minute
    assert await seen(empty_text_store, user, proposals) == before


async def test_entries_out_of_use_are_counted(text_store: TextStore, user: str) -> None:
    entries = await store_entries(text_store, [an_entry(user, persona_id=p) for p in (None, None, "guide")])
    await modify(text_store, entries[1:], lambda entry: entry.model_copy(update={"status": "superseded"}))
    counted = await text_store.counts(user)
    assert (counted.entries, counted.inactive) == (1, 2)
    await modify(text_store, entries[1:2], lambda entry: entry.model_copy(update={"status": "active"}))
    counted = await text_store.counts(user)
    assert (counted.entries, counted.inactive) == (2, 1)
    await store_entries(text_store, [an_entry(user, status="superseded")])
    assert (await text_store.counts(user)).inactive == 2


async def test_spaces_with_too_many_entries_are_crowded(empty_text_store: TextStore) -> None:
    await store_entries(empty_text_store, [an_entry("ann", persona_id=p) for p in (None, "guide", "guide", "tutor")])
    await store_entries(empty_text_store, [an_entry("ann", space="work") for _ in range(2)])
    await store_entries(empty_text_store, [an_entry("ben", space="work") for _ in range(3)])
    archived = await store_entries(empty_text_store, [an_entry("ben") for _ in range(5)])
    await modify(empty_text_store, archived[1:], lambda entry: entry.model_copy(update={"status": "archived"}))
    fullest = [SpaceSize("ann", "default", 4), SpaceSize("ben", "work", 3), SpaceSize("ann", "work", 2)]
    assert await empty_text_store.over_capacity(cap=1, limit=9) == fullest
    assert await empty_text_store.over_capacity(cap=1, limit=2) == fullest[:2]
    assert await empty_text_store.over_capacity(cap=2, limit=9) == fullest[:2]
    assert await empty_text_store.over_capacity(cap=4, limit=9) == []
    assert await empty_text_store.over_capacity(cap=1, limit=9, but=["ann", "zoe"]) == fullest[1:2]
    assert await empty_text_store.spaces("ann") == [fullest[0], fullest[2]]
    assert await empty_text_store.spaces("ben") == [SpaceSize("ben", "default", 1), fullest[1]]
    await modify(empty_text_store, archived[:1], lambda entry: entry.model_copy(update={"status": "superseded"}))
    assert await empty_text_store.spaces("ben") == [SpaceSize("ben", "default", 0), fullest[1]]
    await empty_text_store.forget(archived, until=None)
    assert await empty_text_store.spaces("ben") == [fullest[1]]
    assert await empty_text_store.spaces("zoe") == []


async def test_old_entries_are_aged_unless_the_user_keeps_them(empty_text_store: TextStore) -> None:
    ann, ben = a_session("ann", list("abcdef")), a_session("ben", list("xy"), space="work", persona_id="guide")
    ann[1] = ann[1].model_copy(update={"pinned": True})
    ann[2] = ann[2].model_copy(update={"manually_saved": True})
    await store_entries(empty_text_store, [*ann, ben[1]])
    await modify(empty_text_store, [ann[3]], lambda entry: entry.model_copy(update={"status": "archived"}))
    await modify(empty_text_store, [ann[4]], lambda entry: entry.model_copy(update={"status": "superseded"}))
    before = NOON + minutes(5)
    oldest = [Key("ann", ann[0].id), Key("ben", ben[1].id), Key("ann", ann[3].id), Key("ann", ann[4].id)]
    assert await empty_text_store.expired(before=before, limit=9) == oldest
    assert await empty_text_store.expired(before=before, limit=2) == oldest[:2]
    assert await empty_text_store.expired(before=NOON, limit=9) == []
    assert await empty_text_store.expired(before=before, limit=9, but=["ann"]) == oldest[1:2]
    assert await empty_text_store.expired(before=before, limit=9, of=("ann", "default")) == [oldest[0], *oldest[2:]]
    assert await empty_text_store.expired(before=before, limit=1, of=("ben", "work")) == oldest[1:2]
    assert await empty_text_store.expired(before=before, limit=9, of=("ben", "default")) == []
    await modify(empty_text_store, [ann[4]], lambda entry: entry.model_copy(update={"last_said_at": before}))
    assert await empty_text_store.expired(before=before, limit=9) == oldest[:3]
    await modify(empty_text_store, [ann[0]], lambda entry: entry.model_copy(update={"pinned": True}))
    await modify(empty_text_store, [ann[1]], lambda entry: entry.model_copy(update={"pinned": False}))
    oldest = [Key("ben", ben[1].id), Key("ann", ann[1].id)]
    assert sorted(await empty_text_store.expired(before=NOON + minutes(2), limit=9)) == sorted(oldest)


async def test_what_stands_behind_a_roll_up_is_not_aged_while_it_does(empty_text_store: TextStore) -> None:
    original, before = an_entry("ann", created_at=NOON), NOON + minutes(1)
    behind = {"status": "archived", "rolled_up_into": "r"}
    in_use = {"status": "active", "rolled_up_into": None}
    (original,) = await store_entries(empty_text_store, [original])
    for now, expected in ((behind, []), (in_use, [Key("ann", original.id)]), (behind, [])):
        await modify(empty_text_store, [original], lambda entry: entry.model_copy(update=now))  # noqa: B023
        assert await empty_text_store.expired(before=before, limit=9) == expected
        assert await empty_text_store.expired(before=before, limit=9, of=("ann", "default")) == expected


async def test_everybodys_active_entries_are_gone_through_in_order(empty_text_store: TextStore) -> None:
    users = [f"user-{i % 3}" for i in range(9)]
    entries = await store_entries(empty_text_store, [an_entry(user, space=f"s-{user}") for user in users])
    retired, forgotten, *active = sorted(entries, key=lambda entry: entry.id)
    await modify(empty_text_store, [retired], lambda entry: entry.model_copy(update={"status": "archived"}))
    await empty_text_store.forget([forgotten], until=None)
    found: list[Entry] = []
    while page := await empty_text_store.scan(after=found[-1].id if found else "", limit=3):
        found += page
    assert found == active
    assert await empty_text_store.scan(after=active[2].id, limit=2) == active[3:5]
