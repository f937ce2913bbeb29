"""Moving to another layout: everything arrives, what is written meanwhile too, and searches are answered throughout."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from contracts.ports import Accepted, Filters, Scope, Selection, Unavailable
from contracts.v1.turns import Proposal
from services.cli.migrate import migrate as migrate_command
from services.shared.stores import words
from services.shared.stores.opensearch import Address, Layout, OpenSearchTextStore, UnusableIndexes, migrate
from services.shared.stores.opensearch.documents import entry_document
from services.shared.stores.opensearch.schema import PROPERTIES, SCHEMA, current
from services.shared.stores.opensearch.transport import Client, Write
from tests.stores.builders import (
    a_proposal,
    a_repeat,
    a_turn,
    an_entry,
    entry_of,
    log_proposals,
    repeated,
    store_entries,
    tomorrow,
    undecided_of,
)
from tests.stores.changing import modify
from tests.stores.opensearch_openers import RARELY, a_prefix, a_store, open_at


def next_layout() -> Layout:
    """The layout of a version to come: text is analysed otherwise, and entries have a field more."""
    properties: Any = copy.deepcopy(dict(PROPERTIES))
    properties["entries"]["text"]["analyzer"] = "standard"
    properties["entries"]["language"] = {"type": "keyword"}
    return Layout(shards=2, refresh_seconds=RARELY, schema=SCHEMA + 1, properties=properties)


@pytest.fixture
async def store(opensearch_url: str) -> AsyncIterator[OpenSearchTextStore]:
    async with a_store(opensearch_url) as opened:
        yield opened


async def remembered(store: OpenSearchTextStore, user: str) -> list[Proposal]:
    """One statement stored, one merged into it, one left open."""
    stored, merged, left = proposals = await log_proposals(store, user, 3)
    await store.apply([Accepted(entry_of(stored)), a_repeat(merged, stored.id)])
    assert await undecided_of(store, proposals) == [left]
    return proposals


async def names(client: Client) -> dict[str, str]:
    return {kind: index.name for kind, index in (await current(client)).items()}


async def test_everything_is_there_after_a_migration(store: OpenSearchTextStore, user: str) -> None:
    proposals = await remembered(store, user)
    await store_entries(store, [an_entry(user, f"tea number {i}", tags=("red",)) for i in range(700)])
    before = await store.page(Selection(user), limit=1000, cursor=None)
    counted, hits = await store.counts(), await store.search(Scope(user), "tea", limit=900, filters=Filters())
    await migrate.migrate(store.client, next_layout())
    assert await store.page(Selection(user), limit=1000, cursor=None) == before
    assert await store.counts() == counted
    assert await store.search(Scope(user), "tea", limit=900, filters=Filters()) == hits
    assert [proposal.id for proposal in await undecided_of(store, proposals)] == [proposals[2].id]
    (settled,) = await store.apply([a_repeat(proposals[2], proposals[0].id)])
    assert settled.kind == "merged"
    assert (await store.get(proposals))[proposals[0].id].repeat_count == 2
    mapped = await store.client.request("GET", f"/{store.client.alias('entries')}/_mapping")
    assert [m["mappings"]["properties"]["text"]["analyzer"] for m in mapped.values()] == ["standard"]


def first_layout() -> Layout:
    """The layout before anything could be forgotten, when what became of a proposal stood among the entries, too."""
    properties: Any = copy.deepcopy(dict(PROPERTIES))
    properties["turns"]["entry_id"] = {"type": "keyword", "index": False, "doc_values": False}
    properties["entries"] |= {"owner": {"type": "keyword"}, "entry_id": {"type": "keyword"}}
    del properties["statements"]["until"]
    return Layout(refresh_seconds=RARELY, schema=1, properties=properties)


async def test_what_was_merged_before_the_first_migration_is_forgotten_after_it(opensearch_url: str, user: str) -> None:
    with a_prefix(opensearch_url) as prefix:
        address = Address((opensearch_url,))
        old = await OpenSearchTextStore.open(address, prefix=prefix, layout=first_layout(), reads="fresh")
        stored, merged, open_ = await remembered(old, user)
        marker = {"owner": user, "user_id": "", "status": "merged", "entry_id": stored.id}
        await old.client.bulk([Write("create", "entries", user, merged.id, marker)])
        await migrate.migrate(old.client, Layout(refresh_seconds=RARELY))
        await old.close()
        store = await open_at(opensearch_url, prefix)
        (forgotten,) = await store.forget([stored], until=tomorrow())
        assert forgotten.turn_ids == (stored.turn.turn_id, merged.turn.turn_id)
        assert len(await store.export_log(user, after=None, limit=9)) == 3
        assert await store.client.mget("entries", [(merged.id, user)]) == [None]
        assert [its.kind for its in await store.apply([Accepted(entry_of(open_))])] == ["stored"]
        await store.close()


def test_an_entry_of_a_former_layout_is_filtered_by_when_and_where_it_was_said_after_a_migration(user: str) -> None:
    document = entry_document(an_entry(user, "tea", conversation_id="c1"), seq=1)
    former = {name: value for name, value in document.items() if name not in ("last_said_at", "conversations")}
    former["scope"] = document["scope"][0]
    assert migrate.made_anew("entries", former) == document
    assert document["conversations"] == ["c1"]


async def test_what_was_stored_under_other_words_is_found_after_a_migration(
    opensearch_url: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {asked: an_entry(user, text) for text, asked in (("psychology", "psychological"), ("ฉันเลี้ยงแมวสองตัว", "แมว"))}
    with a_prefix(opensearch_url) as prefix:
        former = Layout(refresh_seconds=RARELY, schema=SCHEMA - 1)
        old = await OpenSearchTextStore.open(Address((opensearch_url,)), prefix=prefix, layout=former, reads="fresh")
        with monkeypatch.context() as patch:
            patch.setattr(words, "analyze", lambda text: text.lower().split())
            await store_entries(old, list(said.values()))
        assert [(await old.page(Selection(user, words=asked), limit=9, cursor=None)).total for asked in said] == [0, 0]
        await migrate.migrate(old.client, Layout(refresh_seconds=RARELY))
        await old.close()
        store = await open_at(opensearch_url, prefix)
        pages = [await store.page(Selection(user, words=asked), limit=9, cursor=None) for asked in said]
        assert [[entry.id for entry in page.entries] for page in pages] == [[entry.id] for entry in said.values()]
        await store.close()


async def test_searches_are_answered_and_writes_arrive_throughout(
    store: OpenSearchTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "_PAGE", 20)  # many rounds, so that much happens meanwhile
    await store_entries(store, [an_entry(user, f"tea number {i}") for i in range(400)])
    moved, written, searches = asyncio.Event(), 0, 0

    async def write() -> None:
        nonlocal written
        while not moved.is_set() or written < 5:
            turn = a_turn(user, "more tea", turn_id=f"later {written}")
            await done(lambda: store.append([turn], [a_proposal(turn)]))  # noqa: B023
            await done(lambda: store.apply([Accepted(entry_of(a_proposal(turn)))]))  # noqa: B023
            await done(lambda: modify(store, [a_proposal(turn)], repeated))  # noqa: B023
            written += 1

    async def done(call: Callable[[], Awaitable[object]]) -> None:
        """A write that is refused for now comes again, as turns on the bus do."""
        while True:
            with suppress(Unavailable):
                await call()
                return

    async def search() -> None:
        nonlocal searches
        while not moved.is_set():
            assert len(await store.search(Scope(user), "tea number 7", limit=5, filters=Filters())) == 5
            searches += 1

    working = asyncio.gather(write(), search())
    await migrate.migrate(store.client, next_layout())
    moved.set()
    await working
    later = [a_proposal(a_turn(user, "more tea", turn_id=f"later {i}")) for i in range(written)]
    entries = await store.get(later)
    assert (await store.counts(user)).entries == 400 + written
    assert [entry.repeat_count for entry in entries.values()] == [1] * written
    assert written > 3
    assert searches > 3


async def test_a_migration_is_planned_done_once_and_cleaned_up(store: OpenSearchTextStore, user: str) -> None:
    await remembered(store, user)
    client, prefix = store.client, store.client.prefix
    planned = await migrate.plan(client, next_layout())
    assert [(step.kind, step.target) for step in planned] == [(k, f"{prefix}-{k}-000002") for k in PROPERTIES]
    assert set((await names(client)).values()) == {f"{prefix}-{kind}-000001" for kind in PROPERTIES}
    await migrate.migrate(client, next_layout())
    assert set((await names(client)).values()) == {f"{prefix}-{kind}-000002" for kind in PROPERTIES}
    again = await migrate.migrate(client, next_layout())
    assert [(step.target, step.old) for step in again] == [(None, (f"{prefix}-{k}-000001",)) for k in PROPERTIES]
    await migrate.migrate(client, next_layout(), drop_old=True)
    assert set(await client.request("GET", f"/{prefix}-*")) == {f"{prefix}-{kind}-000002" for kind in PROPERTIES}


async def test_versions_meet_their_own_layout_only(store: OpenSearchTextStore, opensearch_url: str) -> None:
    address, prefix = Address((opensearch_url,)), store.client.prefix
    with pytest.raises(UnusableIndexes, match="memorybus migrate"):
        await OpenSearchTextStore.open(address, prefix=prefix, layout=next_layout())
    await migrate.migrate(store.client, next_layout())
    await (await OpenSearchTextStore.open(address, prefix=prefix, layout=next_layout())).close()
    with pytest.raises(UnusableIndexes, match="newer version"):
        await open_at(opensearch_url, prefix)
    with pytest.raises(UnusableIndexes, match="newer version"):
        await migrate.plan(store.client, Layout())


class Interrupted(Exception):
    """The migration dies."""


CASES = [(9, False), (12, True), (19, True), (40, False)]
"""After how many requests it dies, from the first copies to the moved alias, and whether it can clean up."""


@pytest.mark.parametrize(("last", "kill"), CASES)
async def test_a_migration_that_was_broken_off_goes_on(
    store: OpenSearchTextStore, user: str, monkeypatch: pytest.MonkeyPatch, last: int, *, kill: bool
) -> None:
    """However far it came; when it only fails, nobody is kept from writing afterwards."""
    await remembered(store, user)
    counted, client, left = await store.counts(), store.client, last
    request = client.request

    async def limited(method: str, path: str, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0 and (kill or "_settings" not in path):
            raise Interrupted
        return await request(method, path, **options)

    monkeypatch.setattr(client, "request", limited)
    with pytest.raises(Interrupted):
        await migrate.migrate(client, next_layout())
    monkeypatch.undo()
    if not kill:
        await store_entries(store, [an_entry(user, status="archived")])
        counted = replace(counted, inactive=1)
    await migrate.migrate(client, next_layout())
    assert await store.counts() == counted
    await store_entries(store, [an_entry(user)])
    assert (await store.counts()).entries == counted.entries + 1


async def test_what_is_not_complete_is_not_moved_to(
    store: OpenSearchTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remembered(store, user)

    async def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(migrate, "_copy", nothing)
    with pytest.raises(Unavailable, match="run `memorybus migrate` again"):
        await migrate.migrate(store.client, next_layout())
    assert (await names(store.client))["turns"].endswith("000001")
    await store_entries(store, [an_entry(user)])


async def test_the_command_shows_the_plan_and_carries_it_out(
    store: OpenSearchTextStore, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_OPENSEARCH_PREFIX", store.client.prefix)
    monkeypatch.setenv("MEMORYBUS_OPENSEARCH_SHARDS", "2")
    app = typer.Typer()
    app.command()(migrate_command)

    async def run(*options: str) -> str:
        arguments = ["--opensearch-url", opensearch_url, *options]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments, env={"COLUMNS": "200"})
        assert result.exit_code == 0, result.output
        return result.output

    assert "entries: copy 0 documents" in await run("--plan")
    assert "the indices are up to date" in await run()
    assert "--drop-old would remove" in await run("--plan")
    await run("--drop-old")
    assert "remove" not in await run("--plan")
