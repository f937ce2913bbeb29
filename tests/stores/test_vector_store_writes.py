"""What every vector store promises of storing, changing and removing, whichever engine is behind it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope, Unavailable, Vector, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from tests.stores.vector_builders import (
    DIMENSIONS,
    LONG_AGO,
    Opener,
    a_point,
    cosines_of,
    found,
    ids,
    newer,
    towards,
    vectors_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_removing_twice_or_the_unknown_is_no_error(store: VectorStore, scope: Scope) -> None:
    kept, gone = a_point(scope, towards(1)), a_point(scope, towards(1))
    await store.upsert([kept, gone])
    await store.remove([gone.entry.id])
    await store.remove([gone.entry.id, str(uuid4()), "no uuid at all"])
    assert await found(store, scope) == [kept.entry.id]
    assert await store.count(scope.user_id) == 1


async def test_the_same_version_may_replace_its_vector(store: VectorStore, scope: Scope) -> None:
    point = a_point(scope, towards(0, 1), version=4)
    await store.upsert([point])
    await store.upsert([newer(point, towards(1))])
    assert await cosines_of(store, scope, ids([point]), towards(1)) == pytest.approx({point.entry.id: 1}, abs=2e-3)


async def test_what_was_fetched_before_a_change_is_fetched_as_it_is_after(store: VectorStore, scope: Scope) -> None:
    turned, moved, removed, kept = points = [a_point(scope, towards(1), persona_id=None) for _ in range(4)]
    await store.upsert(points)
    assert set(await vectors_of(store, scope, ids(points))) == set(ids(points))
    await store.upsert([newer(turned, towards(0, 1))])
    await store.refresh([moved.entry.model_copy(update={"persona_id": "somebody else", "version": 2})])
    await store.remove(ids([removed]))
    vectors = await vectors_of(store, scope, ids(points))
    assert set(vectors) == set(ids([turned, kept]))
    assert vectors[turned.entry.id][1] == pytest.approx(1, abs=2e-3)
    await store.erase(scope.user_id)
    assert await vectors_of(store, scope, ids(points)) == {}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=6),
        min_size=1,
        max_size=8,
    )
)
async def test_the_highest_version_wins_in_whatever_order_and_batches(
    store: VectorStore, steps: list[list[tuple[int, int]]]
) -> None:
    """Each step is a batch of (which entry, version); an empty one removes the first entry."""
    scope = Scope(f"user-{uuid4()}")
    points = [a_point(scope, towards(1)) for _ in range(4)]
    expected: dict[str, int] = {}
    for step in steps:
        await store.upsert([newer(points[which], towards(1, version), version=version) for which, version in step])
        for which, version in step:
            expected[ids(points)[which]] = max(version, expected.get(ids(points)[which], 0))
        if not step:
            await store.remove(ids(points)[:1])
            expected.pop(ids(points)[0], None)
    stored = await vectors_of(store, scope, ids(points))
    assert {key: round(float(vector[1] / vector[0])) for key, vector in stored.items()} == expected
    assert await store.count(scope.user_id) == len(expected)


@pytest.mark.parametrize(
    ("fields", "vector"),
    [
        ({"id": "not-a-uuid"}, towards(1)),
        ({"id": str(uuid4()).upper()}, towards(1)),
        ({}, towards(1)[:-1]),
        ({}, np.full(DIMENSIONS, np.nan, dtype=np.float32)),
    ],
    ids=["no uuid", "no canonical uuid", "too short", "not a number"],
)
async def test_a_bad_point_is_refused_and_its_batch_leaves_no_trace(
    store: VectorStore, scope: Scope, fields: dict[str, Any], vector: Vector
) -> None:
    good = a_point(scope, towards(1))
    with pytest.raises(ValueError, match=r"UUID|shape|finite"):
        await store.upsert([good, a_point(scope, vector, **fields)])
    assert await found(store, scope) == []
    await store.upsert([good])
    assert await found(store, scope) == [good.entry.id]


async def test_a_bad_question_is_refused(store: VectorStore, scope: Scope) -> None:
    with pytest.raises(ValueError, match="shape"):
        await store.search(scope, towards(1)[:-1], limit=1, filters=Filters())
    with pytest.raises(ValueError, match="finite"):
        await store.search(scope, np.full(DIMENSIONS, np.inf, dtype=np.float32), limit=1, filters=Filters())


async def test_concurrent_writes_and_searches_all_come_through(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, i)) for i in range(200)]
    batches = [points[i : i + 10] for i in range(0, 200, 10)]
    await asyncio.gather(*(store.upsert(batch) for batch in batches), *(found(store, scope) for _ in range(20)))
    assert set(await found(store, scope, limit=500)) == set(ids(points))


async def test_a_closed_store_is_unavailable_and_closes_twice(opener: Opener, tmp_path: Path, scope: Scope) -> None:
    store = await opener(tmp_path)
    await store.ping()
    await store.close()
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.ping()
    with pytest.raises(Unavailable, match="closed"):
        await found(store, scope)


def changed(point: VectorPoint, **fields: Any) -> Entry:
    return point.entry.model_copy(update={"version": point.entry.version + 1, **fields})


async def test_a_point_is_filtered_by_what_its_entry_is_now_and_keeps_its_vector(
    store: VectorStore, scope: Scope
) -> None:
    points = [a_point(scope, towards(1, i), tags=("old",)) for i in range(3)]
    await store.upsert(points)
    before = await store.fetch(scope, ids(points))
    entries = [changed(point, tags=("new",), last_said_at=LONG_AGO + timedelta(days=300)) for point in points[:2]]
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
