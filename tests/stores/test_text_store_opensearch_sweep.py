"""What was forgotten or erased on OpenSearch: in no file in the end, in no old index, not carried into new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from contracts.ports import Accepted, Refused, Unavailable
from services.shared.stores.opensearch import Layout, OpenSearchTextStore, migrate, privacy
from services.shared.stores.opensearch.schema import KINDS, SCHEMA, Index, replaced
from services.shared.stores.opensearch.transport import Client
from tests.flow.raw import contents
from tests.polling import eventually
from tests.stores.builders import (
    a_repeat,
    a_user,
    an_entry,
    entry_of,
    log_proposals,
    log_texts,
    store_entries,
    suppressed,
    tomorrow,
    yesterday,
)
from tests.stores.opensearch_openers import RARELY, a_store
from tests.stores.seeing import everything_of

LET_GO = 50.0
"""Seconds: OpenSearch keeps removed documents for half a minute."""

NEXT = Layout(refresh_seconds=RARELY, schema=SCHEMA + 1)


@pytest.fixture
async def store(opensearch_url: str) -> AsyncIterator[OpenSearchTextStore]:
    async with a_store(opensearch_url) as opened:
        yield opened


async def folders(client: Client) -> list[Path]:
    """Where the node keeps the indices of this store."""
    answer = await client.request("GET", "/_nodes/stats/fs")
    places = [Path(disk["path"]) for node in answer["nodes"].values() for disk in node["fs"]["data"]]
    settings = await client.request("GET", f"/{client.prefix}-*/_settings")
    names = [described["settings"]["index"]["uuid"] for described in settings.values()]
    found = [place / "indices" / name for place in places for name in names if (place / "indices" / name).is_dir()]
    if len(found) < len(KINDS):
        pytest.skip("the files of OpenSearch are not on this machine, or may not be read")
    return found


def files_with(word: str, within: list[Path]) -> int:
    """In how many files a word is found, searched raw."""
    return sum(word.encode() in data for folder in within for _, data in contents(folder))


@pytest.mark.timeout(120)
async def test_after_sweeping_no_file_has_what_was_forgotten_refused_or_erased(store: OpenSearchTextStore) -> None:
    """Be it ever so little of all that there is."""
    ann, ben, kept = a_user(), a_user(), f"kept{uuid4().hex}"
    gone = [f"marker{uuid4().hex}" for _ in range(4)]
    forgotten, merged, refused, *stay = await log_texts(store, ann, *gone[:3], *[kept] * 80)
    (erased,) = await log_texts(store, ben, gone[3])
    await store.apply([Accepted(entry_of(p, tags=(p.text,))) for p in (forgotten, *stay, erased)])
    await store.apply([a_repeat(merged, forgotten.id)])
    within = await folders(store.client)
    assert all(files_with(word, within) for word in (*gone, kept))
    await store.apply([Refused(refused, "no")])
    await store.forget([forgotten], until=tomorrow())
    await store.erase(ben)
    before = await everything_of(store, ann, [forgotten, *stay], kept)
    await eventually(store.compact, bool, within=LET_GO)
    assert [files_with(word, within) for word in gone] == [0] * 4
    assert await everything_of(store, ann, [forgotten, *stay], kept) == before
    assert files_with(kept, within)
    assert await store.compact()


async def test_a_merge_that_takes_long_is_not_waited_for(
    store: OpenSearchTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = await store_entries(store, [an_entry(user)])
    await store.forget([entry], until=None)
    request = store.client.request

    async def slow(method: str, path: str, **options: object) -> object:
        if "_forcemerge" in path:
            raise Unavailable("OpenSearch did not answer in time")
        return await request(method, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store.client, "request", slow)
    assert not await store.compact()


async def test_hashes_whose_time_is_over_are_dropped(store: OpenSearchTextStore, user: str) -> None:
    entries = await store_entries(store, [an_entry(user, exact_hash=f"e{i}") for i in range(3)])
    await store.forget(entries[:2], until=yesterday())
    await store.forget(entries[2:], until=tomorrow())
    assert (await store.count_remaining(user))["statements"] == 3
    await store.compact()
    assert (await store.count_remaining(user))["statements"] == 1
    assert await suppressed(store, [an_entry(user, exact_hash="e2")])


async def test_indices_that_a_migration_left_are_erased_from_and_not_called_clean(
    store: OpenSearchTextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, merged = await log_proposals(store, user, 2)
    await store.apply([Accepted(entry_of(stored, statement_hash="h")), a_repeat(merged, stored.id)])
    before = await store.count_remaining(user)
    await migrate.migrate(store.client, NEXT)
    assert await store.count_remaining(user) == {place: 2 * count for place, count in before.items()}
    assert len(await replaced(store.client)) == len(KINDS)
    await store.erase(user)
    assert set((await store.count_remaining(user)).values()) == {0}
    monkeypatch.setattr(privacy, "removed", nothing)
    assert not await store.compact()
    await migrate.migrate(store.client, NEXT, drop_old=True)
    assert await store.compact()


async def nothing(*_: object) -> int:
    return 0


async def test_what_is_removed_waits_for_a_migration_and_is_not_in_the_new_index(
    store: OpenSearchTextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = a_user(), a_user()
    for user in (ann, ben):
        proposals = await log_proposals(store, user, 4)
        await store.apply([Accepted(entry_of(p, statement_hash=p.id)) for p in proposals[:3]])
        await store.apply([Refused(proposals[3], "no")])
    before, copy, tried = await store.count_remaining(ben), migrate._copy, []

    async def copied(*args: Any) -> None:
        """A user is erased, and something of another one forgotten, after everything was copied."""
        await copy(*args)
        (kind,) = [its.kind for its in args if isinstance(its, Index)]
        if kind == "turns":
            tried.append(await refused(store.erase(ann)))
        if kind == "entries":
            tried.append(await refused(store.forget(await store.export_entries(ben, after=None, limit=1), until=None)))

    monkeypatch.setattr(migrate, "_copy", copied)
    await migrate.migrate(store.client, NEXT, drop_old=True)
    assert tried == [True, True]
    await store.erase(ann)
    assert set((await store.count_remaining(ann)).values()) == {0}
    await store.forget(await store.export_entries(ben, after=None, limit=1), until=None)
    assert await store.count_remaining(ben) == before


async def refused(removal: Awaitable[object]) -> bool:
    """Whether something cannot be removed now because a migration is under way."""
    try:
        await removal
    except Unavailable as error:
        return "a migration is under way" in str(error)
    return False
