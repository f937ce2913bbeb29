"""What vector stores promise of entries that changed and kept their text: filtered anew, not embedded anew."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from contracts.ports import Filters, Scope, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from tests.stores.vector_builders import LONG_AGO, a_point, found, ids, newer, towards

pytestmark = pytest.mark.asyncio(loop_scope="module")

LATER = LONG_AGO + timedelta(days=300)


def changed(point: VectorPoint, **fields: Any) -> Entry:
    return point.entry.model_copy(update={"version": point.entry.version + 1, **fields})


async def test_a_point_is_filtered_by_what_its_entry_is_now_and_keeps_its_vector(
    store: VectorStore, scope: Scope
) -> None:
    points = [a_point(scope, towards(1, i), tags=("old",)) for i in range(3)]
    await store.upsert(points)
    before = await store.fetch(scope, ids(points))
    entries = [changed(point, tags=("new",), last_said_at=LATER) for point in points[:2]]
    assert await store.refresh(entries) == set()
    assert await store.lacking(entries) == set()
    assert set(await found(store, scope, Filters(tags=("new",)))) == set(ids(points)[:2])
    assert await found(store, scope, Filters(tags=("old",))) == ids(points)[2:]
    after = await store.fetch(scope, ids(points))
    assert len(after) == 3
    assert all((after[id_].vector == before[id_].vector).all() for id_ in ids(points))


async def test_an_entry_without_a_point_is_named_and_gets_none(store: VectorStore, scope: Scope) -> None:
    point, strange = a_point(scope, towards(1)), a_point(scope, towards(1), id="no uuid")
    removed = a_point(scope, towards(1))
    await store.upsert([point, removed])
    await store.remove(ids([removed]))
    unknown = a_point(scope, towards(1), id=str(uuid4()))
    asked = [changed(each) for each in (point, removed, unknown, strange)]
    assert await store.refresh(asked) == set(ids([removed, unknown, strange]))
    assert await store.count(scope.user_id) == 1
    assert await store.refresh([]) == set()


async def test_what_is_older_than_a_point_does_not_take_it_back(store: VectorStore, scope: Scope) -> None:
    point = a_point(scope, towards(1), tags=("new",), version=5)
    await store.upsert([point])
    older, newest = changed(point, version=4, tags=("old",)), changed(point, version=7, tags=("newest",))
    assert await store.refresh([older]) == set()
    assert await found(store, scope, Filters(tags=("new",))) == ids([point])
    assert await store.refresh([newest, older]) == set()
    assert await found(store, scope, Filters(tags=("newest",))) == ids([point])
    await store.upsert([newer(point, towards(0, 1), version=6)])
    assert await found(store, scope, Filters(tags=("newest",))) == ids([point])
