"""What is kept in memory, of sessions and of entries read lately, is what the file says, whoever wrote to it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope
from contracts.v1.entries import Entry
from contracts.v1.turns import EVERY_PERSONA
from services.shared.stores.sqlite import SqliteTextStore, changelog, postings, privacy, recent, search, sessions
from services.shared.stores.sqlite.connection import connect
from services.shared.stores.sqlite.keys import visible_scopes
from services.shared.stores.sqlite.known_terms import KnownTerms
from services.shared.stores.sqlite.postings import BLOCK, Layout, Postings
from services.shared.stores.sqlite.search import windows_of
from services.shared.stores.sqlite.sessions import Order, Sessions
from services.shared.stores.sqlite.terms import LENGTH
from tests.sizes import sized
from tests.stores.builders import NOON, a_session, a_user, an_entry, forget, minutes, store_entries
from tests.stores.changing import modify

REACH = 3
TERMS = ["green", "tea", "black", "rain", "snow", LENGTH]
PERSONAS = (None, "guide", EVERY_PERSONA)

Stores = tuple[SqliteTextStore, SqliteTextStore]
Windows = dict[str, list[str]]


@pytest.fixture
async def both(path: Path) -> AsyncIterator[Stores]:
    """Two processes on one file, as far as a store can tell."""
    one, other = [await SqliteTextStore.open(path, synchronous="normal") for _ in range(2)]
    yield one, other
    await other.close()
    await one.close()


def occurrences(found: Mapping[str, Postings]) -> dict[str, dict[int, int]]:
    """By term, how often it occurs at which places."""
    return {term: dict(zip(where.places.tolist(), where.counts.tolist(), strict=True)) for term, where in found.items()}


async def kept_and_read(store: SqliteTextStore, scope: Scope) -> tuple[Windows, Windows]:
    """What is said around each entry that a scope sees: as it is kept, and as it is read from the file."""

    def look(db: sqlite3.Connection) -> tuple[Windows, Windows]:
        layout = Layout(visible_scopes(db, scope))
        rows = db.execute("SELECT doc, id, created_at, status FROM entries").fetchall()
        rows = [row for row in rows if row[0] >> 32 in layout.starts]
        if not rows:
            return {}, {}
        names = {row[0]: row[1] for row in rows}
        active = [row for row in rows if row[3] == "active"]
        docs = [row[0] for row in active]
        places = layout.places(np.array(docs, np.int64))
        held, order = store.sessions.of(db, layout)
        written = postings.read_blocks(db, layout, TERMS, range(layout.size // BLOCK))
        assert occurrences(held.postings(db, layout, order, TERMS)) == occurrences(written)
        assert sorted(np.flatnonzero(order.active).tolist()) == sorted(places.tolist())
        ids, times = held.named(db, layout, places)
        assert list(zip(ids, times.tolist(), strict=True)) == [row[1:3] for row in active]
        windows = order.windows(places, REACH)
        kept = np.where(windows >= 0, layout.docs(np.maximum(windows, 0)), -1).tolist()
        found = windows_of(db, docs, visible=list(layout.starts), reach=REACH)
        read = {doc: [*before.split(",")[::-1], str(doc), *after.split(",")] for doc, before, after in found}
        return (
            {names[row[REACH]]: [names[doc] for doc in row if doc >= 0] for row in kept},
            {names[doc]: [names[int(near)] for near in window if near] for doc, window in read.items()},
        )

    return await store.readers.run(look)


async def assert_kept_as_written(stores: Sequence[SqliteTextStore], user: str) -> None:
    for store in stores:
        for persona in PERSONAS:
            kept, read = await kept_and_read(store, Scope(user, persona_id=persona))
            assert kept == read


PLACES = {
    "session_id": st.sampled_from(["s1", "s2", None]),
    "created_at": st.integers(0, 2).map(lambda minute: NOON + minutes(minute)),
    "status": st.sampled_from(["active", "active", "archived"]),
    "text": st.sampled_from(["green tea", "tea, tea, black tea", "rain"]),
}
STEPS = st.tuples(
    st.booleans(),
    st.sampled_from(["store", "store", "change", "change", "remove", "forget", "erase"]),
    st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True),
    st.fixed_dictionaries({}, optional=PLACES),
)


async def carry_out(store: SqliteTextStore, entries: Sequence[Entry], what: str, update: dict[str, Any]) -> None:
    stored = await store.get(entries)
    if what == "store":
        await store_entries(store, [e.model_copy(update=update) for e in entries if e.id not in stored])
    elif what == "change":
        await modify(store, entries, lambda entry: entry.model_copy(update=update))
    elif what == "remove":
        await store.remove(list(stored.values()))
    elif what == "forget" and stored:
        await forget(store, next(iter(stored.values())))
    elif what == "erase":
        await store.erase(entries[0].user_id)


@settings(max_examples=sized(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(few=st.sampled_from([0, 64]), kept=st.sampled_from([2, 500]), steps=st.lists(STEPS, max_size=10))
async def test_what_is_kept_is_what_the_file_says(
    both: Stores,
    few: int,
    kept: int,
    steps: list[tuple[bool, str, list[int], dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_FEW", few)
    whole = changelog._BETWEEN
    monkeypatch.setattr(changelog, "_BETWEEN", f"{whole} AND change > (SELECT max(change) FROM changes) - {kept}")
    user = a_user()
    entries = [
        an_entry(user, f"green tea {n}", id=f"{user}-{n}", session_id="s1", persona_id="guide" if n % 3 == 0 else None)
        for n in range(8)
    ]
    await store_entries(both[0], entries[:5])
    await assert_kept_as_written(both, user)
    for there, what, numbers, update in steps:
        await carry_out(both[there], [entries[n] for n in numbers], what, update)
        await assert_kept_as_written(both, user)
    asked = Scope(user, persona_id="guide"), "green tea 3"
    hits = [await store.search(*asked, limit=9, filters=Filters(), reach=2) for store in both]
    for store in both:
        store.sessions.drop()
        hits.append(await store.search(*asked, limit=9, filters=Filters(), reach=2))
    assert all(found == hits[0] for found in hits)


async def many(store: SqliteTextStore, user: str) -> list[Entry]:
    """Entries of several sessions side by side, some without one, in two parts of a space."""
    entries = [
        an_entry(
            user,
            id=f"{user}-{n}",
            session_id=None if n % 7 == 0 else f"s{n % 5}",
            persona_id="guide" if n % 4 == 0 else None,
            created_at=NOON + minutes(n * 37 % 300 // 2),
        )
        for n in range(300)
    ]
    return await store_entries(store, entries)


async def test_terms_in_many_blocks_are_read_anew_where_something_changed(
    both: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, size = a_user(), BLOCK + 20
    entries = [
        an_entry(user, "green tea", id=f"{user}-{n}", persona_id="guide" if n < size else None) for n in range(2 * size)
    ]
    await store_entries(both[0], entries)
    await assert_kept_as_written(both, user)
    monkeypatch.setattr(postings, "read", None)
    for some in (entries[10:14], entries[size : size + 3], entries[-2:]):
        await modify(both[1], some, lambda entry: entry.model_copy(update={"text": "rain, black rain"}))
        await store_entries(both[1], [an_entry(user, "black tea")])
        await assert_kept_as_written(both, user)


async def test_a_reader_of_an_older_state_finds_the_terms_of_then(both: Stores, path: Path, user: str) -> None:
    def look(db: sqlite3.Connection) -> tuple[Layout, Sessions, Order]:
        layout = Layout(visible_scopes(db, Scope(user)))
        return layout, *both[0].sessions.of(db, layout)

    entries = await store_entries(both[0], [an_entry(user, "green tea"), an_entry(user, "black tea")])
    older = connect(path, synchronous="normal")
    older.execute("BEGIN")
    layout, held, order = look(older)
    then = occurrences(held.postings(older, layout, order, TERMS))
    await modify(both[1], entries, lambda entry: entry.model_copy(update={"text": "rain"}))
    await assert_kept_as_written(both, user)
    assert occurrences(held.postings(older, layout, order, TERMS)) == then
    assert then.keys() == {"green", "tea", "black", LENGTH}
    older.close()
    await assert_kept_as_written(both, user)


async def test_terms_that_were_erased_alone_are_not_kept(both: Stores, user: str) -> None:
    await store_entries(both[0], [an_entry(user, "green tea")])
    await assert_kept_as_written(both, user)

    def erase(db: sqlite3.Connection) -> bool:
        keys = db.execute("SELECT scope, block, term FROM postings").fetchall()
        return privacy._erase_rows(db, "postings", keys, user, None)

    assert await both[1].writer.run(erase)
    assert [await store.search(Scope(user), "tea", limit=9, filters=Filters()) for store in both] == [[], []]


async def test_the_terms_asked_last_are_kept_within_a_bound(sqlite_store: SqliteTextStore, user: str) -> None:
    await store_entries(sqlite_store, [an_entry(user, f"green tea w{n % 3}") for n in range(30)])
    known = KnownTerms()

    def sizes(db: sqlite3.Connection, terms: list[str]) -> list[int]:
        layout = Layout(visible_scopes(db, Scope(user)))
        return [known.read(db, layout, [term], 25)[term].places.size for term in terms]

    assert await sqlite_store.readers.run(partial(sizes, terms=["w0", "w1", "w0", "w2"])) == [10, 10, 10, 10]
    assert known.size == 20
    assert await sqlite_store.readers.run(partial(sizes, terms=["tea", "w1"])) == [30, 10]
    assert known.size == 10


async def test_neighbours_of_many_are_those_of_each(both: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    user = a_user()
    entries = await many(both[0], user)
    await modify(both[1], entries[20:40], lambda entry: entry.model_copy(update={"status": "archived"}))
    at_once = await both[0].neighbours(entries, reach=2)
    monkeypatch.setattr(search, "_FEW", 1000)
    assert at_once == await both[0].neighbours(entries, reach=2)
    assert len(at_once) == 300


async def test_only_the_scopes_asked_last_are_kept(
    sqlite_store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [a_user() for _ in range(4)]
    for user in users:
        await store_entries(sqlite_store, a_session(user, ["green tea", "black tea"]))
    monkeypatch.setattr(sessions, "_MOST", 2 * 1024 + 200)
    for _ in range(2):
        for user in users:
            hits = await sqlite_store.search(Scope(user), "green", limit=9, filters=Filters(), reach=1)
            assert [list(hit.neighbours) for hit in hits] == [[1], [-1]]
    assert len(sqlite_store.sessions._held) == 2
    assert sqlite_store.sessions._weight <= sessions._MOST
    await sqlite_store.erase(users[0])
    assert not sqlite_store.sessions._held


async def read(store: SqliteTextStore, *entries: Entry) -> list[Entry]:
    return list((await store.get(entries)).values())


async def test_an_entry_that_another_process_changed_forgot_erased_or_brought_again_is_read_anew(both: Stores) -> None:
    here, there = both
    user = a_user()
    entry, other = await store_entries(here, [an_entry(user, "I like tea"), an_entry(user, "I like rain")])
    assert await read(here, entry, other) == await read(here, entry, other) == [entry, other]
    await modify(there, [entry], lambda found: found.model_copy(update={"tags": ("tools",)}))
    assert [found.tags for found in await read(here, entry)] == [("tools",)]
    await forget(there, entry)
    assert [(found.status, found.text) for found in await read(here, entry)] == [("forgotten", "")]
    await there.erase(user)
    assert await read(here, entry, other) == []
    again = other.model_copy(update={"text": "I like coffee", "updated_at": other.updated_at.replace(microsecond=7)})
    await store_entries(there, [again])
    assert await read(here, other) == [again]


async def test_an_entry_is_read_only_by_its_user_and_in_the_order_asked(sqlite_store: SqliteTextStore) -> None:
    user = a_user()
    first, second = await store_entries(sqlite_store, [an_entry(user, "I like tea"), an_entry(user, "I like rain")])
    for _ in range(2):
        assert await read(sqlite_store, second, first) == [second, first]
        assert await read(sqlite_store, first.model_copy(update={"user_id": "somebody"}), second) == [second]


async def test_few_are_kept_and_none_of_whoever_is_erased_here(
    sqlite_store: SqliteTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_MOST", 2)
    user = a_user()
    entries = await store_entries(sqlite_store, [an_entry(user, f"I like tea {number}") for number in range(5)])
    assert await read(sqlite_store, *entries) == entries
    assert len(sqlite_store.recent._held) == 2
    await sqlite_store.erase(user)
    assert not sqlite_store.recent._held


async def test_a_change_is_told_by_the_log_as_far_as_it_reaches_back(
    both: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = both
    user = a_user()
    changed, kept, *others = await store_entries(here, [an_entry(user, f"I like tea {n}") for n in range(52)])
    for rounds, held in ((1, True), (changelog.KEPT // 50 + 1, False)):
        before, _ = await read(here, changed, kept)
        await modify(there, [changed], lambda found: found.model_copy(update={"asked": found.asked + 1}))
        for _ in range(rounds):
            await modify(there, others, lambda found: found.model_copy(update={"asked": found.asked + 1}))
        with monkeypatch.context() as patch:
            if held:
                patch.setattr(recent, "_BODIES", f"{recent._BODIES} WHERE entries.id <> '{kept.id}'")
            (after, same) = await read(here, changed, kept)
        assert (after.asked, same) == (before.asked + 1, kept)


async def test_a_reader_of_an_older_state_sees_entries_as_they_were_then(both: Stores, path: Path) -> None:
    here, there = both
    user = a_user()
    first, second, third = await store_entries(here, [an_entry(user, f"I like tea {n}") for n in range(3)])
    await read(here, second)
    await modify(there, [third], lambda found: found.model_copy(update={"tags": ("tools",)}))
    older = connect(path, synchronous="normal")
    older.execute("BEGIN")
    assert older.execute("SELECT count(*) FROM entries").fetchone() == (3,)
    await modify(there, [first], lambda found: found.model_copy(update={"tags": ("tools",)}))
    for _ in range(2):
        assert [found.tags for found in await read(here, first)] == [("tools",)]
        assert here.recent.read(older, [first.id, second.id]) == {first.id: first, second.id: second}
        assert here.recent._held[first.id].entry.tags == ("tools",)
    older.close()
