"""What every vector store promises of keeping itself in order, whichever engine is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Key, Scope, VectorPoint, VectorStore
from contracts.v1.entries import Saying
from tests.stores.vector_builders import LONG_AGO, Opener, a_point, cosines_of, found, ids, newer, towards, vectors_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def all_keys(store: VectorStore, page: int, after: str = "") -> list[Key]:
    keys: list[Key] = []
    while chunk := await store.scan(after=keys[-1].id if keys else after, limit=page):
        assert len(chunk) <= page
        keys += chunk
    return keys


def keys_of(points: Sequence[VectorPoint]) -> list[Key]:
    """In the order of ids."""
    return sorted((Key(point.entry.user_id, point.entry.id) for point in points), key=lambda key: key.id)


async def test_points_of_all_users_come_in_the_order_of_ids_page_by_page(opener: Opener, tmp_path_factory: Any) -> None:
    store = await opener(tmp_path_factory.mktemp("order"))
    ends = [a_point(Scope("end"), towards(1), id=str(UUID(int=number))) for number in (0, 1, 2**128 - 1)]
    points = [a_point(Scope(f"user {i % 3}", persona_id="ada"), towards(1)) for i in range(30)] + ends
    await store.upsert(points)
    for page in (1, 7, 33, 100):
        assert await all_keys(store, page) == keys_of(points)
    for after in (ids(points)[4], str(uuid4())):
        assert await all_keys(store, 5, after) == [key for key in keys_of(points) if key.id > after]
    await store.remove(ids(points)[4:5])
    assert [key.id for key in await all_keys(store, 5, ids(points)[4])] == [
        id_ for id_ in sorted(ids(points)) if id_ > ids(points)[4]
    ]
    assert await store.scan(after=str(UUID(int=2**128 - 1)), limit=5) == []
    await store.close()


@settings(max_examples=15, deadline=None)
@given(page=st.integers(1, 12), count=st.integers(0, 12))
async def test_no_point_is_left_out_or_repeated_whatever_the_pages(store: VectorStore, page: int, count: int) -> None:
    user = f"user-{uuid4()}"
    points = [a_point(Scope(user), towards(1)) for _ in range(count)]
    await store.upsert(points)
    mine = [key for key in await all_keys(store, page) if key.user_id == user]
    assert mine == keys_of(points)
    await store.erase(user)


@pytest.mark.parametrize("after", ["nowhere", "26C9DF59-ECD9-4591-9C06-EE5D744B0928"])
async def test_a_place_that_is_none_is_refused(store: VectorStore, after: str) -> None:
    with pytest.raises(ValueError, match="order of UUIDs"):
        await store.scan(after=after, limit=1)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "fact"},
        {"tags": ("a",)},
        {"tags": ("b", "a")},
        {"themes": ()},
        {"space": "elsewhere"},
        {"user_id": "somebody else"},
        {"persona_id": "ada"},
        {"created_at": LONG_AGO + timedelta(microseconds=10)},
        {"last_said_at": LONG_AGO + timedelta(microseconds=10)},
        {"text": "corrected"},
        {"conversation_id": "another"},
        {"repeated_in": (Saying(conversation_id="another", turn_id="t", at=LONG_AGO),)},
    ],
    ids=lambda change: str(*change),
)
async def test_an_entry_lacks_a_point_that_is_filtered_by_what_it_was_before(
    store: VectorStore, scope: Scope, change: dict[str, Any]
) -> None:
    point = a_point(scope, towards(1), tags=("a", "b"), themes=("c",))
    await store.upsert([point])
    assert await store.lacking([point.entry.model_copy(update=change)]) == {point.entry.id}


async def test_entries_lack_their_points_until_they_are_stored_and_after_they_are_removed(
    store: VectorStore, scope: Scope
) -> None:
    points = [a_point(scope, towards(1)) for _ in range(40)]
    other = points[0].entry.model_copy(update={"version": 9, "importance": 0.9, "summary": "short"})  # not filtered by
    entries = [other, *(point.entry for point in points[1:]), a_point(scope, towards(1), id="no uuid").entry]
    await store.upsert(points[::2])
    assert await store.lacking(entries) == {*ids(points[1::2]), "no uuid"}
    await store.remove(ids(points)[:1])
    assert await store.lacking(entries) == {*ids(points[:1]), *ids(points[1::2]), "no uuid"}


async def test_erasing_a_user_leaves_the_others(store: VectorStore, scope: Scope) -> None:
    mine = [a_point(Scope(scope.user_id, space, persona), towards(1)) for space in "ab" for persona in (None, "ada")]
    theirs = [a_point(Scope(user), towards(1)) for user in (f"{scope.user_id} ", f"{scope.user_id}x")]
    await store.upsert([*mine, *theirs])
    await store.erase(scope.user_id)
    await store.erase(scope.user_id)
    await store.erase(f"nobody-{uuid4()}")
    assert await store.count(scope.user_id) == 0
    assert [await found(store, Scope(point.entry.user_id)) for point in theirs] == [[id_] for id_ in ids(theirs)]
    await store.upsert(mine[:1])
    assert await store.count(scope.user_id) == 1


async def test_after_sweeping_everything_that_was_kept_is_as_before(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, i), tags=(f"t{i % 3}",), version=2) for i in range(300)]
    await store.upsert(points)
    await store.remove(ids(points)[100:])
    before = await vectors_of(store, scope, ids(points)), await found(store, scope, limit=300)
    assert await store.compact()
    assert await store.compact()
    vectors = await vectors_of(store, scope, ids(points))
    assert set(vectors) == set(before[0])
    assert all((vectors[id_] == before[0][id_]).all() for id_ in vectors)
    assert await found(store, scope, limit=300) == before[1]
    assert set(await found(store, scope, Filters(tags=("t1",)))) == set(ids(points)[1:100:3])
    await store.upsert([newer(points[0], towards(0, 1), version=1)])  # older than what is stored
    assert await cosines_of(store, scope, ids(points)[:1], towards(1)) == pytest.approx(
        {points[0].entry.id: 1}, abs=2e-3
    )


async def test_whoever_searches_and_writes_during_a_sweep_is_answered(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, i)) for i in range(400)]
    await store.upsert(points[:300])
    await store.remove(ids(points)[:1])

    async def search() -> None:
        for _ in range(30):
            assert set(ids(points)[1:299]) <= set(await found(store, scope, limit=500))

    await asyncio.gather(search(), store.compact(), store.upsert(points[300:]), store.remove(ids(points)[299:300]))
    assert set(await found(store, scope, limit=500)) == set(ids(points)) - {points[0].entry.id, points[299].entry.id}


async def test_what_was_swept_and_written_since_is_there_after_a_reopening(
    opener: Opener, tmp_path_factory: Any, scope: Scope
) -> None:
    place = tmp_path_factory.mktemp("swept")
    first = await opener(place)
    points = [a_point(scope, towards(1, i), version=3, tags=("kept",)) for i in range(6)]
    await first.upsert(points[:5])
    await first.remove(ids(points)[:1])
    await first.compact()
    await first.upsert(points[5:])
    await first.remove(ids(points)[1:2])
    await first.close()

    second = await opener(place)
    await second.upsert([newer(points[2], towards(0, 1), version=2, tags=())])  # older than what is stored
    assert await found(second, scope, Filters(tags=("kept",))) == ids(points)[2:]
    assert set(await vectors_of(second, scope, ids(points))) == set(ids(points)[2:])
    await second.close()
