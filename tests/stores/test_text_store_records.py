"""Records about users: set by comparing, listed in order, of one user alone, expired in steps, gone with their user."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import Unavailable
from contracts.ports import Erasure, Record, RecordKey, RecordKind, TextStore
from services.shared.stores.sqlite import SqliteTextStore, user_records
from tests.stores.builders import NOON, a_user, minutes
from tests.stores.sqlite_secrets import found


def a_record(user: str, name: str = "work", kind: RecordKind = "settings", after: float = 0, **body: Any) -> Record:
    return Record(user, kind, name, body, NOON + minutes(after))


async def put(store: TextStore, *records: Record) -> list[Record]:
    assert all([await store.put_record(record, held=None) for record in records])
    return list(records)


async def test_a_record_is_put_where_what_is_held_is_there(text_store: TextStore, user: str) -> None:
    first = a_record(user, enabled=True, tags=["ü", None, 1.5])
    assert not await text_store.put_record(first, held=1)
    assert await text_store.put_record(first, held=None)
    assert await text_store.records(user, "settings", ["work"]) == [first]
    changed = replace(first, body={"enabled": False}, at=NOON + minutes(1))
    assert not await text_store.put_record(changed, held=None)
    assert not await text_store.put_record(changed, held=2)
    assert await text_store.records(user, "settings", ["work"]) == [first]
    assert await text_store.put_record(changed, held=1)
    assert await text_store.records(user, "settings", ["work"]) == [replace(changed, version=2)]


async def test_of_many_who_change_a_record_at_once_each_change_counts(text_store: TextStore, user: str) -> None:
    await put(text_store, a_record(user, count=0))

    async def count_one_more() -> None:
        while True:
            (held,) = await text_store.records(user, "settings", ["work"])
            new = replace(held, body={"count": held.body["count"] + 1})
            if await text_store.put_record(new, held=held.version):
                return

    await asyncio.gather(*(count_one_more() for _ in range(8)))
    (end,) = await text_store.records(user, "settings", ["work"])
    assert (end.body, end.version) == ({"count": 8}, 9)


async def test_records_are_listed_by_name_and_only_those_of_their_user_and_kind(text_store: TextStore) -> None:
    ann, bob = a_user(), f"{a_user()}; {'ü' * 400}"
    names = ["*", "a", "b" * 512, "ü", "漢"]
    records = await put(text_store, *(a_record(ann, name) for name in names))
    theirs = await put(text_store, a_record(ann, "a", "theme"), a_record(bob, "a"))
    assert await text_store.records(ann, "settings") == records
    assert await text_store.records(ann, "settings", ["漢", "a", "unknown", "a"]) == [records[1], records[4]]
    assert await text_store.records(ann, "settings", []) == []
    assert await text_store.records(ann, "theme") == theirs[:1]
    assert await text_store.records(bob, "settings") == theirs[1:]
    assert await text_store.records(bob, "settings", names) == theirs[1:]


async def test_records_of_any_users_are_got_at_once(text_store: TextStore) -> None:
    ann, bob = a_user(), f'{a_user()}"ü'
    records = await put(text_store, a_record(ann), a_record(ann, "*"), a_record(bob, "漢"), a_record(bob, "x", "theme"))
    unknown = [RecordKey(bob, "settings", "x"), RecordKey(ann, "settings", "漢"), RecordKey(ann, "incognito", "work")]
    asked = [*unknown, *(record.key for record in records)]
    assert await text_store.get_records(asked) == {record.key: record for record in records}
    assert await text_store.get_records([]) == {}


async def test_what_is_added_twice_stays_as_it_was(text_store: TextStore, user: str) -> None:
    first, second = a_record(user, "1", "action", verb="pin"), a_record(user, "2", "action", verb="erase")
    await text_store.add_records([first])
    await text_store.add_records([replace(first, body={"verb": "forget"}), second])
    await text_store.add_records([])
    assert await text_store.records(user, "action") == [first, second]


async def test_records_are_removed_by_name_or_all(text_store: TextStore, user: str) -> None:
    records = await put(text_store, *(a_record(user, name) for name in "abc"))
    (theme,) = await put(text_store, a_record(user, "a", "theme"))
    (other,) = await put(text_store, a_record(a_user(), "a"))
    assert await text_store.remove_records(user, "settings", ["a", "unknown"]) == 1
    assert await text_store.records(user, "settings") == records[1:]
    assert await text_store.remove_records(user, "settings", []) == 0
    assert await text_store.remove_records(user, "settings") == 2
    assert await text_store.records(user, "settings") == []
    assert await text_store.records(user, "theme") == [theme]
    assert await text_store.records(other.user_id, "settings") == [other]
    await put(text_store, records[0])


async def test_pages_bring_every_record_once_the_newest_first(empty_text_store: TextStore) -> None:
    ann, bob = sorted((a_user(), a_user()))
    records = [a_record(user, f"{n:02d}", "action", after=n // 3) for n in range(7) for user in (ann, bob)]
    await empty_text_store.add_records([*records, a_record(ann, "x"), a_record(ann, "y", "theme")])
    newest_first = sorted(records, key=lambda one: (one.at, one.user_id, one.name), reverse=True)
    for user in (ann, bob, None):
        wanted = [one for one in newest_first if user in (one.user_id, None)]
        page = await empty_text_store.page_records("action", user_id=user, limit=3, cursor=None)
        got = list(page.records)
        while page.cursor is not None:
            assert len(page.records) == 3
            page = await empty_text_store.page_records("action", user_id=user, limit=3, cursor=page.cursor)
            got += page.records
        assert got == wanted
    assert (await empty_text_store.page_records("incognito", user_id=ann, limit=3, cursor=None)).records == ()


async def test_a_name_cursor_or_limit_that_cannot_be_is_refused(text_store: TextStore, user: str) -> None:
    for name in ("", "b" * 513):
        with pytest.raises(ValueError, match="1 to 512 characters"):
            a_record(user, name)
    for cursor in ("nonsense", "WzEsICJ4Il0"):
        with pytest.raises(ValueError, match="not a cursor of this list"):
            await text_store.page_records("action", user_id=user, limit=3, cursor=cursor)
    with pytest.raises(ValueError, match="at least 1 record"):
        await text_store.page_records("action", user_id=user, limit=0, cursor=None)


async def test_old_records_of_a_kind_expire(empty_text_store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_records, "_EXPIRED_TOGETHER", 2)
    ann, bob = a_user(), a_user()
    records = [a_record(user, str(n), "action", after=n) for n in range(5) for user in (ann, bob)]
    await empty_text_store.add_records([*records, a_record(ann, "theme", "theme")])
    assert await empty_text_store.expire_records("action", before=NOON + minutes(3)) == 6
    assert [one.name for one in await empty_text_store.records(ann, "action")] == ["3", "4"]
    assert len(await empty_text_store.records(ann, "theme")) == 1
    assert await empty_text_store.expire_records("action", before=NOON + minutes(3)) == 0


async def test_nothing_is_stored_of_who_is_about_to_be_erased(text_store: TextStore) -> None:
    ann, bob = a_user(), a_user()
    mark = Erasure(ann, 7, NOON)
    assert await text_store.record_erasure(ann, None, mark)
    with pytest.raises(Unavailable, match="being erased"):
        await text_store.put_record(a_record(ann), held=None)
    await text_store.add_records([a_record(ann, "1", "action"), a_record(bob, "1", "action")])
    assert (await text_store.count_remaining(ann))["records"] == 0
    assert (await text_store.count_remaining(bob))["records"] == 1
    assert await text_store.record_erasure(ann, mark, replace(mark, cleared=True))
    await put(text_store, a_record(ann))


async def test_a_theme_that_was_removed_or_whose_user_was_erased_is_in_no_byte(
    sqlite_store: SqliteTextStore, path: Path
) -> None:
    """Of many, so that rows move from page to page and leave copies behind."""
    ann, bob = a_user(), a_user()
    said = [f"wanderlust{n:03d}end" for n in range(400)]
    themes = [a_record((ann, bob)[n % 2], word[::-1], "theme", said=word) for n, word in enumerate(said)]
    for record in themes:
        await sqlite_store.add_records([record])
    for record in themes[::3]:
        grown = replace(record, body={"said": record.body["said"], "more": "x" * 300})
        assert await sqlite_store.put_record(grown, held=1)
    gone = themes[::4]
    assert await sqlite_store.remove_records(ann, "theme", [one.name for one in gone]) == 100
    assert await sqlite_store.compact()
    assert [found(path, one.body["said"]) for one in gone] == [0] * 100
    await sqlite_store.erase(bob)
    assert await sqlite_store.compact()
    kept = {one.name for one in await sqlite_store.records(ann, "theme")}
    assert len(kept) == 100
    assert {one.name for one in themes if found(path, one.body["said"])} == kept
