"""The built-in reader beside an embedder that reads nothing: any model may make the vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from contracts.ports import Embedder, EmbeddingIdentity, Vector
from contracts.v1.claims import Reading, Relation
from services.shared.embedders.minilm import ReadingMiniLmEmbedder


class ReadingBeside:
    """The vectors of one model, and what the built-in one reads: the `Reader` of contracts.ports.

    The second is loaded when there is something to read: who only asks questions is spared it.
    """

    def __init__(self, embedder: Embedder, reader: str, cache_dir: Path, threads: int) -> None:
        self._embedder = embedder
        self.reader = reader
        self._cache_dir, self._threads = cache_dir, threads
        self._opened: asyncio.Task[ReadingMiniLmEmbedder] | None = None

    @property
    def identity(self) -> EmbeddingIdentity:
        """That of the vectors."""
        return self._embedder.identity

    async def embed(self, texts: Sequence[str]) -> Vector:
        """The vectors of texts."""
        return await self._embedder.embed(texts)

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        """The vectors of texts, and what is read in each."""
        return await self._embedder.embed(texts), await self.read(texts)

    async def read(self, texts: Sequence[str]) -> list[Reading]:
        """What is read in each text."""
        return await (await self._reading()).read(texts)

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """What the second text of each pair is to the first."""
        return await (await self._reading()).compare(pairs)

    async def close(self) -> None:
        """Close both."""
        if self._opened is not None and not self._opened.cancel():
            await (await self._opened).close()
        await self._embedder.close()

    async def _reading(self) -> ReadingMiniLmEmbedder:
        if self._opened is None or (self._opened.done() and (self._opened.cancelled() or self._opened.exception())):
            opening = ReadingMiniLmEmbedder.open(self._cache_dir, threads=self._threads)
            self._opened = asyncio.get_running_loop().create_task(opening)
        return await asyncio.shield(self._opened)
