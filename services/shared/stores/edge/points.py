"""Entries as points of the engine, and filters as its conditions."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import qdrant_edge as qdrant

from contracts.ports import Filters, Scope, Vector, VectorPoint
from contracts.v1.entries import Entry

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

INDEXES: Mapping[str, Any] = {
    "user_id": qdrant.KeywordIndexParams(is_tenant=True),
    "scope": qdrant.KeywordIndexParams(),
    "type": qdrant.KeywordIndexParams(),
    "tags": qdrant.KeywordIndexParams(),
    "themes": qdrant.KeywordIndexParams(),
    "created_at": qdrant.FloatIndexParams(),
}


def scope_key(user_id: str, space: str, persona_id: str | None) -> str:
    """One keyword for user, space and persona together, whatever characters are in them."""
    parts = json.dumps([user_id, space, persona_id or ""])
    return blake2b(parts.encode(), digest_size=16).hexdigest()


def visible_keys(scope: Scope) -> tuple[str, ...]:
    """The keys of what the scope sees: entries of no persona, and those of its own."""
    common = scope_key(scope.user_id, scope.space, None)
    return (common, scope_key(scope.user_id, scope.space, scope.persona_id)) if scope.persona_id else (common,)


def point_id(entry_id: str) -> str | None:
    """The id as the engine knows it; None for one that no point can have, as only canonical UUIDs are stored."""
    return entry_id if _UUID.fullmatch(entry_id) else None


def upserts(points: Sequence[VectorPoint], sizes: Mapping[str, int]) -> Iterator[qdrant.UpdateOperation]:
    """The operations that store the points, one for each version among them.

    The engine replaces a point only where the filter of the operation matches what it has stored, hence one operation
    a version; it inserts new points in any case.

    Raises:
        ValueError: an id or a vector cannot be stored.
    """
    by_version: dict[int, list[qdrant.Point]] = defaultdict(list)
    for point in _newest(points):
        by_version[point.entry.version].append(_engine_point(point, sizes))
    for version, group in by_version.items():
        not_newer = qdrant.FieldCondition("version", range=qdrant.RangeFloat(lte=version))
        yield qdrant.UpdateOperation.upsert_points(group, qdrant.Filter(must=[not_newer]))


def _newest(points: Sequence[VectorPoint]) -> Iterable[VectorPoint]:
    """Of points with the same id the one of the highest version; of equal versions the last."""
    newest: dict[str, VectorPoint] = {}
    for point in points:
        known = newest.get(point.entry.id)
        if known is None or known.entry.version <= point.entry.version:
            newest[point.entry.id] = point
    return newest.values()


def _engine_point(point: VectorPoint, sizes: Mapping[str, int]) -> qdrant.Point:
    key = point_id(point.entry.id)
    if key is None:
        raise ValueError(f"entry id {point.entry.id!r} is no canonical UUID")
    if not point.vectors:
        raise ValueError(f"entry {key} comes without a vector")
    vectors = {name: checked_vector(vector, sizes.get(name), name) for name, vector in point.vectors.items()}
    return qdrant.Point(key, vectors, _payload(point.entry))


def checked_vector(vector: Vector, dimensions: int | None, name: str) -> Any:
    """The vector as the engine takes it.

    Raises:
        ValueError: unknown name, wrong shape, or numbers that are not finite.
    """
    if dimensions is None:
        raise ValueError(f"there is no vector named {name!r} in this store")
    if vector.shape != (dimensions,):
        raise ValueError(f"vector {name!r} has shape {vector.shape}, not ({dimensions},)")
    if not np.isfinite(vector).all():
        raise ValueError(f"vector {name!r} has numbers that are not finite")
    return np.asarray(vector, dtype=np.float32)


def _payload(entry: Entry) -> dict[str, Any]:
    return {
        "user_id": entry.user_id,
        "scope": scope_key(entry.user_id, entry.space, entry.persona_id),
        "type": entry.type,
        "tags": list(entry.tags),
        "themes": list(entry.themes),
        "created_at": entry.created_at.timestamp(),
        "version": entry.version,
    }


def user_filter(user_id: str) -> qdrant.Filter:
    """Every point of one user."""
    return qdrant.Filter(must=[_is("user_id", user_id)])


def search_filter(scope: Scope, filters: Filters, ids: Iterable[str] | None = None) -> qdrant.Filter:
    """The points of the scope that pass the filters and, where ids are given, have one of them."""
    conditions: list[Any] = []
    if ids is not None:
        conditions.append(qdrant.HasIdCondition(set(ids)))
    for field, allowed in (("type", filters.types), ("tags", filters.tags)):
        if allowed is not None:
            conditions.append(qdrant.FieldCondition(field, match=qdrant.MatchAny(list(allowed))))
    if filters.theme is not None:
        conditions.append(_is("themes", filters.theme))
    if filters.since is not None:
        since = qdrant.RangeFloat(gte=filters.since.timestamp())
        conditions.append(qdrant.FieldCondition("created_at", range=since))
    keys: list[Any] = [_is("scope", key) for key in visible_keys(scope)]
    if len(keys) == 1:
        return qdrant.Filter(must=[*keys, *conditions])
    return qdrant.Filter(should=keys, must=conditions)  # a third faster than MatchAny on the scope


def visible_vectors(records: Iterable[qdrant.Record], scope: Scope, name: str) -> dict[str, Vector]:
    """The vectors of this name in the records that the scope sees, by entry id."""
    visible = set(visible_keys(scope))
    found = {}
    for record in records:
        vector = record.vector.get(name) if isinstance(record.vector, dict) else None
        if vector is not None and (record.payload or {}).get("scope") in visible:
            found[str(record.id)] = np.array(vector, dtype=np.float32)
    return found


def _is(field: str, value: str) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(field, match=qdrant.MatchValue(value))
