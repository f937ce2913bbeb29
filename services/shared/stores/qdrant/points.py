"""Entries as points of the server, and filters as its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NewType, TypeVar

import numpy as np
from qdrant_client import models

from contracts.ports import Filters, Scope, StoredPoint, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.points import (
    TURN,
    check_point,
    copied_entry,
    newest,
    payload,
    word_filters,
)
from services.shared.stores.qdrant.spec import MAX_UPSERT
from services.shared.stores.scopes import visible_keys

T = TypeVar("T")

ScopedFilter = NewType("ScopedFilter", models.Filter)
"""A filter that lets through nothing but what one scope sees: the only kind that a search takes."""

NUMBERS_PER_REQUEST = 16_384
"""Of a request that stores vectors. Making and sending it takes some 3 ms, in which the event loop stands still."""

IDS_PER_REQUEST = 1000


def checked(points: Sequence[VectorPoint], dimensions: int) -> list[VectorPoint]:
    """Each entry once, in its newest version, the oldest versions first.

    Raises:
        ValueError: an id or a vector cannot be stored.
    """
    for point in points:
        check_point(point, dimensions)
    return sorted(newest(points), key=_version)


def upsert_requests(
    points: Sequence[VectorPoint], dimensions: int, *, copies: bool
) -> Iterator[list[models.UpdateOperation]]:
    """The operations that store points sorted by version, one list a request.

    The server replaces a point only where the filter of the operation matches what it has stored, hence one operation
    a version; it inserts new points in any case.
    """
    for chunk in chunks(points, points_per_request(dimensions)):
        yield [_upsert(version, group, copies=copies) for version, group in groupby(chunk, key=_version)]


def points_per_request(dimensions: int) -> int:
    """How many points are stored at once."""
    return max(1, min(MAX_UPSERT, NUMBERS_PER_REQUEST // dimensions))


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _version(point: VectorPoint) -> int:
    return point.entry.version


def _upsert(version: int, points: Iterable[VectorPoint], *, copies: bool) -> models.UpsertOperation:
    not_newer = models.FieldCondition(key="version", range=models.Range(lte=version))
    structs = [_point_struct(point, copies=copies) for point in points]
    return models.UpsertOperation(
        upsert=models.PointsList(points=structs, update_filter=models.Filter(must=[not_newer]))
    )


def _point_struct(point: VectorPoint, *, copies: bool) -> models.PointStruct:
    vector = {TURN: point.vector.tolist()}
    return models.PointStruct(id=point.entry.id, vector=vector, payload=payload(point.entry, with_copy=copies))


def payload_update(entry: Entry, *, copies: bool) -> models.OverwritePayloadOperation:
    """The operation that has the point of an entry filtered by what the entry is now, unless the point is newer."""
    not_newer = models.FieldCondition(key="version", range=models.Range(lte=entry.version))
    its_point = models.Filter(must=[models.HasIdCondition(has_id=[entry.id]), not_newer])
    written = models.SetPayload(payload=payload(entry, with_copy=copies), filter=its_point)
    return models.OverwritePayloadOperation(overwrite_payload=written)


def user_filter(user_id: str) -> models.Filter:
    """Every point of one user, for counting and for erasing."""
    return models.Filter(must=[_is("user_id", user_id)])


def search_filter(scope: Scope, filters: Filters, ids: Iterable[str] | None = None) -> ScopedFilter:
    """The points of the scope that pass the filters and, where ids are given, have one of them."""
    conditions: list[models.Condition] = [_is("user_id", scope.user_id), _scope_is(visible_keys(scope))]
    if ids is not None:
        conditions.append(models.HasIdCondition(has_id=list(ids)))
    if filters.types:
        conditions.append(_is_any("type", filters.types))
    conditions += [_is_any(field, keys) for field, keys in word_filters(scope, filters).items()]
    if filters.since is not None:
        conditions.append(models.FieldCondition(key="last_said_at", range=models.Range(gte=filters.since.timestamp())))
    if filters.until is not None:
        conditions.append(models.FieldCondition(key="created_at", range=models.Range(lte=filters.until.timestamp())))
    return ScopedFilter(models.Filter(must=conditions))


def _scope_is(keys: Sequence[str]) -> models.FieldCondition:
    return _is("scope", keys[0]) if len(keys) == 1 else _is_any("scope", keys)


def _is(field: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _is_any(field: str, values: Iterable[str]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def stored_points(records: Iterable[models.Record], scope: Scope) -> Iterator[tuple[str, StoredPoint]]:
    """The id and the point of each record."""
    for record in records:
        vector = record.vector.get(TURN) if isinstance(record.vector, dict) else None
        if vector is not None:
            yield str(record.id), StoredPoint(np.array(vector, np.float32), copied_entry(record.payload, scope))
