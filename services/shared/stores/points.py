"""What a Qdrant engine is told of an entry, wherever the engine runs: ids, scope keys, payload, checked vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from contracts.ports import Scope, Vector, VectorPoint
from contracts.v1.entries import Entry
from services.shared.stores.scopes import scope_key, visible_keys

TURN = "turn"
"""The vector of an entry's own text."""

COPY = "copy"
"""The field of a payload that holds the entry itself."""

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def point_id(entry_id: str) -> str | None:
    """The id as the engine knows it; None for one that no point can have, as only canonical UUIDs are stored."""
    return entry_id if _UUID.fullmatch(entry_id) else None


def point_ids(entry_ids: Iterable[str]) -> list[str]:
    """Those of the ids that a point can have, each once, in the order given."""
    return list(dict.fromkeys(key for key in map(point_id, entry_ids) if key is not None))


def newest(points: Sequence[VectorPoint]) -> list[VectorPoint]:
    """Of points with the same id the one of the highest version; of equal versions the last."""
    latest: dict[str, VectorPoint] = {}
    for point in points:
        known = latest.get(point.entry.id)
        if known is None or known.entry.version <= point.entry.version:
            latest[point.entry.id] = point
    return list(latest.values())


def check_point(point: VectorPoint, sizes: Mapping[str, int]) -> None:
    """Make sure that the point can be stored where vectors of these names have these dimensions.

    Raises:
        ValueError: its id is no canonical UUID, it has no vector, or a vector is not as it must be.
    """
    if point_id(point.entry.id) is None:
        raise ValueError(f"entry id {point.entry.id!r} is no canonical UUID")
    if not point.vectors:
        raise ValueError(f"entry {point.entry.id} comes without a vector")
    for name, vector in point.vectors.items():
        checked_vector(vector, sizes.get(name), name)


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


def payload(entry: Entry, *, with_copy: bool = False) -> dict[str, Any]:
    """What points are filtered by; and, if wanted, a copy of the entry to answer with while the text store is away."""
    filtered_by = {
        "user_id": entry.user_id,
        "scope": scope_key(entry.user_id, entry.space, entry.persona_id),
        "type": entry.type,
        "tags": list(entry.tags),
        "themes": list(entry.themes),
        "created_at": entry.created_at.timestamp(),
        "version": entry.version,
    }
    return filtered_by | {COPY: entry.model_dump_json(exclude_none=True)} if with_copy else filtered_by


def copied_entry(payload: Mapping[str, Any] | None, scope: Scope) -> Entry | None:
    """The copy of an entry in a payload, if there is one that the scope sees."""
    if payload is None or payload.get("scope") not in visible_keys(scope) or COPY not in payload:
        return None
    return Entry.model_validate_json(payload[COPY])
