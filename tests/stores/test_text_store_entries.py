"""Entries: read, changed one version at a time, found when they are stuck, too many or too old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from contracts.ports import (
    Accepted,
    Change,
    EmbeddingIdentity,
    Filters,
    Key,
    Outcome,
    Refused,
    Scope,
    SpaceSize,
    Stuck,
    TextStore,
    Unavailable,
)
from contracts.v1.entries import Entry
from tests.stores.builders import (
    NOON,
    a_full_entry,
    a_session,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    log_texts,
    minutes,
    outcomes_of,
    repeated,
    similar_to,
    store_entries,
    undecided_of,
)
from tests.stores.changing import modify


async def test_an_entry_comes_back_with_every_field(text_store: TextStore, user: str) -> None:
    full = a_full_entry(user)
    await store_entries(text_store, [full])
    assert await text_store.get([full]) == {full.id: full}


async def test_entries_come_in_the_order_asked_without_the_unknown(text_store: TextStore, user: str) -> None:
    one, two = await store_entries(text_store, [an_entry(user), an_entry(user)])
    assert list(await text_store.get([two, Key(user, "unknown"), one, two])) == [two.id, one.id]


async def test_what_is_changed_makes_the_next_version_and_nothing_else_does(text_store: TextStore, user: str) -> None:
    one, two = await store_entries(text_store, [an_entry(user, "one"), an_entry(user, "two", version=4)])
    changed = await modify(
        text_store, [one, Key(user, "unknown"), two], lambda e: repeated(e) if e.text == "two" else None
    )
    assert changed == [two.model_copy(update={"repeat_count": 1, "version": 5})]
    assert await text_store.get([one, two]) == {one.id: one, two.id: changed[0]}
    many = await store_entries(text_store, [an_entry(user, f"number {i}") for i in range(1500)])
    assert list((await text_store.get(many)).values()) == many
    assert [entry.version for entry in await modify(text_store, many, repeated)] == [2] * 1500


async def test_an_entry_cannot_become_somebody_elses(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])
    for field in ("id", "user_id", "space", "persona_id"):
        with pytest.raises(ValueError, match="cannot change"):
            await modify(text_store, [entry], lambda e: e.model_copy(update={field: "other"}))  # noqa: B023
    assert await text_store.get([entry]) == {entry.id: entry}


async def test_what_is_not_as_it_was_read_is_a_conflict_and_stays(text_store: TextStore, user: str) -> None:
    one, two, gone = [an_entry(user, text) for text in ("one", "two", "gone")]
    await store_entries(text_store, [one, two])
    (newer,) = await modify(text_store, [one], repeated)
    changes = [Change(old, old.model_copy(update={"tags": ("late",)})) for old in (one, two, gone)]
    assert await text_store.replace(changes) == {one.id, gone.id}
    assert await text_store.get([one, two, gone]) == {one.id: newer, two.id: changes[1].new}
    assert await text_store.replace([]) == set()


async def test_changes_at_the_same_time_do_not_overwrite_each_other(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])
    await asyncio.gather(*(modify(text_store, [entry], repeated) for _ in range(50)))
    stored = (await text_store.get([entry]))[entry.id]
    assert (stored.repeat_count, stored.version) == (50, 51)


async def test_a_change_that_fails_takes_no_other_with_it(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])

    def failing(_: Entry) -> Entry:
        raise ArithmeticError

    changes = [repeated, failing] * 20
    results = await asyncio.gather(*(modify(text_store, [entry], c) for c in changes), return_exceptions=True)
    assert [isinstance(result, ArithmeticError) for result in results] == [False, True] * 20
    assert (await text_store.get([entry]))[entry.id].repeat_count == 20


async def test_a_proposal_that_is_not_decided_in_time_is_stuck(empty_text_store: TextStore, user: str) -> None:
    older, newer, decided = await log_proposals(empty_text_store, user, 3)
    await store_entries(empty_text_store, [entry_of(decided)])
    far_future = NOON.replace(year=2200)
    stuck = await empty_text_store.unfinished("undecided", before=far_future, limit=10)
    assert sorted(stuck) == sorted([(user, older.id), (user, newer.id)])
    assert await empty_text_store.unfinished("undecided", before=NOON.replace(year=2020), limit=10) == []
    assert len(await empty_text_store.unfinished("undecided", before=far_future, limit=1)) == 1


@pytest.mark.parametrize(
    ("lacking", "stuck", "done"),
    [
        ("unenriched", {"enriched": False}, {"enriched": True}),
        ("unembedded", {"embedding_state": "pending"}, {"embedding_state": "ready"}),
    ],
)
async def test_entries_that_lack_something_for_long_are_stuck_the_oldest_first(
    empty_text_store: TextStore, user: str, lacking: Stuck, stuck: dict[str, Any], done: dict[str, Any]
) -> None:
    entries = [an_entry(user, updated_at=NOON + minutes(i), **stuck) for i in (2, 0, 1, 3)]
    others = [an_entry(user, **(stuck | done)), an_entry(user, status="archived", **stuck)]
    await store_entries(empty_text_store, [*entries, *others])
    found = await empty_text_store.unfinished(lacking, before=NOON + minutes(3), limit=10)
    assert found == [(user, entries[i].id) for i in (1, 2, 0)]
    await modify(empty_text_store, [entries[1]], lambda entry: entry.model_copy(update=done))
    found = await empty_text_store.unfinished(lacking, before=NOON + minutes(3), limit=1)
    assert found == [(user, entries[2].id)]


async def test_entries_are_counted_by_stage(empty_text_store: TextStore, user: str) -> None:
    await empty_text_store.append([a_turn(user), a_turn(user, persona_id="guide", space="work")], [])
    await store_entries(
        empty_text_store,
        [
            an_entry(user),
            an_entry(user, space="work", enriched=True),
            an_entry(user, enriched=True, embedding_state="ready", persona_id="guide"),
            an_entry(user, status="archived"),
            an_entry(a_user()),
        ],
    )
    counted = await empty_text_store.counts(user)
    assert (counted.turns, counted.entries, counted.unenriched, counted.unembedded) == (2, 3, 1, 2)
    everybody = await empty_text_store.counts()
    assert (everybody.turns, everybody.entries, everybody.unenriched, everybody.unembedded) == (2, 4, 2, 3)


async def test_a_closed_store_is_unavailable_and_closes_twice(
    open_text_store: Callable[[Path], Awaitable[TextStore]], tmp_path: Path
) -> None:
    store = await open_text_store(tmp_path)
    await store.close()
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.counts()
    with pytest.raises(Unavailable, match="closed"):
        await store_entries(store, [an_entry("ann")])


async def test_the_identity_of_the_embedding_is_remembered(empty_text_store: TextStore) -> None:
    assert await empty_text_store.get_embedding_identity() is None
    for identity in (EmbeddingIdentity("minilm", "all-MiniLM-L6-v2", 384), EmbeddingIdentity("http", "other", 768)):
        await empty_text_store.set_embedding_identity(identity)
        assert await empty_text_store.get_embedding_identity() == identity
    await empty_text_store.set_embedding_identity(None)
    assert await empty_text_store.get_embedding_identity() is None


async def test_another_users_name_opens_nothing(text_store: TextStore, user: str) -> None:
    (proposal,) = await log_proposals(text_store, user, 1)
    first, second = await store_entries(text_store, a_session(user, ["one", "two"]))
    other = a_user()
    taken = [Key(other, entry.id) for entry in (first, second)]
    assert await text_store.get(taken) == {}
    assert await modify(text_store, taken, repeated) == []
    assert await text_store.neighbours(taken, reach=4) == {}
    assert await outcomes_of(text_store, taken) == {}
    assert await undecided_of(text_store, [Key(other, proposal.id)]) == []
    assert await text_store.apply([Refused(Key(other, proposal.id), "not theirs")]) == []
    assert await undecided_of(text_store, [proposal]) == [proposal]


async def test_ids_are_found_by_their_beginning_and_only_the_users_own(text_store: TextStore) -> None:
    mine, other = a_user(), a_user()
    ids = [f"{uuid4().hex[:8]}-0000-5000-8000-{number:012d}" for number in range(3)]
    ids[1] = ids[0][:8] + ids[1][8:]
    theirs = ids[0][:8] + "-0000-5000-8000-999999999999"
    await store_entries(text_store, [an_entry(mine, f"statement {id_}", id=id_) for id_ in ids])
    await store_entries(text_store, [an_entry(other, id=theirs)])

    async def found(user: str, beginning: str, limit: int = 9) -> list[str]:
        return await text_store.ids_beginning(user, beginning, limit=limit)

    assert await found(mine, ids[0][:8]) == sorted(ids[:2])
    assert await found(mine, ids[0][:8], limit=1) == sorted(ids[:2])[:1]
    assert await found(mine, ids[2][:8]) == [ids[2]]
    assert await found(mine, ids[2]) == [ids[2]]
    assert await found(other, ids[0][:8]) == [theirs]
    assert await found(other, ids[2][:8]) == []
    assert await found(mine, "%_*") == []


async def test_a_removed_entry_is_found_nowhere_and_its_proposal_is_judged_again(
    text_store: TextStore, user: str
) -> None:
    first, second = await log_texts(text_store, user, "green tea", "green tea, too")
    entry, other = (entry_of(one, statement_hash=one.text, minhash_bands=("m0:a",)) for one in (first, second))
    await store_entries(text_store, [entry, other])
    assert await text_store.remove([entry]) == set()
    assert await text_store.remove([entry]) == {entry.id}
    assert list(await text_store.get([entry, other])) == [other.id]
    like_it = an_entry(user, statement_hash=entry.statement_hash, minhash_bands=entry.minhash_bands)
    assert await similar_to(text_store, like_it) == [[other]]
    hits = await text_store.search(Scope(user), "green", limit=9, filters=Filters())
    assert [hit.id for hit in hits] == [other.id]
    assert (await text_store.counts(user)).entries == 1
    await text_store.reopen([first])
    assert await undecided_of(text_store, [first]) == [first]
    again = Accepted(entry, known_similar=frozenset({other.id}))
    assert await text_store.apply([again]) == [Outcome(first.id, "stored", first.id)]
    assert (await text_store.get([entry]))[entry.id] == entry


async def test_what_was_changed_meanwhile_is_not_removed(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user)])
    (changed,) = await modify(text_store, [entry], repeated)
    assert await text_store.remove([entry, an_entry(user, id="unknown")]) == {entry.id, "unknown"}
    assert await text_store.get([entry]) == {entry.id: changed}


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
