"""What every vector store promises of finding, whichever engine is behind it."""

from __future__ import annotations

import random
from datetime import timedelta
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope, VectorStore
from contracts.v1.entries import Saying
from contracts.v1.turns import EVERY_PERSONA
from tests.stores.vector_builders import (
    LONG_AGO,
    a_point,
    cosines_of,
    found,
    ids,
    newer,
    towards,
    vectors_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_nearest_points_come_first_with_their_cosine(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, slope)) for slope in (0.0, 0.5, 1.0, 2.0)]
    await store.upsert(random.sample(points, 4))
    hits = await store.search(scope, towards(1), limit=3, filters=Filters())
    assert [hit.id for hit in hits] == ids(points)[:3]
    assert [hit.cosine for hit in hits] == pytest.approx([1.0, 0.894, 0.707], abs=2e-3)


async def test_a_user_without_points_finds_nothing(store: VectorStore, scope: Scope) -> None:
    assert await found(store, scope) == []
    assert await store.count(scope.user_id) == 0
    assert await vectors_of(store, scope, [str(uuid4())]) == {}
    assert await cosines_of(store, scope, [str(uuid4())], towards(1)) == {}


async def test_nothing_to_do_is_done(store: VectorStore, scope: Scope) -> None:
    await store.upsert([])
    await store.remove([])
    assert await store.refresh([]) == await store.lacking([]) == set()
    await store.upsert([a_point(scope, towards(1))])
    assert await found(store, scope, limit=0) == await found(store, scope, limit=-1) == []
    assert await store.scan(after="", limit=0) == []
    assert await vectors_of(store, scope, []) == {}
    assert await cosines_of(store, scope, [], towards(1)) == {}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"old fact", "new fact", "new note"}),
        (Filters(types=("fact",)), {"old fact", "new fact"}),
        (Filters(types=("fact", "note")), {"old fact", "new fact", "new note"}),
        (Filters(tags=("red",)), {"old fact"}),
        (Filters(tags=("red", "blue")), {"old fact", "new note"}),
        (Filters(tags=()), {"old fact", "new fact", "new note"}),
        (Filters(theme="travel"), {"new fact"}),
        (Filters(conversation_id="c1"), {"old fact", "new note"}),
        (Filters(conversation_id="c2"), {"new fact", "new note"}),
        (Filters(conversation_id="c"), set()),
        (Filters(until=LONG_AGO), {"old fact"}),
        (Filters(until=LONG_AGO - timedelta(seconds=1)), set()),
        (Filters(since=LONG_AGO + timedelta(days=3)), {"new note"}),
        (Filters(since=LONG_AGO + timedelta(days=1)), {"new fact", "new note"}),
        (Filters(types=("note",), tags=("red",)), set()),
    ],
)
async def test_filters_leave_only_what_fulfils_all_of_them(
    store: VectorStore, scope: Scope, filters: Filters, expected: set[str]
) -> None:
    late, latest = LONG_AGO + timedelta(days=2), LONG_AGO + timedelta(days=3)
    again = Saying(conversation_id="c1", turn_id="t", at=latest)
    named = {
        "old fact": a_point(scope, towards(1), type="fact", tags=("red", "green"), conversation_id="c1"),
        "new fact": a_point(
            scope, towards(1), type="fact", themes=("travel", "food"), created_at=late, conversation_id="c2"
        ),
        "new note": a_point(
            scope,
            towards(1),
            type="note",
            tags=("blue",),
            created_at=late,
            conversation_id="c2",
            last_said_at=latest,
            repeated_in=(again,),
        ),
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
    everybody = Scope(scope.user_id, scope.space, EVERY_PERSONA)
    elsewhere = a_point(Scope(scope.user_id, "elsewhere", "ada"), towards(1))
    await store.upsert([elsewhere])
    assert set(await found(store, everybody)) == {point.entry.id for point in points.values()}
    fetched = await store.fetch(everybody, [point.entry.id for point in (*points.values(), elsewhere)])
    assert set(fetched) == {point.entry.id for point in points.values()}


async def test_no_character_makes_one_scope_look_like_another(store: VectorStore, scope: Scope) -> None:
    user = scope.user_id
    alike = {
        each
        for between in ("", "/", ":", ",", "\x00", "\x1f", "\n", '"', '", "', "\\")
        for each in (
            Scope(f"{user}{between}a", "b", "c"),
            Scope(user, f"a{between}b", "c"),
            Scope(user, "a", f"b{between}c"),
            Scope(user, f"a{between}b{between}c"),
        )
    }
    points = {each: a_point(each, towards(1)) for each in alike}
    await store.upsert(list(points.values()))
    assert {each: await found(store, each) for each in alike} == {each: ids([points[each]]) for each in alike}


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
        assert set(await vectors_of(store, mine, ids(points))) == visible
        assert set(await cosines_of(store, mine, ids(points), towards(1))) == visible
        assert await store.count(mine.user_id) == sum(each.user_id == mine.user_id for each in everyone)


async def test_cosines_and_vectors_are_those_of_the_stored_points(store: VectorStore, scope: Scope) -> None:
    points = [a_point(scope, towards(1, slope)) for slope in (0.0, 1.0, -3.0)]
    await store.upsert(points)
    asked = [*ids(points)[:2], str(uuid4()), "no uuid at all"]
    vectors = await vectors_of(store, scope, asked)
    assert set(vectors) == set(asked[:2])
    for point in points[:2]:
        assert vectors[point.entry.id] == pytest.approx(point.vector, abs=1e-3)
        assert vectors[point.entry.id].dtype == np.float32
    cosines = await cosines_of(store, scope, asked, towards(0, 1))
    assert cosines == pytest.approx({asked[0]: 0.0, asked[1]: 0.707}, abs=2e-3)
    nearest = await store.search(scope, towards(0, 1), limit=1, filters=Filters(), ids=asked)
    assert [hit.id for hit in nearest] == asked[1:2]
    others = await store.search(scope, towards(1), limit=9, filters=Filters(types=("fact",)), ids=asked)
    assert others == []
    await store.upsert([newer(points[2], towards(1, 1) * 5)])
    long = await vectors_of(store, scope, ids(points[2:]))
    assert np.linalg.norm(long[points[2].entry.id]) == pytest.approx(1, abs=1e-3)
