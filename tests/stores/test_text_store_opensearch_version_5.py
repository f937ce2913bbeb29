"""Indices written when statements were called claims: after `memorybus migrate` all is there, and goes on as if new.

`opensearch_version_5.jsonl` is what memorybus at schema 5 (commit bf4d987) had written of six turns: each index as it
was made, then its documents. t2 repeats t1, t3 is pinned, t4 is long, t5 was forgotten; t6 is bob's.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import EmbeddingIdentity, Selection
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import Address, Layout, OpenSearchTextStore, UnusableIndexes, migrate, schema
from services.shared.stores.opensearch.transport import Client
from tests.house import Stages
from tests.stores.opensearch_openers import RARELY, a_prefix, open_at

WRITTEN = Path(__file__).with_name("opensearch_version_5.jsonl")
LOCKER, SISTER, ROUTER = (
    "My locker at work has the code 4007.",
    "My sister lives in Lisbon",
    "The password of the old router is heron",
)


@pytest.fixture
async def former(opensearch_url: str) -> AsyncIterator[Client]:
    """Such indices."""
    with a_prefix(opensearch_url) as prefix:
        client = Client(Address((opensearch_url,)), prefix=prefix)
        for line in WRITTEN.read_text().splitlines():
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
async def store(former: Client, opensearch_url: str) -> AsyncIterator[OpenSearchTextStore]:
    """The store that they are after a migration."""
    await migrate.migrate(former, Layout(refresh_seconds=RARELY))
    opened = await open_at(opensearch_url, former.prefix)
    yield opened
    await opened.close()


async def entries_of(store: OpenSearchTextStore, user: str) -> dict[str, Entry]:
    page = await store.page(Selection(user), limit=9, cursor=None)
    return {entry.text: entry for entry in page.entries}


def stages(store: OpenSearchTextStore) -> Stages:
    """The stages, whose turns are the hundredth and later."""
    return Stages(store, numbers=iter(range(100, 200)))


async def test_they_are_not_opened_before(former: Client, opensearch_url: str) -> None:
    with pytest.raises(UnusableIndexes, match="memorybus migrate"):
        await open_at(opensearch_url, former.prefix)


async def test_all_of_it_is_there(store: OpenSearchTextStore) -> None:
    found = await entries_of(store, "ann")
    assert len(found) == 3
    assert found[LOCKER].repeat_count == 1
    assert found[SISTER].pinned
    assert list(await entries_of(store, "bob")) == ["I prefer uv over pip"]
    counts = await store.counts("ann")
    assert (counts.turns, counts.entries, counts.merged, counts.inactive) == (5, 3, 1, 1)
    assert await store.get_embedding_identity() == EmbeddingIdentity("local", "tiny", 8)
    await stages(store).ask("which code does my locker have?")


async def test_what_it_holds_is_repeated_and_not_stored_again(store: OpenSearchTextStore) -> None:
    long = next(text for text in await entries_of(store, "ann") if len(text) > 100)
    saying = stages(store)
    for text in (LOCKER.upper(), f"Oh, {SISTER} ...", long.replace("responsible", "responsibel")):
        await saying.say(text)
    found = await entries_of(store, "ann")
    assert sorted(entry.repeat_count for entry in found.values()) == [1, 1, 2]
    assert (await store.counts("ann")).merged == 4


async def test_what_differs_is_stored_and_what_was_forgotten_is_refused(store: OpenSearchTextStore) -> None:
    saying = stages(store)
    await saying.say(LOCKER.replace("4007", "4014"))
    await saying.say(ROUTER)
    assert len(await entries_of(store, "ann")) == 4
    assert (await store.counts("ann")).refused == 1


async def test_erasing_takes_it_out_of_the_replaced_indices_too(store: OpenSearchTextStore) -> None:
    await store.erase("ann")
    assert await entries_of(store, "ann") == {}
    assert await store.count_remaining("ann") == {"turns": 0, "entries": 0, "statements": 0, "records": 0}
    left = await store.client.request("POST", f"/{store.client.prefix}-claims-000001/_count")
    assert left["count"] == 1  # bob's


async def test_what_was_replaced_is_dropped_when_asked_for(store: OpenSearchTextStore) -> None:
    client = store.client
    assert f"{client.prefix}-claims-000001" in await schema.replaced(client)
    await migrate.migrate(client, Layout(refresh_seconds=RARELY), drop_old=True)
    assert await schema.replaced(client) == []
    assert set(await client.request("GET", f"/{client.prefix}-*")) == {
        f"{client.prefix}-{kind}-{'000001' if kind == 'records' else '000002'}"  # there were no records
        for kind in schema.KINDS
    }
