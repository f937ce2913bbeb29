"""The Qdrant adapter never shows one scope what is another's: ten thousand random questions, and how each is asked."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest_asyncio
from qdrant_client import models

from contracts.ports import Filters, Scope, Vector, VectorPoint, VectorStore
from contracts.v1.turns import EntryType
from services.shared.stores.qdrant import QdrantVectorStore
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
TAGS = ["red", "green", "blue"]
QUESTIONS = sized(10_000)


def a_scope(rng: random.Random) -> Scope:
    return Scope(rng.choice(USERS), rng.choice(SPACES), rng.choice(PERSONAS))


def a_direction(rng: random.Random) -> Vector:
    numbers = np.array([rng.gauss(0, 1) for _ in range(DIMENSIONS)], dtype=np.float32)
    return numbers / np.linalg.norm(numbers)


def some_points(rng: random.Random, number: int) -> list[VectorPoint]:
    return [
        a_point(
            a_scope(rng),
            a_direction(rng),
            type=rng.choice(TYPES),
            tags=tuple(rng.sample(TAGS, rng.randint(0, 2))),
            themes=tuple(rng.sample(["food", "travel"], rng.randint(0, 2))),
            created_at=LONG_AGO + timedelta(days=rng.randint(0, 9)),
        )
        for _ in range(number)
    ]


def some_filters(rng: random.Random) -> Filters:
    return Filters(
        types=rng.choice(ALLOWED),
        tags=rng.choice([None, None, ("red",), ("red", "blue")]),
        theme=rng.choice([None, None, "food"]),
        since=rng.choice([None, None, LONG_AGO + timedelta(days=rng.randint(0, 9))]),
    )


def sees(scope: Scope, point: VectorPoint) -> bool:
    entry = point.entry
    mine = (entry.user_id, entry.space) == (scope.user_id, scope.space)
    return mine and (entry.persona_id or "") in ("", scope.persona_id or "")


def passes(filters: Filters, point: VectorPoint) -> bool:
    entry = point.entry
    return (
        (filters.types is None or entry.type in filters.types)
        and (filters.tags is None or bool(set(filters.tags) & set(entry.tags)))
        and (filters.theme is None or filters.theme in entry.themes)
        and (filters.since is None or entry.created_at >= filters.since)
    )


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[QdrantVectorStore]:
    opened = await open_local(tmp_path)
    yield opened
    await opened.close()


async def ask(
    store: VectorStore, rng: random.Random, scope: Scope, points: Sequence[VectorPoint]
) -> tuple[set[str], set[str]]:
    """Ask one random question: the ids in the answer, and the ids that may be in it."""
    known = rng.sample(ids(points), 8)
    among = [point for point in points if point.entry.id in known and sees(scope, point)]
    match rng.randrange(5):
        case 2:
            return set(await copies_of(store, scope, known)), set(ids(among))
        case 0:
            return set(await vectors_of(store, scope, known)), set(ids(among))
        case 1:
            return set(await cosines_of(store, scope, known, a_direction(rng))), set(ids(among))
        case _:
            filters = some_filters(rng)
            hits = await store.search(scope, a_direction(rng), limit=rng.randint(1, 5), filters=filters)
            return {hit.id for hit in hits}, {p.entry.id for p in points if sees(scope, p) and passes(filters, p)}


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


async def test_thousands_of_random_questions_name_their_user_and_scope_and_have_no_foreign_answer(
    store: QdrantVectorStore,
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    points = some_points(rng, 40)
    await store.upsert(points)
    listening = Listening(store._client)
    store._server = Server.of(listening)  # type: ignore[arg-type]
    answered = 0
    for question in range(QUESTIONS):
        owner = rng.choice(points).entry
        scope = a_scope(rng) if question % 3 else Scope(owner.user_id, owner.space, owner.persona_id)
        found, allowed = await ask(store, rng, scope, points)
        assert found <= allowed, f"seed {seed}, question {question}, {scope}"
        conditions = conditions_of(listening.filters.pop())
        assert not listening.filters
        assert (conditions["user_id"], conditions["scope"]) == ({scope.user_id}, set(visible_keys(scope)))
        answered += bool(found)
    assert answered > QUESTIONS // 10, f"seed {seed}: too few questions had an answer to prove anything"
