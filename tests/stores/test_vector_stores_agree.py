"""Both vector stores answer random questions as a list of everything would: the same hits, and nothing of others."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from contracts.ports import Filters, Scope, SemanticHit, Vector, VectorPoint, VectorStore
from contracts.v1.turns import EVERY_PERSONA, EntryType
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.qdrant.connection import Server
from services.shared.stores.scopes import visible_keys
from tests.sizes import sized
from tests.stores.qdrant_openers import open_local
from tests.stores.vector_builders import DIMENSIONS, LONG_AGO, a_point, copies_of, cosines_of, ids, vectors_of

USERS = ["ann", "bob", "ann/default", 'a"n', "an\x00n", ""]
SPACES = ["default", "work", "ann", ""]
PERSONAS = [None, "ada", "default", ""]
TYPES: list[EntryType] = ["fact", "note", "decision"]
ALLOWED: list[tuple[EntryType, ...] | None] = [None, None, ("fact",), ("fact", "note")]
TAGS = ["red", "green", "ü"]
QUESTIONS = sized(10_000)
CLOSE = 0.002
"""One engine keeps two bytes a number."""


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[list[VectorStore]]:
    async with AsyncExitStack() as stack:
        local = await open_local(tmp_path)
        edge = await EdgeVectorStore.open(tmp_path / "edge", dimensions=DIMENSIONS, copies=True)
        for store in (local, edge):
            stack.push_async_callback(store.close)
        yield [local, edge]


def a_direction(rng: random.Random) -> Vector:
    numbers = np.array([rng.gauss(0, 1) for _ in range(DIMENSIONS)], dtype=np.float32)
    return numbers / np.linalg.norm(numbers)


def a_random_point(rng: random.Random) -> VectorPoint:
    return a_point(
        Scope(rng.choice(USERS), rng.choice(SPACES), rng.choice(PERSONAS)),
        a_direction(rng),
        type=rng.choice(TYPES),
        tags=tuple(rng.sample(TAGS, rng.randint(0, 2))),
        themes=tuple(rng.sample(["food", "travel"], rng.randint(0, 2))),
        created_at=LONG_AGO + timedelta(days=rng.randint(0, 9)),
    )


def some_filters(rng: random.Random) -> Filters:
    return Filters(
        types=rng.choice(ALLOWED),
        tags=rng.choice([None, None, ("red",), ("red", "ü")]),
        theme=rng.choice([None, None, "food"]),
        since=rng.choice([None, None, LONG_AGO + timedelta(days=rng.randint(0, 9))]),
    )


def a_scope(rng: random.Random, points: Sequence[VectorPoint]) -> Scope:
    """Any, or one that has something."""
    if rng.random() < 0.5:
        return Scope(rng.choice(USERS), rng.choice(SPACES), rng.choice([*PERSONAS, EVERY_PERSONA]))
    owner = rng.choice(points).entry
    return Scope(owner.user_id, owner.space, owner.persona_id)


def sees(scope: Scope, point: VectorPoint) -> bool:
    entry = point.entry
    mine = (entry.user_id, entry.space) == (scope.user_id, scope.space)
    return mine and (scope.persona_id == EVERY_PERSONA or (entry.persona_id or "") in ("", scope.persona_id or ""))


def passes(filters: Filters, point: VectorPoint) -> bool:
    entry = point.entry
    return (
        (filters.types is None or entry.type in filters.types)
        and (filters.tags is None or bool(set(filters.tags) & set(entry.tags)))
        and (filters.theme is None or filters.theme in entry.themes)
        and (filters.since is None or entry.created_at >= filters.since)
    )


def are_best(hits: Sequence[SemanticHit], cosines: dict[str, float], limit: int) -> bool:
    """Whether these are the best, but for those that are equally near to three digits."""
    best = sorted(cosines.values(), reverse=True)[:limit]
    found = [hit.cosine for hit in hits]
    return {hit.id for hit in hits} <= cosines.keys() and found == pytest.approx(best, abs=CLOSE)


async def test_random_questions_are_answered_as_a_list_would_answer_them(both: list[VectorStore]) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    points = [a_random_point(rng) for _ in range(60)]
    points, removed = points[5:], points[:5]
    for store in both:
        await store.upsert([*points, *removed])
        await store.remove(ids(removed))
    answered = 0
    for number in range(QUESTIONS):
        store, scope, question, filters = both[number % 2], a_scope(rng, points), a_direction(rng), some_filters(rng)
        visible = [point for point in points if sees(scope, point)]
        told = f"seed {seed}, question {number}, {type(store).__name__}, {scope}, {filters}"
        if number % 7 == 0:
            known = {p.entry.id: p for p in visible}
            asked = ids([*points, *removed])
            assert set(await vectors_of(store, scope, asked)) == known.keys(), told
            assert await copies_of(store, scope, asked) == {id_: p.entry for id_, p in known.items()}, told
            cosines = {id_: float(p.vector @ question) for id_, p in known.items()}
            assert await cosines_of(store, scope, asked, question) == pytest.approx(cosines, abs=CLOSE), told
        limit = rng.randint(1, 9)
        cosines = {p.entry.id: float(p.vector @ question) for p in visible if passes(filters, p)}
        hits = await store.search(scope, question, limit=limit, filters=filters)
        assert are_best(hits, cosines, limit), told
        answered += bool(hits)
    assert answered > QUESTIONS // 10, f"seed {seed}: too few questions had an answer to prove anything"


class Listening:
    """A client that remembers the filters it was given."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.filters: list[models.Filter] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in ("query_points", "scroll", "count"):
            return method

        async def heard(*args: Any, **kwargs: Any) -> Any:
            self.filters.append(kwargs.get("query_filter") or kwargs.get("scroll_filter") or kwargs["count_filter"])
            return await method(*args, **kwargs)

        return heard


def conditions_of(asked: models.Filter) -> dict[str, set[str]]:
    """What each field must be, of the conditions that every point must fulfil."""
    assert asked.should is None
    assert asked.min_should is None
    assert isinstance(asked.must, list)
    musts = [condition for condition in asked.must if isinstance(condition, models.FieldCondition)]
    return {condition.key: _values(condition.match) for condition in musts if condition.match}


def _values(match: models.Match) -> set[str]:
    return {str(match.value)} if isinstance(match, models.MatchValue) else set(map(str, match.any))  # type: ignore[union-attr]


async def test_every_question_to_qdrant_names_its_user_and_its_scope(tmp_path: Path) -> None:
    rng, store = random.Random(7), await open_local(tmp_path)
    points = [a_random_point(rng) for _ in range(40)]
    await store.upsert(points)
    listening = Listening(store._client)
    store._server = Server.of(listening)  # type: ignore[arg-type]
    for _ in range(50):
        scope, known = a_scope(rng, points), rng.sample(ids(points), 8)
        await store.search(scope, a_direction(rng), limit=3, filters=some_filters(rng))
        await vectors_of(store, scope, known)
        await copies_of(store, scope, known)
        await cosines_of(store, scope, known, a_direction(rng))
        assert len(listening.filters) == 4
        while listening.filters:
            conditions = conditions_of(listening.filters.pop())
            assert (conditions["user_id"], conditions["scope"]) == ({scope.user_id}, set(visible_keys(scope)))
    await store.close()
