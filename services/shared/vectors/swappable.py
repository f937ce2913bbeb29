"""An index that can be swapped while in use: a query is searched in the vectors of the embedder that embedded it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from contracts.ports import (
    Embedder,
    EmbeddingIdentity,
    Filters,
    Key,
    Scope,
    SemanticHit,
    StoredPoint,
    Vector,
    VectorPoint,
    VectorStore,
)
from contracts.v1.entries import Entry

LINGER = 2.0
"""Seconds without a call after which nobody is taken to be at work with a former index: a request whose query was
embedded searches at once."""

_LOOK_EVERY = 0.05


class VectorIndex:
    """An embedder and the vectors that it made."""

    def __init__(self, identity: EmbeddingIdentity, embedder: Embedder, vectors: VectorStore) -> None:
        self.identity = identity
        self.embedder = embedder
        self.vectors = vectors
        self._calls = 0
        self._last = time.monotonic()

    @contextmanager
    def in_use(self) -> Iterator[VectorIndex]:
        """Around every call."""
        self._calls += 1
        try:
            yield self
        finally:
            self._calls -= 1
            self._last = time.monotonic()

    async def close_when_idle(self) -> None:
        """Wait until nobody is at work with it, then close both; at once when there is no time to wait."""
        try:
            while True:
                await asyncio.sleep(_LOOK_EVERY)
                if self._is_idle:
                    return
        finally:
            await self.close()

    @property
    def _is_idle(self) -> bool:
        return not self._calls and time.monotonic() - self._last >= LINGER

    async def close(self) -> None:
        """Close both."""
        await self.vectors.close()
        await self.embedder.close()


class _Made(np.ndarray[Any, Any]):
    """A vector, and every part of it, that knows which index it is of."""

    origin: VectorIndex | None = None

    def __array_finalize__(self, whole: Any) -> None:
        self.origin = getattr(whole, "origin", None)


class SwappableIndex:
    """Two ports with one index behind them, which can be changed for another between two calls."""

    def __init__(self, index: VectorIndex) -> None:
        self.current = index
        self.embedder: Embedder = _SwappableEmbedder(self)
        self.vectors: VectorStore = _SwappableVectors(self)

    def change(self, index: VectorIndex) -> VectorIndex:
        """From here on every question is for this index; returns the former, which vectors that it made still reach."""
        former, self.current = self.current, index
        return former

    def of(self, vector: Vector) -> VectorIndex:
        """The index that a vector belongs to; the current one for a vector of unknown origin."""
        return getattr(vector, "origin", None) or self.current

    async def close(self) -> None:
        """Close the current index."""
        await self.current.close()


class _SwappableEmbedder:
    """The `Embedder` of contracts.ports."""

    def __init__(self, swappable: SwappableIndex) -> None:
        self._swappable = swappable

    @property
    def identity(self) -> EmbeddingIdentity:
        return self._swappable.current.identity

    async def embed(self, texts: Sequence[str]) -> Vector:
        with self._swappable.current.in_use() as index:
            made = (await index.embedder.embed(texts)).view(_Made)
            made.origin = index
            return made

    async def close(self) -> None:
        await self._swappable.current.embedder.close()


class _SwappableVectors:
    """The `VectorStore` of contracts.ports."""

    def __init__(self, swappable: SwappableIndex) -> None:
        self._swappable = swappable

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        by_index: dict[VectorIndex, list[VectorPoint]] = {}
        for point in points:
            by_index.setdefault(self._swappable.of(point.vector), []).append(point)
        for index, its in by_index.items():
            with index.in_use():
                await index.vectors.upsert(its)

    async def remove(self, ids: Sequence[str]) -> None:
        with self._swappable.current.in_use() as index:
            await index.vectors.remove(ids)

    async def search(self, scope: Scope, vector: Vector, *, limit: int, filters: Filters) -> list[SemanticHit]:
        with self._swappable.of(vector).in_use() as index:
            return await index.vectors.search(scope, vector, limit=limit, filters=filters)

    async def fetch(
        self, scope: Scope, ids: Sequence[str], *, query: Vector | None = None, copies: bool = False
    ) -> dict[str, StoredPoint]:
        of_query = self._swappable.current if query is None else self._swappable.of(query)
        with of_query.in_use() as index:
            return await index.vectors.fetch(scope, ids, query=query, copies=copies)

    async def count(self, user_id: str | None = None) -> int:
        with self._swappable.current.in_use() as index:
            return await index.vectors.count(user_id)

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        with self._swappable.current.in_use() as index:
            return await index.vectors.scan(after=after, limit=limit)

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        with self._swappable.current.in_use() as index:
            return await index.vectors.lacking(entries)

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        with self._swappable.current.in_use() as index:
            return await index.vectors.refresh(entries)

    async def erase(self, user_id: str) -> None:
        with self._swappable.current.in_use() as index:
            await index.vectors.erase(user_id)

    async def compact(self) -> bool:
        with self._swappable.current.in_use() as index:
            return await index.vectors.compact()

    async def ping(self) -> None:
        with self._swappable.current.in_use() as index:
            await index.vectors.ping()

    async def close(self) -> None:
        await self._swappable.current.vectors.close()
