"""Erasing a user: all of one and nothing of others, in steps, under a mark that is recorded exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import (
    Accepted,
    Decision,
    EmbeddingIdentity,
    Erasure,
    Record,
    Refused,
    TextStore,
)
from contracts.v1.turns import Proposal
from services.shared.stores import erasures
from services.shared.stores.erasures import dumped, loaded
from services.shared.stores.opensearch import privacy as on_opensearch
from services.shared.stores.sqlite import SqliteTextStore, privacy
from tests.stores.builders import (
    NOON,
    a_repeat,
    a_user,
    entry_of,
    log_proposals,
    tomorrow,
)
from tests.stores.changing import modify
from tests.stores.opensearch_openers import a_store
from tests.stores.seeing import everything_of


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
    alike = [entry_of(p, statement_hash="h", minhash_bands=("b1",)) for p in proposals]
    return await everything_of(store, user, proposals, "statement number 1", alike)


async def test_everything_of_a_user_is_erased_and_nothing_of_others(text_store: TextStore) -> None:
    gone, stays, newcomer = a_user(), a_user(), a_user()
    erased, others = await a_memory(text_store, gone), await a_memory(text_store, stays)
    before = await seen(text_store, stays, others)
    assert any((await text_store.count_remaining(gone)).values())
    await text_store.erase(gone)
    assert await seen(text_store, stays, others) == before
    assert await seen(text_store, gone, erased) == await seen(text_store, newcomer, [])
    assert set((await text_store.count_remaining(gone)).values()) == {0}


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


async def test_sweeping_changes_nothing_that_is_seen(sqlite_store: SqliteTextStore, user: str) -> None:
    proposals = await a_memory(sqlite_store, user)
    before = await seen(sqlite_store, user, proposals)
    for _ in range(2):
        assert await sqlite_store.compact()
        assert await seen(sqlite_store, user, proposals) == before


LATER = NOON + timedelta(hours=1)

MARKS = st.builds(
    Erasure,
    st.text(min_size=1),
    st.integers(0, 2**63),
    st.datetimes(timezones=st.just(NOON.tzinfo)),
    st.dictionaries(st.text(), st.integers(0, 10**9)),
    st.booleans(),
    covers=st.lists(st.datetimes(timezones=st.just(NOON.tzinfo)), max_size=2).map(tuple),
)


@given(MARKS)
def test_a_mark_is_read_as_it_was_written(mark: Erasure) -> None:
    assert loaded(dumped(mark)) == mark


async def test_a_mark_is_recorded_changed_and_removed_for_its_user_alone(text_store: TextStore) -> None:
    ann, bob = a_user(), f"{a_user()}; {'ü' * 400}"
    first = Erasure(ann, 7, NOON, {"turns": 3})
    assert await text_store.erasures([ann, bob]) == []
    assert await text_store.record_erasure(ann, None, first)
    assert await text_store.record_erasure(bob, None, other := Erasure(bob, 9, NOON))
    assert await text_store.erasures([ann]) == [first]
    assert {mark.user_id for mark in await text_store.erasures()} >= {ann, bob}
    assert await text_store.record_erasure(ann, first, second := replace(first, before=8, cleared=True))
    assert await text_store.erasures([ann]) == [second]
    assert await text_store.record_erasure(ann, second, None)
    assert await text_store.erasures([ann, bob]) == [other]
    assert ann not in {mark.user_id for mark in await text_store.erasures()}


async def test_a_mark_that_another_has_replaced_stays(text_store: TextStore, user: str) -> None:
    first = Erasure(user, 7, NOON)
    second = replace(first, before=8, requested_at=NOON + timedelta(seconds=1))
    assert await text_store.record_erasure(user, None, second)
    assert not await text_store.record_erasure(user, None, first)
    assert not await text_store.record_erasure(user, first, None)
    assert await text_store.erasures([user]) == [second]


async def test_of_many_who_mark_a_user_at_once_one_does(text_store: TextStore, user: str) -> None:
    marks = [Erasure(user, number, NOON) for number in range(8)]
    done = await asyncio.gather(*(text_store.record_erasure(user, None, mark) for mark in marks))
    assert sum(done) == 1
    assert await text_store.erasures([user]) == [marks[done.index(True)]]


async def test_what_an_erasure_removed_can_be_asked_for_when_it_is_complete(text_store: TextStore, user: str) -> None:
    earlier = NOON - timedelta(seconds=5)
    mark = Erasure(user, 7, NOON, {"turns": 3}, covers=(earlier,))
    assert await text_store.record_erasure(user, None, mark)
    assert await text_store.erased(user, NOON) is None
    assert await text_store.record_erasure(user, mark, None)
    assert await text_store.erasures([user]) == []
    assert user not in {mark.user_id for mark in await text_store.erasures()}
    for requested_at in (NOON, earlier):
        assert await text_store.erased(user, requested_at) == {"turns": 3}
    assert await text_store.erased(user, NOON + timedelta(microseconds=1)) is None
    assert await text_store.erased(a_user(), NOON) is None
    await text_store.compact()
    assert await text_store.erased(user, NOON) == {"turns": 3}


async def test_old_receipts_are_swept_from_sqlite(
    sqlite_store: SqliteTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kept() -> int:
        query = "SELECT count(*) FROM meta WHERE key LIKE 'erased:%'"
        return int(await sqlite_store.readers.run(lambda db: db.execute(query).fetchone()[0]))

    for seconds in (-1, 60):
        monkeypatch.setattr(erasures, "RECEIPT_KEPT", timedelta(seconds=seconds))
        mark = Erasure(user, 7, NOON + timedelta(seconds=seconds))
        assert await sqlite_store.record_erasure(user, None, mark)
        assert await sqlite_store.record_erasure(user, mark, None)
    assert await kept() == 2
    assert await sqlite_store.erased(user, NOON - timedelta(seconds=1)) is None  # its day is over
    await sqlite_store.compact()
    assert await kept() == 1


async def test_old_receipts_are_swept_from_opensearch_and_nothing_else(
    opensearch_url: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_store(opensearch_url) as store:
        other = Erasure(a_user(), 1, NOON)
        await store.record_erasure(other.user_id, None, other)
        await store.set_embedding_identity(identity := EmbeddingIdentity("p", "m", 4))
        for mark, days in ((Erasure(user, 7, NOON, {"turns": 3}), "old"), (Erasure(user, 8, LATER), "new")):
            monkeypatch.setattr(on_opensearch, "_days", lambda days=days: (f"{days} day", "the day before"))
            assert await store.record_erasure(user, None, mark)
            assert await store.record_erasure(user, mark, None)
        await store.compact()
        assert await store.erased(user, LATER) == {}
        monkeypatch.setattr(on_opensearch, "_days", lambda: ("old day", "the day before"))
        assert await store.erased(user, NOON) is None
        assert await store.erasures() == [other]
        assert await store.get_embedding_identity() == identity


async def test_who_erases_under_a_mark_that_is_gone_removes_nothing(text_store: TextStore, user: str) -> None:
    mark = Erasure(user, 7, NOON)
    await log_proposals(text_store, user, 3)
    await text_store.erase(user, mark=mark)
    assert (await text_store.counts(user)).turns == 3
    await text_store.record_erasure(user, None, mark)
    await text_store.erase(user, mark=mark)
    assert set((await text_store.count_remaining(user)).values()) == {0}


async def test_others_write_between_the_steps_of_an_erasure(
    sqlite_store: SqliteTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await log_proposals(sqlite_store, user, 40)
    steps, original = 0, privacy._erase_rows
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def counted(*args: Any, **named: Any) -> bool:
        nonlocal steps
        steps += 1
        loop.call_soon_threadsafe(begun.set)
        return original(*args, **named)

    monkeypatch.setattr(privacy, "_ERASED_TOGETHER", 1)
    monkeypatch.setattr(privacy, "_erase_rows", counted)
    erase = asyncio.create_task(sqlite_store.erase(user))
    await begun.wait()
    await log_proposals(sqlite_store, a_user(), 1)
    written_at = steps
    await erase
    assert written_at < steps
