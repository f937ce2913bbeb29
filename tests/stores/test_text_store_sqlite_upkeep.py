"""What upkeep means in the embedded store's tables: no row is left behind, and nobody reaches another's."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import pytest

from contracts.ports import Accepted, Merged, Record, Refused
from services.shared.stores.sqlite import SqliteTextStore, privacy
from tests.stores.builders import (
    a_proposal,
    a_repeat,
    a_turn,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    log_texts,
    store_entries,
    tomorrow,
    undecided_of,
)


@pytest.fixture
def store(sqlite_store: SqliteTextStore) -> SqliteTextStore:
    return sqlite_store


async def rows(store: SqliteTextStore) -> dict[str, int]:
    """How many rows each table has."""

    def count(db: sqlite3.Connection) -> dict[str, int]:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}

    return await store.readers.run(count)


async def test_an_erased_user_leaves_no_row_in_any_table(store: SqliteTextStore, user: str) -> None:
    first, second, third, fourth = await log_texts(store, user, "green tea", "Green tea!", "red wine", "rain")
    entries = [entry_of(p, statement_hash=p.text, minhash_bands=("a", "b"), speaker="Anna") for p in (first, fourth)]
    await store.apply([*(Accepted(e) for e in entries), a_repeat(second, first.id), Refused(third, "no")])
    await store.forget([fourth], until=tomorrow())
    await store.put_record(Record(user, "theme", "tea", {}, datetime.now(UTC)), held=None)
    before = await rows(store)
    assert min(before.values()) > 0
    await store.erase(user)
    assert {table: count for table, count in (await rows(store)).items() if count} == {"meta": before["meta"]}


async def test_a_proposal_whose_entry_was_lost_is_judged_again(store: SqliteTextStore, user: str) -> None:
    lost, kept = await log_texts(store, user, "green tea", "red wine")
    await store.apply([Accepted(entry_of(lost)), Accepted(entry_of(kept))])
    await store.writer.run(lambda db: db.execute("DELETE FROM entries WHERE id = ?", (lost.id,)))
    await store.reopen([lost, kept])
    assert await undecided_of(store, [lost, kept]) == [lost]


async def test_an_entry_that_bears_the_id_of_anothers_proposal_does_not_reach_it(
    store: SqliteTextStore, user: str
) -> None:
    turn, thief = a_turn(user, "green tea"), a_user()
    first, second = a_proposal(turn), a_proposal(turn, ordinal=1, text="a fact")
    await store.append([turn], [first, second])
    await store.apply([Accepted(entry_of(first)), a_repeat(second, first.id)])
    before = await store.export_log(user, after=None, limit=9)
    (stolen,) = await store_entries(store, [an_entry(thief, "mine", id=second.id)])
    (forgotten,) = await store.forget([stolen], until=None)
    assert forgotten.turn_ids == ()
    assert await store.export_log(user, after=None, limit=9) == before


async def test_forgetting_again_reaches_turns_that_were_brought_in_later(store: SqliteTextStore, user: str) -> None:
    first, second = await log_texts(store, user, "green tea", "Green tea!")
    await store.apply([Accepted(entry_of(first))])
    (once,) = await store.forget([first], until=None)
    await store.apply([Merged(second, first.id, None)])  # as an import does
    (again,) = await store.forget([first], until=None)
    assert again.tombstone == once.tombstone
    assert again.turn_ids == (first.turn.turn_id, second.turn.turn_id)
    assert {record.turn.text for record in await store.export_log(user, after=None, limit=9)} == {"[forgotten]"}


@pytest.mark.parametrize("before", privacy.TABLES)
async def test_what_is_added_between_two_steps_goes_with_the_next_round(
    store: SqliteTextStore, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = a_user(), a_user()
    at = privacy.TABLES.index(before)
    await log_proposals(store, gone, 3)
    monkeypatch.setattr(privacy, "TABLES", privacy.TABLES[:at])
    await store.erase(gone)
    first, *_ = await log_proposals(store, gone, 3)
    await store.apply([Accepted(entry_of(first))])
    monkeypatch.undo()
    monkeypatch.setattr(privacy, "TABLES", privacy.TABLES[at:])
    await store.erase(gone)
    monkeypatch.undo()

    theirs = await log_proposals(store, other, 3)  # takes the numbers that are free now
    assert {record.turn.user_id for record in await store.export_log(other, after=None, limit=9)} == {other}
    await store.erase(gone)
    assert not any((await store.count_remaining(gone)).values())
    assert await undecided_of(store, theirs) == theirs
    assert (await store.counts()).undecided == 3
