"""Embedder and vector store behind one switch: whoever embeds with the one searches the other that belongs to it."""

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
"""Seconds without a call after which nobody is taken to be at work with a former pair: a request whose query was
embedded searches at once."""

_LOOK_EVERY = 0.05


class Pair:
    """An embedder and the vectors that it made."""

    def __init__(self, identity: EmbeddingIdentity, embedder: Embedder, vectors: VectorStore) -> None:
        self.identity = identity
        self.embedder = embedder
        self.vectors = vectors
        self._calls = 0
        self._last = time.monotonic()

    @contextmanager
    def in_use(self) -> Iterator[Pair]:
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
    """A vector, and every part of it, that knows which pair it is of."""

    pair: Pair | None = None

    def __array_finalize__(self, whole: Any) -> None:
        self.pair = getattr(whole, "pair", None)


class Switch:
    """Two ports with one pair behind them, which can be changed for another between two calls."""

    def __init__(self, pair: Pair) -> None:
        self.current = pair
        self.embedder: Embedder = _SwitchedEmbedder(self)
        self.vectors: VectorStore = _SwitchedVectors(self)

    def change(self, pair: Pair) -> Pair:
        """From here on every question is for this pair; returns the former, which vectors that it made still reach."""
        former, self.current = self.current, pair
        return former

    def of(self, vector: Vector) -> Pair:
        """The pair that a vector belongs to; the current one for a vector of unknown origin."""
        return getattr(vector, "pair", None) or self.current

    async def close(self) -> None:
        """Close the current pair."""
        await self.current.close()


class _SwitchedEmbedder:
    """The `Embedder` of contracts.ports."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    @property
    def identity(self) -> EmbeddingIdentity:
        return self._switch.current.identity

    async def embed(self, texts: Sequence[str]) -> Vector:
        with self._switch.current.in_use() as pair:
            made = (await pair.embedder.embed(texts)).view(_Made)
            made.pair = pair
            return made

    async def close(self) -> None:
        await self._switch.current.embedder.close()


class _SwitchedVectors:
    """The `VectorStore` of contracts.ports."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    async def upsert(self, points: Sequence[VectorPoint]) -> None:
        by_pair: dict[Pair, list[VectorPoint]] = {}
        for point in points:
            vector = next(iter(point.vectors.values()), None)
            pair = self._switch.current if vector is None else self._switch.of(vector)
            by_pair.setdefault(pair, []).append(point)
        for pair, its in by_pair.items():
            with pair.in_use():
                await pair.vectors.upsert(its)

    async def remove(self, ids: Sequence[str]) -> None:
        with self._switch.current.in_use() as pair:
            await pair.vectors.remove(ids)

    async def search(self, scope: Scope, vector: Vector, *, limit: int, filters: Filters) -> list[SemanticHit]:
        with self._switch.of(vector).in_use() as pair:
            return await pair.vectors.search(scope, vector, limit=limit, filters=filters)

    async def fetch(
        self, scope: Scope, ids: Sequence[str], *, query: Vector | None = None, copies: bool = False
    ) -> dict[str, StoredPoint]:
        of_query = self._switch.current if query is None else self._switch.of(query)
        with of_query.in_use() as pair:
            return await pair.vectors.fetch(scope, ids, query=query, copies=copies)

    async def count(self, user_id: str | None = None) -> int:
        with self._switch.current.in_use() as pair:
            return await pair.vectors.count(user_id)

    async def scan(self, *, after: str, limit: int) -> list[Key]:
        with self._switch.current.in_use() as pair:
            return await pair.vectors.scan(after=after, limit=limit)

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        with self._switch.current.in_use() as pair:
            return await pair.vectors.lacking(entries)

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        with self._switch.current.in_use() as pair:
            return await pair.vectors.refresh(entries)

    async def erase(self, user_id: str) -> None:
        with self._switch.current.in_use() as pair:
            await pair.vectors.erase(user_id)

    async def compact(self) -> bool:
        with self._switch.current.in_use() as pair:
            return await pair.vectors.compact()

    async def ping(self) -> None:
        with self._switch.current.in_use() as pair:
            await pair.vectors.ping()

    async def close(self) -> None:
        await self._switch.current.vectors.close()
