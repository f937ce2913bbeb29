"""What older versions have written, in a file and in indices: all is there, and goes on as if it were new.

`version_3.sql` is a file written before statements had a table of their own. `opensearch_version_5.jsonl` is what
memorybus at schema 5 (commit bf4d987), when statements were called claims, had written: each index as it was made, then
its documents. Both hold six turns: t2 repeats t1, t3 is pinned, t4 is long, t5 was forgotten; t6 is bob's.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import EmbeddingIdentity, Selection, TextStore
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import Address, Layout, OpenSearchTextStore, UnusableIndexes, migrate, schema
from services.shared.stores.opensearch.transport import Client
from services.shared.stores.sqlite import SqliteTextStore
from tests.house import Stages
from tests.stores.opensearch_openers import RARELY, a_prefix, open_at

FOLDER = Path(__file__).parent
LOCKER, SISTER, ROUTER = (
    "My locker at work has the code 4007.",
    "My sister lives in Lisbon",
    "The password of the old router is heron",
)


@pytest.fixture
async def indices(opensearch_url: str) -> AsyncIterator[Client]:
    """Such indices."""
    with a_prefix(opensearch_url) as prefix:
        client = Client(Address((opensearch_url,)), prefix=prefix)
        for line in (FOLDER / "opensearch_version_5.jsonl").read_text().splitlines():
            await write(client, json.loads(line))
        yield client
        await client.close()


async def write(client: Client, line: dict[str, Any]) -> None:
    """Make an index under its alias, or store a document."""
    if "index" in line:
        alias = f"{client.prefix}-{line['index']}"
        body = line["body"] | {"aliases": {alias: {"is_write_index": True}}}
        await client.request("PUT", f"/{alias}-000001", body=body)
    else:
        path, params = f"/{client.prefix}-{line['kind']}/_doc/{line['id']}", {"routing": line["routing"]}
        await client.request("PUT", path, body=line["source"], params=params)


@pytest.fixture
async def migrated(indices: Client, opensearch_url: str) -> AsyncIterator[OpenSearchTextStore]:
    """The store that the indices are after a migration."""
    await migrate.migrate(indices, Layout(refresh_seconds=RARELY))
    store = await open_at(opensearch_url, indices.prefix)
    yield store
    await store.close()


@pytest.fixture
async def opened(path: Path) -> AsyncIterator[SqliteTextStore]:
    """The store of such a file, opened with today's code."""
    with sqlite3.connect(path) as db:
        db.executescript((FOLDER / "version_3.sql").read_text())
    db.close()
    store = await SqliteTextStore.open(path)
    yield store
    await store.close()


@pytest.fixture(params=["opened", "migrated"])
def former(request: pytest.FixtureRequest) -> TextStore:
    store: TextStore = request.getfixturevalue(request.param)
    return store


async def entries_of(store: TextStore, user: str) -> dict[str, Entry]:
    page = await store.page(Selection(user), limit=9, cursor=None)
    return {entry.text: entry for entry in page.entries}


async def test_all_of_it_is_there_found_repeated_or_refused_and_erased(former: TextStore) -> None:
    before = await entries_of(former, "ann")
    assert len(before) == 3
    assert before[LOCKER].repeat_count == 1
    assert before[SISTER].pinned
    assert list(await entries_of(former, "bob")) == ["I prefer uv over pip"]
    counts = await former.counts("ann")
    assert (counts.turns, counts.entries, counts.merged, counts.inactive) == (5, 3, 1, 1)

    stages = Stages(former, numbers=iter(range(100, 200)))  # turns of other numbers
    await stages.ask("which code does my locker have?")
    long = next(text for text in before if len(text) > 100)
    for text in (LOCKER.upper(), f"Oh, {SISTER} ...", long.replace("responsible", "responsibel")):
        await stages.say(text)
    assert sorted(entry.repeat_count for entry in (await entries_of(former, "ann")).values()) == [1, 1, 2]
    assert (await former.counts("ann")).merged == 4
    await stages.say(LOCKER.replace("4007", "4014"))
    await stages.say(ROUTER)
    assert len(await entries_of(former, "ann")) == 4
    assert (await former.counts("ann")).refused == 1

    await former.erase("ann")
    assert await entries_of(former, "ann") == {}
    assert set((await former.count_remaining("ann")).values()) == {0}
    assert list(await entries_of(former, "bob")) == ["I prefer uv over pip"]


async def test_indices_are_not_opened_before_they_are_migrated(indices: Client, opensearch_url: str) -> None:
    with pytest.raises(UnusableIndexes, match="memorybus migrate"):
        await open_at(opensearch_url, indices.prefix)


async def test_erasing_takes_it_out_of_the_replaced_indices_too_and_they_are_dropped_when_asked_for(
    migrated: OpenSearchTextStore,
) -> None:
    client = migrated.client
    assert await migrated.get_embedding_identity() == EmbeddingIdentity("local", "tiny", 8)
    await migrated.erase("ann")
    left = await client.request("POST", f"/{client.prefix}-claims-000001/_count")
    assert left["count"] == 1  # bob's
    assert f"{client.prefix}-claims-000001" in await schema.replaced(client)
    await migrate.migrate(client, Layout(refresh_seconds=RARELY), drop_old=True)
    assert await schema.replaced(client) == []
    assert set(await client.request("GET", f"/{client.prefix}-*")) == {
        f"{client.prefix}-{kind}-{'000001' if kind == 'records' else '000002'}"  # there were no records
        for kind in schema.KINDS
    }
