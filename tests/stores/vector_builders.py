"""Vectors and points for the tests of vector stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from contracts.ports import Filters, Scope, Vector, VectorPoint, VectorStore
from contracts.v1.entries import Entry

DIMENSIONS = 16
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)

Opener = Callable[[Path], Awaitable[VectorStore]]


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
    return VectorPoint(Entry(**{**defaults, **fields}), vector)


def newer(point: VectorPoint, vector: Vector, **fields: Any) -> VectorPoint:
    """The same entry with other fields."""
    return VectorPoint(point.entry.model_copy(update=fields), vector)


def ids(points: Sequence[VectorPoint]) -> list[str]:
    return [point.entry.id for point in points]


async def found(store: VectorStore, scope: Scope, filters: Filters | None = None, limit: int = 100) -> list[str]:
    hits = await store.search(scope, towards(1), limit=limit, filters=filters or Filters())
    return [hit.id for hit in hits]


async def vectors_of(store: VectorStore, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
    return {id_: point.vector for id_, point in (await store.fetch(scope, ids)).items()}


async def cosines_of(store: VectorStore, scope: Scope, ids: Sequence[str], vector: Vector) -> dict[str, float]:
    hits = await store.search(scope, vector, limit=100, filters=Filters(), ids=ids)
    return {hit.id: hit.cosine for hit in hits}


async def copies_of(store: VectorStore, scope: Scope, ids: Sequence[str]) -> dict[str, Entry]:
    points = (await store.fetch(scope, ids, copies=True)).items()
    return {id_: point.copy for id_, point in points if point.copy is not None}
