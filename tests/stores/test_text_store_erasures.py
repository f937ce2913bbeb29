"""The mark of an erasure is recorded exactly, and without it nothing is removed; erasing is done in steps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import EmbeddingIdentity, Erasure, TextStore
from services.shared.stores import erasures
from services.shared.stores.erasures import dumped, loaded
from services.shared.stores.opensearch import privacy as on_opensearch
from services.shared.stores.sqlite import SqliteTextStore, privacy
from tests.stores.builders import NOON, a_user, log_proposals
from tests.stores.opensearch_openers import a_store

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
