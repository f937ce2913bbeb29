"""The embedded vector store and the one of a cluster give the same answers to the same questions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope, SemanticHit, VectorPoint, VectorStore
from services.shared.stores.edge import EdgeVectorStore
from tests.sizes import sized
from tests.stores.qdrant_openers import open_local
from tests.stores.vector_builders import DIMENSIONS, LONG_AGO, a_point, copies_of, cosines_of, ids, vectors_of

TYPES = ("fact", "preference", "note")
TAGS = ("a", "b", "ü")
PERSONAS = (None, "guide", "tutor")
CLOSE = 0.002  # one engine keeps two bytes a number


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[list[VectorStore]]:
    async with AsyncExitStack() as stack:
        stores: list[VectorStore] = [
            await EdgeVectorStore.open(tmp_path / "edge", dimensions=DIMENSIONS, copies=True),
            await open_local(tmp_path),
        ]
        for store in stores:
            stack.push_async_callback(store.close)
        yield stores


filters = st.builds(
    Filters,
    types=st.none() | st.lists(st.sampled_from(TYPES), unique=True).map(tuple),
    tags=st.none() | st.lists(st.sampled_from(TAGS), unique=True).map(tuple),
    theme=st.none() | st.sampled_from(TAGS),
    since=st.none() | st.integers(0, 20).map(lambda days: LONG_AGO + timedelta(days=days)),
)


def points_of(user: str, seed: int, count: int) -> list[VectorPoint]:
    """Random points; their vectors all differ, so that no two are equally near."""
    random = np.random.default_rng(seed)
    points = []
    for number in range(count):
        vector = random.standard_normal(DIMENSIONS).astype(np.float32)
        points.append(
            a_point(
                Scope(user, persona_id=PERSONAS[random.integers(3)]),
                vector / np.linalg.norm(vector),
                type=TYPES[random.integers(3)],
                tags=tuple(tag for tag in TAGS if random.random() < 0.4),
                themes=tuple(tag for tag in TAGS if random.random() < 0.4),
                created_at=LONG_AGO + timedelta(days=number % 20),
            )
        )
    return points


def agree(some: list[SemanticHit], others: list[SemanticHit]) -> bool:
    """The same hits in the same order, but for those that are equally near to three digits."""
    return len(some) == len(others) and all(
        one.id == other.id or abs(one.cosine - other.cosine) < CLOSE for one, other in zip(some, others, strict=True)
    )


@settings(max_examples=sized(75), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 40),
    wanted=filters,
    persona=st.sampled_from(PERSONAS),
    limit=st.integers(1, 50),
    removed=st.integers(0, 5),
)
async def test_random_points_and_filters_give_the_same_answers(
    both: list[VectorStore],
    seed: int,
    count: int,
    wanted: Filters,
    persona: str | None,
    limit: int,
    removed: int,
) -> None:
    user = f"user-{uuid4()}"
    points, scope = points_of(user, seed, count), Scope(user, persona_id=persona)
    question = points_of(user, seed + 1, 1)[0].vector
    found, known, kept = [], [], []
    for store in both:
        await store.upsert(points)
        await store.remove(ids(points[:removed]))
        found.append(await store.search(scope, question, limit=limit, filters=wanted))
        known.append(await cosines_of(store, scope, ids(points), question))
        vectors = sorted(await vectors_of(store, scope, ids(points)))
        kept.append((vectors, await copies_of(store, scope, ids(points)), await store.count(user)))
    assert agree(*found), found
    assert known[0] == pytest.approx(known[1], abs=CLOSE)
    assert kept[0] == kept[1]
