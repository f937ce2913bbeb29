"""What this process knows of points without asking the engine: the folder is its own, so nobody else changes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import qdrant_edge as qdrant

from contracts.ports import Vector
from services.shared.stores.points import TURN

MOST_POINTS = 4096
"""Points remembered; with vectors of 384 dimensions some 8 MB."""

_MOST_NAMES = 1 << 15


class Known(NamedTuple):
    """The vector of a point, which nobody may change, and the payload that tells who sees it."""

    vector: Vector
    fields: Mapping[str, Any]


def read_points(records: Iterable[qdrant.Record]) -> dict[str, Known]:
    """The points in what the engine read."""
    found = {}
    for record in records:
        vectors = record.vector  # made anew whenever it is asked for, as the payload is
        if (numbers := vectors.get(TURN) if isinstance(vectors, dict) else None) is not None:
            vector = np.array(numbers, np.float32)
            vector.setflags(write=False)
            found[str(record.id)] = Known(vector, record.payload or {})
    return found


class KnownPoints:
    """The points that were fetched last. What changes points forgets them first, on the same thread that fetches."""

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._held: dict[str, Known] = {}

    def get(self, ids: Iterable[str]) -> dict[str, Known]:
        """Those of these points that are remembered."""
        return {id_: point for id_ in ids if (point := self._held.get(id_)) is not None}

    def note(self, points: Mapping[str, Known]) -> None:
        """Remember points, as the newest; the oldest go when there are too many."""
        self._held |= points
        while len(self._held) > self._most:
            del self._held[next(iter(self._held))]

    def forget(self, ids: Iterable[str]) -> None:
        """Leave nothing of these points."""
        for id_ in ids:
            self._held.pop(id_, None)

    def clear(self) -> None:
        """Leave nothing of any point."""
        self._held.clear()


class PointNames:
    """The ids of points as text: a search brings many, often the same, and to write one out takes a microsecond."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, points: Iterable[Any]) -> list[str]:
        """The id of each of the engine's points, all of which are UUIDs."""
        known = self._known
        return [known.get(number) or self._written(number) for number in [point.id.int for point in points]]

    def _written(self, number: int) -> str:
        if len(self._known) >= _MOST_NAMES:
            self._known.clear()
        digits = f"{number:032x}"
        name = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        return self._known.setdefault(number, name)

    def clear(self) -> None:
        """Leave nothing of any point."""
        self._known.clear()
