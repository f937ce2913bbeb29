"""What every vector store promises, whichever engine is behind it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope, Unavailable, Vector, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from services.shared.stores.edge import EdgeVectorStore

DIMENSIONS = 16
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)

Opener = Callable[[Path], Awaitable[VectorStore]]


async def open_edge(path: Path) -> VectorStore:
    return await EdgeVectorStore.open(path / "vectors", dimensions=DIMENSIONS)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=[pytest.param(open_edge, id="edge")])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    return chosen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorStore]:
    """One store for all tests, which are users of their own to it."""
    opened = await opener(tmp_path_factory.mktemp("store"))
    yield opened
    await opened.close()


@pytest.fixture
def scope() -> Scope:
    return Scope(f"user-{uuid4()}")


def towards(*weights: float) -> Vector:
    """The unit vector in the direction of these first coordinates."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(weights)] = weights
    return vector / np.linalg.norm(vector)


def a_point(scope: Scope, vector: Vector, **fields: Any) -> VectorPoint:
    defaults: dict[str, Any] = {
        "id": str(uuid4()),
        "user_id": scope.user_id,
        "space": scope.space,
        "persona_id": scope.persona_id,
        "text": "…",
        "created_at": LONG_AGO,
        "updated_at": LONG_AGO,
    }
    return VectorPoint(Entry(**{**defaults, **fields}), {"turn": vector})


def newer(point: VectorPoint, vector: Vector, **fields: Any) -> VectorPoint:
    """The same entry with other fields."""
    return VectorPoint(point.entry.model_copy(update=fields), {"turn": vector})


def ids(points: Sequence[VectorPoint]) -> list[str]:
    return [point.entry.id for point in points]


async def found(store: VectorStore, scope: Scope, filters: Filters | None = None, limit: int = 100) -> list[str]:
    hits = await store.search(scope, towards(1), limit=limit, filters=filters or Filters())
    return [hit.id for hit in hits]


async def test_nearest_points_come_first_with_their_cosine(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, slope)) for slope in (0.0, 0.5, 1.0, 2.0)]
    await store.upsert(random.sample(points, 4))
    hits = await store.search(scope, towards(1), limit=3, filters=Filters())
    assert [hit.id for hit in hits] == ids(points)[:3]
    assert [hit.cosine for hit in hits] == pytest.approx([1.0, 0.894, 0.707], abs=2e-3)


async def test_ranking_of_many_points_is_that_of_exact_cosines(store: VectorStore, scope: Scope) -> None:
    rows = np.random.default_rng(7).normal(size=(400, DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    points = [a_point(scope, row) for row in rows]
    await store.upsert(points)
    for query in rows[:10]:
        hits = await store.search(scope, query, limit=50, filters=Filters())
        exact = dict(zip(ids(points), rows @ query, strict=True))
        assert [hit.cosine for hit in hits] == pytest.approx(sorted(exact.values(), reverse=True)[:50], abs=2e-3)
        assert all(abs(exact[hit.id] - hit.cosine) < 2e-3 for hit in hits)


async def test_a_user_without_points_finds_nothing(store: VectorStore, scope: Scope) -> None:
    assert await found(store, scope) == []
    assert await store.count(scope.user_id) == 0
    assert await store.vectors(scope, [str(uuid4())]) == {}
    assert await store.cosines(scope, [str(uuid4())], towards(1)) == {}


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_finds_nothing(store: VectorStore, scope: Scope, limit: int) -> None:
    await store.upsert([a_point(scope, towards(1))])
    assert await found(store, scope, limit=limit) == []


async def test_nothing_to_do_is_done(store: VectorStore, scope: Scope) -> None:
    await store.upsert([])
    await store.remove([])
    assert await store.vectors(scope, []) == {}
    assert await store.cosines(scope, [], towards(1)) == {}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"old fact", "new fact", "new note"}),
        (Filters(types=("fact",)), {"old fact", "new fact"}),
        (Filters(types=("fact", "note")), {"old fact", "new fact", "new note"}),
        (Filters(types=("decision",)), set()),
        (Filters(types=()), set()),
        (Filters(tags=("red",)), {"old fact"}),
        (Filters(tags=("red", "blue")), {"old fact", "new note"}),
        (Filters(tags=()), set()),
        (Filters(theme="travel"), {"new fact"}),
        (Filters(theme="tra"), set()),
        (Filters(since=LONG_AGO + timedelta(days=1)), {"new fact", "new note"}),
        (Filters(since=LONG_AGO), {"old fact", "new fact", "new note"}),
        (Filters(types=("fact",), since=LONG_AGO + timedelta(days=1)), {"new fact"}),
        (Filters(types=("note",), tags=("red",)), set()),
    ],
)
async def test_filters_leave_only_what_fulfils_all_of_them(
    store: VectorStore, scope: Scope, filters: Filters, expected: set[str]
) -> None:
    late = LONG_AGO + timedelta(days=2)
    named = {
        "old fact": a_point(scope, towards(1), type="fact", tags=("red", "green")),
        "new fact": a_point(scope, towards(1), type="fact", themes=("travel", "food"), created_at=late),
        "new note": a_point(scope, towards(1), type="note", tags=("blue",), created_at=late),
    }
    await store.upsert(list(named.values()))
    assert set(await found(store, scope, filters)) == {named[name].entry.id for name in expected}


async def test_a_persona_sees_its_own_points_and_those_of_no_persona(store: VectorStore, scope: Scope) -> None:
    ada = Scope(scope.user_id, scope.space, "ada")
    bob = Scope(scope.user_id, scope.space, "bob")
    points = {each: a_point(each, towards(1)) for each in (scope, ada, bob)}
    await store.upsert(list(points.values()))
    assert set(await found(store, scope)) == {points[scope].entry.id}
    assert set(await found(store, ada)) == {points[scope].entry.id, points[ada].entry.id}
    assert set(await found(store, bob, Filters(types=("other",)))) == {points[scope].entry.id, points[bob].entry.id}


@pytest.mark.parametrize("between", ["", "/", ":", ",", "\x00", "\x1f", "\n", '"', '", "', "\\"])
async def test_no_character_makes_one_scope_look_like_another(store: VectorStore, scope: Scope, between: str) -> None:
    user = scope.user_id
    alike = [
        Scope(f"{user}{between}a", "b", "c"),
        Scope(user, f"a{between}b", "c"),
        Scope(user, "a", f"b{between}c"),
        Scope(user, f"a{between}b{between}c"),
    ]
    points = [a_point(each, towards(1)) for each in alike]
    await store.upsert(points)
    assert [await found(store, each) for each in alike] == [[point_id] for point_id in ids(points)]


words = st.sampled_from(["a", "b", "ab", "", "a/b", '"', "\x00", "\x1f", "é", "日本", "🙂", "a" * 300]) | st.text(
    max_size=4
)
scopes = st.builds(Scope, words, words, st.none() | words)


@settings(max_examples=30, deadline=None)
@given(st.lists(scopes, min_size=2, max_size=8, unique=True))
async def test_equal_vectors_of_different_scopes_never_meet(store: VectorStore, drawn: list[Scope]) -> None:
    run = str(uuid4())
    everyone = [Scope(run + each.user_id, each.space, each.persona_id) for each in drawn]
    points = [a_point(each, towards(1)) for each in everyone]
    await store.upsert(points)
    for mine in everyone:
        visible = {
            point.entry.id
            for point, its in zip(points, everyone, strict=True)
            if (its.user_id, its.space) == (mine.user_id, mine.space)
            and (its.persona_id or "") in ("", mine.persona_id or "")
        }
        assert set(await found(store, mine)) == visible
        assert set(await store.vectors(mine, ids(points))) == visible
        assert set(await store.cosines(mine, ids(points), towards(1))) == visible
        assert await store.count(mine.user_id) == sum(each.user_id == mine.user_id for each in everyone)


async def test_cosines_and_vectors_are_those_of_the_stored_points(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, slope)) for slope in (0.0, 1.0, -3.0)]
    await store.upsert(points)
    asked = [*ids(points)[:2], str(uuid4()), "no uuid at all"]
    vectors = await store.vectors(scope, asked)
    assert set(vectors) == set(asked[:2])
    for point in points[:2]:
        assert vectors[point.entry.id] == pytest.approx(point.vectors["turn"], abs=1e-3)
        assert vectors[point.entry.id].dtype == np.float32
    cosines = await store.cosines(scope, asked, towards(0, 1))
    assert cosines == pytest.approx({asked[0]: 0.0, asked[1]: 0.707}, abs=2e-3)


async def test_vectors_are_kept_at_unit_length(store: VectorStore, scope: Scope) -> None:
    point = a_point(scope, towards(1, 1) * 5)
    await store.upsert([point])
    stored = await store.vectors(scope, ids([point]))
    assert np.linalg.norm(stored[point.entry.id]) == pytest.approx(1, abs=1e-3)


async def test_removing_twice_or_the_unknown_is_no_error(store: VectorStore, scope: Scope) -> None:
    kept, gone = a_point(scope, towards(1)), a_point(scope, towards(1))
    await store.upsert([kept, gone])
    await store.remove([gone.entry.id])
    await store.remove([gone.entry.id, str(uuid4()), "no uuid at all"])
    assert await found(store, scope) == [kept.entry.id]
    assert await store.count(scope.user_id) == 1


async def test_storing_the_same_point_again_changes_nothing(store: VectorStore, scope: Scope) -> None:
    point = a_point(scope, towards(1))
    await store.upsert([point, point])
    await store.upsert([point])
    assert await found(store, scope) == [point.entry.id]
    assert await store.count(scope.user_id) == 1


async def test_the_same_version_may_replace_its_vector(store: VectorStore, scope: Scope) -> None:
    point = a_point(scope, towards(0, 1), version=4)
    await store.upsert([point])
    await store.upsert([newer(point, towards(1))])
    assert await store.cosines(scope, ids([point]), towards(1)) == pytest.approx({point.entry.id: 1}, abs=2e-3)


async def test_an_older_version_never_replaces_a_newer_one(store: VectorStore, scope: Scope) -> None:
    present = a_point(scope, towards(1), version=2, tags=("new",))
    older = newer(present, towards(0, 1), version=1, tags=("old",))
    unknown = a_point(scope, towards(1), version=1)
    await store.upsert([present])
    await store.upsert([older, unknown])
    assert set(await found(store, scope)) == {present.entry.id, unknown.entry.id}
    assert await found(store, scope, Filters(tags=("old",))) == []
    assert await store.cosines(scope, ids([present]), towards(1)) == pytest.approx({present.entry.id: 1}, abs=2e-3)


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
    stored = await store.vectors(scope, ids(points))
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
        await store.cosines(scope, [str(uuid4())], np.full(DIMENSIONS, np.inf, dtype=np.float32))


async def test_concurrent_writes_and_searches_all_come_through(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, i)) for i in range(200)]
    batches = [points[i : i + 10] for i in range(0, 200, 10)]
    await asyncio.gather(*(store.upsert(batch) for batch in batches), *(found(store, scope) for _ in range(20)))
    assert set(await found(store, scope, limit=500)) == set(ids(points))


async def test_points_and_removals_are_there_after_a_reopening(opener: Opener, tmp_path: Path, scope: Scope) -> None:
    first = await opener(tmp_path)
    points = [a_point(scope, towards(1, i), version=3, tags=("kept",)) for i in range(5)]
    await first.upsert(points)
    await first.remove(ids(points)[:1])
    assert await first.count() == 4
    await first.close()

    second = await opener(tmp_path)
    assert await found(second, scope, Filters(tags=("kept",))) == ids(points)[1:]
    await second.upsert([newer(points[1], towards(0, 1), version=2, tags=())])
    assert await found(second, scope, Filters(tags=("kept",))) == ids(points)[1:]
    await second.close()


async def test_a_closed_store_is_unavailable_and_closes_twice(opener: Opener, tmp_path: Path, scope: Scope) -> None:
    store = await opener(tmp_path)
    await store.ping()
    await store.close()
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.ping()
    with pytest.raises(Unavailable, match="closed"):
        await found(store, scope)
