"""An index that can be changed while in use: whoever has begun with one goes on with it to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

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


class VectorIndex:
    """An embedder and the vectors that it made."""

    def __init__(self, identity: EmbeddingIdentity, embedder: Embedder, vectors: VectorStore) -> None:
        self.identity = identity
        self.embedder = embedder
        self.vectors = vectors
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def in_use(self) -> Iterator[VectorIndex]:
        """While the block takes, it is not closed."""
        self._calls += 1
        self._idle.clear()
        try:
            yield self
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def close_when_idle(self) -> None:
        """Wait until nobody is at work with it, then close both; at once when there is no time to wait."""
        try:
            await self._idle.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close both."""
        await self.vectors.close()
        await self.embedder.close()


class SwappableIndex:
    """The index in use, which can be changed for another."""

    def __init__(self, index: VectorIndex) -> None:
        self.current = index
        self.vectors: VectorStore = _CurrentVectors(self)

    def change(self, index: VectorIndex) -> VectorIndex:
        """From here on everything begins with this index; returns the former, which some may still be at work with."""
        former, self.current = self.current, index
        return former

    async def close(self) -> None:
        """Close the current index."""
        await self.current.close()


@contextmanager
def using(swappable: SwappableIndex | None) -> Iterator[tuple[VectorStore | None, Embedder | None]]:
    """The current vectors and the model that made them, the same two until the block ends; without an index neither."""
    if swappable is None:
        yield None, None
    else:
        with swappable.current.in_use() as index:
            yield index.vectors, index.embedder


class _CurrentVectors:
    """The `VectorStore` of contracts.ports: each call is for the index that is current then."""

    def __init__(self, swappable: SwappableIndex) -> None:
        self._swappable = swappable

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        with self._swappable.current.in_use() as index:
            await index.vectors.upsert(points)

    async def remove(self, ids: Sequence[str]) -> None:
        with self._swappable.current.in_use() as index:
            await index.vectors.remove(ids)

    async def search(
        self, scope: Scope, vector: Vector, *, limit: int, filters: Filters, ids: Collection[str] | None = None
    ) -> list[SemanticHit]:
        with self._swappable.current.in_use() as index:
            return await index.vectors.search(scope, vector, limit=limit, filters=filters, ids=ids)

    async def fetch(self, scope: Scope, ids: Sequence[str], *, copies: bool = False) -> dict[str, StoredPoint]:
        with self._swappable.current.in_use() as index:
            return await index.vectors.fetch(scope, ids, copies=copies)

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
