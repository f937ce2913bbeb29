"""Entries as points of the engine, and filters as its conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import qdrant_edge as qdrant

from contracts.ports import Filters, Scope, SemanticHit, StoredPoint, Vector, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.edge.known import Known
from services.shared.stores.points import (
    CONVERSATIONS,
    TAGS,
    THEMES,
    TURN,
    check_point,
    copied_entry,
    is_visible,
    newest,
    payload,
    point_id,
    point_ids,
    word_filters,
)
from services.shared.stores.scopes import visible_keys

__all__ = [
    "INDEXES",
    "cosines",
    "payload_update",
    "point_id",
    "search_filter",
    "stored_points",
    "upserts",
    "user_filter",
]

INDEXES: Mapping[str, Any] = {
    "user_id": qdrant.KeywordIndexParams(is_tenant=True),
    "scope": qdrant.KeywordIndexParams(),
    "type": qdrant.KeywordIndexParams(),
    TAGS: qdrant.KeywordIndexParams(),
    THEMES: qdrant.KeywordIndexParams(),
    CONVERSATIONS: qdrant.KeywordIndexParams(),
    "created_at": qdrant.FloatIndexParams(),
    "last_said_at": qdrant.FloatIndexParams(),
}


def upserts(
    points: Sequence[VectorPoint], dimensions: int, *, copies: bool = False
) -> Iterator[qdrant.UpdateOperation]:
    """The operations that store the points, one for each version among them.

    The engine replaces a point only where the filter of the operation matches what it has stored, hence one operation
    a version; it inserts new points in any case.

    Raises:
        ValueError: an id or a vector cannot be stored.
    """
    by_version: dict[int, list[qdrant.Point]] = defaultdict(list)
    for point in newest(points):
        check_point(point, dimensions)
        by_version[point.entry.version].append(_engine_point(point, copies=copies))
    for version, group in by_version.items():
        not_newer = qdrant.FieldCondition("version", range=qdrant.RangeFloat(lte=version))
        yield qdrant.UpdateOperation.upsert_points(group, qdrant.Filter(must=[not_newer]))


def _engine_point(point: VectorPoint, *, copies: bool) -> qdrant.Point:
    vector: Any = np.asarray(point.vector, np.float32)
    return qdrant.Point(point.entry.id, {TURN: vector}, payload(point.entry, with_copy=copies))


def payload_update(entry: Entry, *, copies: bool) -> qdrant.UpdateOperation:
    """The operation that has the point of an entry filtered by what the entry is now."""
    return qdrant.UpdateOperation.overwrite_payload([entry.id], payload(entry, with_copy=copies))


def user_filter(user_id: str) -> qdrant.Filter:
    """Every point of one user."""
    return qdrant.Filter(must=[_is("user_id", user_id)])


def search_filter(scope: Scope, filters: Filters, ids: Iterable[str] | None = None) -> qdrant.Filter:
    """The points of the scope that pass the filters and, where ids are given, have one of them."""
    conditions: list[Any] = [] if ids is None else [qdrant.HasIdCondition(set(point_ids(ids)))]
    if filters.types:
        conditions.append(_is_any("type", filters.types))
    conditions += [_is_any(field, keys) for field, keys in word_filters(scope, filters).items()]
    if filters.since is not None:
        conditions.append(qdrant.FieldCondition("last_said_at", range=qdrant.RangeFloat(gte=filters.since.timestamp())))
    if filters.until is not None:
        conditions.append(qdrant.FieldCondition("created_at", range=qdrant.RangeFloat(lte=filters.until.timestamp())))
    keys: list[Any] = [*_seen_by(scope)]
    if len(keys) == 1:
        return qdrant.Filter(must=[*keys, *conditions])
    return qdrant.Filter(should=keys, must=conditions)  # a third faster than MatchAny on the scope


def stored_points(points: Mapping[str, Known], scope: Scope) -> dict[str, StoredPoint]:
    """Those of the points that the scope sees."""
    return {
        id_: StoredPoint(point.vector, copied_entry(point.fields, scope))
        for id_, point in points.items()
        if is_visible(point.fields, scope)
    }


def cosines(points: Mapping[str, Known], vector: Vector, scope: Scope) -> list[SemanticHit]:
    """The cosine of a unit vector with each of the points that the scope sees."""
    seen = {id_: point.vector for id_, point in points.items() if is_visible(point.fields, scope)}
    if not seen:
        return []
    return list(map(SemanticHit, seen, (np.array(list(seen.values())) @ vector).clip(-1.0, 1.0).tolist()))


@lru_cache(maxsize=1024)
def _seen_by(scope: Scope) -> tuple[qdrant.FieldCondition, ...]:
    return tuple(_is("scope", key) for key in visible_keys(scope))


def _is(field: str, value: str) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(field, match=qdrant.MatchValue(value))


def _is_any(field: str, values: Iterable[str]) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(field, match=qdrant.MatchAny(list(values)))
