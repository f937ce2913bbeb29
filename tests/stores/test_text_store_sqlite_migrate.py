"""Files of older versions: opened, they hold what they held, and can do what newer ones can."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contracts.ports import Accepted, Filters, Key, Merged, Refused, Scope, Selection
from services.shared.stores import words
from services.shared.stores.sqlite import SqliteTextStore, schema
from tests.stores.builders import (
    NOON,
    a_user,
    an_entry,
    entry_of,
    log_texts,
    minutes,
    similar_to,
    store_entries,
    tomorrow,
)
from tests.stores.changing import modify

Schema = set[tuple[str, str]]

_WITHOUT_CHANGES = """
DROP TABLE changes;
DROP TRIGGER scope_made;
DROP TRIGGER entry_changed;
DROP TRIGGER entry_moved;
DROP TRIGGER entry_deleted;
ALTER TABLE scopes DROP COLUMN changed;
ALTER TABLE scopes DROP COLUMN moved;
"""

_BACK_TO_FIRST = f"""
{_WITHOUT_CHANGES}
DROP TABLE records;
DROP INDEX postings_by_term;
DROP TABLE statements;
DROP TABLE digests;
DROP INDEX proposals_merged;
DROP INDEX entries_ageing;
DROP TABLE entry_conversations;
DROP INDEX entries_said;
CREATE INDEX entries_said ON entries (scope, status, created_at);
ALTER TABLE entries DROP COLUMN last_said_at;
ALTER TABLE entries DROP COLUMN held;
ALTER TABLE scopes DROP COLUMN inactive;
PRAGMA user_version = 1;
"""

_BACK_TO_13 = """
UPDATE entries SET held = 0;
DROP INDEX entries_ageing;
CREATE INDEX entries_ageing ON entries (last_said_at) WHERE status IN ('active', 'superseded') AND held = 0;
PRAGMA user_version = 13;
"""


def schema_of(path: Path) -> Schema:
    with sqlite3.connect(path) as db:
        found = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    db.close()
    return {(name, " ".join(sql.split())) for name, sql in found}


async def fresh(path: Path) -> Schema:
    await (await SqliteTextStore.open(path)).close()
    return schema_of(path)


def take_back(path: Path, script: str = _BACK_TO_FIRST) -> None:
    """Make of a file one of an older version."""
    with sqlite3.connect(path) as db:
        db.executescript(script)
    db.close()


async def test_a_file_of_the_first_version_can_do_everything(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteTextStore.open(path)
    first, second, third = await log_texts(store, user, "green tea", "Green tea!", "red wine")
    said = entry_of(first, statement_hash="h")
    await store.apply([Accepted(said), Merged(second, first.id, None), Refused(third, "no")])
    moments = [NOON + minutes(i) for i in range(4)]
    old = [an_entry(user, persona_id="guide", created_at=moment) for moment in moments]
    old[0] = old[0].model_copy(update={"pinned": True})
    old[1] = old[1].model_copy(update={"manually_saved": True})
    await store_entries(store, old)
    await modify(store, old[2:3], lambda entry: entry.model_copy(update={"status": "superseded"}))
    await store_entries(store, [an_entry(a_user())])
    before, of_user = await store.counts(), await store.counts(user)
    aged = await store.expired(before=NOON + minutes(9), limit=9)
    selections = [Selection(user), Selection(user, conversation_id="c1"), Selection(user, conversation_id="c2")]
    listed = [await store.page(selection, limit=9, cursor=None) for selection in selections]
    assert [page.total for page in listed] == [4, 1, 0]
    hits = await store.search(Scope(user), "tea", limit=9, filters=Filters(conversation_id="c1"))
    await store.close()
    newest = schema_of(path)

    take_back(path)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        assert schema_of(path) == await fresh(path.with_name("first"))

    again = await SqliteTextStore.open(path)
    try:
        assert (await again.counts(), await again.counts(user)) == (before, of_user)
        assert of_user.inactive == 1
        asked = [said, an_entry(user, statement_hash="h"), an_entry(user)]
        alike = [[entry.id for entry in found] for found in await similar_to(again, *asked)]
        assert alike == [[first.id], [first.id], []]
        assert await again.expired(before=NOON + minutes(9), limit=9) == aged
        assert len(aged) == 4
        pages = [await again.page(selection, limit=9, cursor=None) for selection in selections]
        assert pages == listed
        assert await again.search(Scope(user), "tea", limit=9, filters=Filters(conversation_id="c1")) == hits
        assert len(hits) == 1
        (forgotten,) = await again.forget([first], until=tomorrow())
        assert set(forgotten.turn_ids) == {first.turn.turn_id, second.turn.turn_id}
        assert await again.search(Scope(user), "green tea", limit=9, filters=Filters()) == []
        assert await again.compact()
        assert (await again.counts(user)).inactive == 2
    finally:
        await again.close()
    assert schema_of(path) == newest == await fresh(path.with_name("fresh"))


async def test_a_note_of_an_older_version_is_swept(path: Path, user: str) -> None:
    store = await SqliteTextStore.open(path)
    (entry,) = await store_entries(store, [an_entry(user, "zanzibarium")])
    await store.forget([entry], until=None)
    await store.writer.run(lambda db: db.execute("UPDATE meta SET value = 'true' WHERE key = 'old_words'"))
    assert await store.compact()
    assert b"zanzibarium" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
    await store.close()


async def test_a_migration_that_breaks_off_leaves_the_file_as_it_was(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteTextStore.open(path)
    await store_entries(store, [an_entry(user)])
    await store.close()
    take_back(path)
    before = schema_of(path)
    broken = (schema.MIGRATIONS[0], (*schema.MIGRATIONS[1], "CREATE TABLE meta (already INTEGER)"))
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", broken)
        with pytest.raises(sqlite3.OperationalError, match="already exists"):
            await SqliteTextStore.open(path)
    assert schema_of(path) == before
    again = await SqliteTextStore.open(path)
    assert (await again.counts(user)).entries == 1
    await again.close()


async def test_words_of_an_older_version_are_those_of_this_one_then(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries were stored under other terms, and some of their tags later than their text."""
    texts = ["Meine Häuser sind alt", "我喜欢茶", "I like my bikes", "gone"]
    entries = [an_entry(user, text, tags=("Räder",)) for text in texts]
    with monkeypatch.context() as patch:
        patch.setattr(words, "analyze", lambda text: text.lower().replace("bikes", "bike").split())
        store = await SqliteTextStore.open(path)
        await store_entries(store, entries)
        await modify(store, entries[3:], lambda entry: entry.model_copy(update={"status": "superseded"}))
        await store.close()
    take_back(path, f"{_WITHOUT_CHANGES} DROP TABLE records; PRAGMA user_version = 6;")
    again = await SqliteTextStore.open(path)
    fresh = await SqliteTextStore.open(path.with_name("fresh"))
    await store_entries(fresh, entries)
    await modify(fresh, entries[3:], lambda entry: entry.model_copy(update={"status": "superseded"}))
    query = "SELECT term, sum(length(codes)) FROM postings GROUP BY term UNION ALL SELECT 'words', words FROM scopes"
    held = [await store.readers.run(lambda db: db.execute(query).fetchall()) for store in (again, fresh)]
    assert held[0] == held[1]
    for query, found in (("Haus", entries[0]), ("喜欢", entries[1]), ("bike", entries[2])):
        assert (await again.search(Scope(user), query, limit=1, filters=Filters()))[0].id == found.id
    await again.close()
    await fresh.close()


async def test_what_was_stored_under_other_words_is_found_once_a_file_is_renewed(
    path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {
        asked: an_entry(user, text) for text, asked in (("José wohnt in Łódź", "jose"), ("ฉันเลี้ยงแมวสองตัว", "แมว"))
    }
    with monkeypatch.context() as patch:
        patch.setattr(words, "analyze", lambda text: text.lower().split())
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:12])
        store = await SqliteTextStore.open(path)
        await store_entries(store, list(entries.values()))
        await store.close()
    again = await SqliteTextStore.open(path)
    for asked, entry in entries.items():
        (found,) = (await again.page(Selection(user, words=asked), limit=1, cursor=None)).entries
        assert found.id == entry.id
    await again.close()


async def test_what_was_archived_before_it_aged_grows_too_old_unless_it_stands_behind_a_roll_up(
    path: Path, user: str
) -> None:
    store = await SqliteTextStore.open(path)
    archived, original = await store_entries(store, [an_entry(user), an_entry(user)])
    await modify(store, [archived, original], lambda entry: entry.model_copy(update={"status": "archived"}))
    await modify(store, [original], lambda entry: entry.model_copy(update={"rolled_up_into": "r"}))
    await store.close()
    take_back(path, _BACK_TO_13)
    again = await SqliteTextStore.open(path)
    assert await again.expired(before=NOON + minutes(9), limit=9) == [Key(user, archived.id)]
    await again.close()
