"""A file written before statements had a table of their own: all is there, and goes on as if it were new."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.ports import Selection
from contracts.v1.entries import Entry
from services.shared.stores.sqlite import SqliteTextStore
from tests.house import Stages

WRITTEN = Path(__file__).with_name("version_3.sql")
LOCKER, SISTER = "My locker at work has the code 4007.", "My sister lives in Lisbon"


@pytest.fixture
async def former(path: Path) -> AsyncIterator[SqliteTextStore]:
    """The store of such a file, opened with today's code."""
    with sqlite3.connect(path) as db:
        db.executescript(WRITTEN.read_text())
    db.close()
    store = await SqliteTextStore.open(path)
    yield store
    await store.close()


async def entries_of(store: SqliteTextStore, user: str) -> dict[str, Entry]:
    page = await store.page(Selection(user), limit=9, cursor=None)
    return {entry.text: entry for entry in page.entries}


def stages(store: SqliteTextStore) -> Stages:
    """The stages, whose turns are the hundredth and later."""
    made = Stages(store)
    made.numbers = iter(range(100, 200))
    return made


async def test_all_of_it_is_there(former: SqliteTextStore) -> None:
    found = await entries_of(former, "ann")
    assert len(found) == 3
    assert found[LOCKER].repeat_count == 1
    assert found[SISTER].pinned
    assert list(await entries_of(former, "bob")) == ["I prefer uv over pip"]
    counts = await former.counts("ann")
    assert (counts.turns, counts.entries, counts.merged, counts.inactive) == (5, 3, 1, 1)


async def test_it_is_found_by_its_words(former: SqliteTextStore) -> None:
    await stages(former).ask("which code does my locker have?")


async def test_what_it_holds_is_repeated_and_not_stored_again(former: SqliteTextStore) -> None:
    long = next(text for text in await entries_of(former, "ann") if len(text) > 100)
    saying = stages(former)
    for text in (LOCKER.upper(), f"Oh, {SISTER} ...", long.replace("responsible", "responsibel")):
        await saying.say(text)
    found = await entries_of(former, "ann")
    assert sorted(entry.repeat_count for entry in found.values()) == [1, 1, 2]
    assert (await former.counts("ann")).merged == 4


async def test_what_differs_is_stored(former: SqliteTextStore) -> None:
    await stages(former).say(LOCKER.replace("4007", "4014"))
    assert len(await entries_of(former, "ann")) == 4


async def test_what_was_forgotten_is_refused(former: SqliteTextStore) -> None:
    await stages(former).say("The password of the old router is heron")
    assert len(await entries_of(former, "ann")) == 3
    assert (await former.counts("ann")).refused == 1


async def test_erasing_leaves_nothing_of_one_and_all_of_others(former: SqliteTextStore) -> None:
    await former.erase("ann")
    assert await entries_of(former, "ann") == {}
    assert list(await entries_of(former, "bob")) == ["I prefer uv over pip"]
