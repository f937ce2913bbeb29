"""A cache with an upper bound."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The values that were put in last, so many of them, each for so many seconds."""

    def __init__(self, size: int, *, seconds: float = math.inf) -> None:
        self._size = size
        self._seconds = seconds
        self._held: dict[K, tuple[V, float]] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._held and time.monotonic() < self._held[key][1]

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._held))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K) -> V | None:
        """The value, which stays."""
        return self._held[key][0] if key in self else None

    def put(self, key: K, value: V) -> None:
        """Keep a value, as the newest; the oldest goes when there are too many."""
        self._held.pop(key, None)
        self._held[key] = value, time.monotonic() + self._seconds
        if len(self._held) > self._size:
            del self._held[next(iter(self._held))]

    def pop(self, key: K) -> V | None:
        """The value, which does not stay."""
        value = self.get(key)
        self._held.pop(key, None)
        return value
