"""The vectors of the questions asked last: one asked in several spaces at once, or again, is embedded once."""

from __future__ import annotations

import asyncio
import time
from hashlib import blake2b

from contracts.ports import Embedder, EmbeddingIdentity, Vector
from services.shared import tracing
from services.shared.cache import Cache

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST = 512

Key = tuple[EmbeddingIdentity, bytes]
Embedding = asyncio.Task[tuple[Vector, float]]
"""The vector of a question, shape (dimensions,), and the milliseconds that making it took."""


class QuestionVectors:
    """Vectors by model and a hash of the question, each for a minute; the questions asked longest ago go first."""

    def __init__(self) -> None:
        self._known: Cache[Key, Embedding] = Cache(_MOST, seconds=_KEPT)

    def of(self, embedder: Embedder, question: str) -> Embedding:
        """What embeds a question, or has. Others may wait for it too: whoever does shields it.

        One that fails is forgotten, so that the next who asks tries again.
        """
        key = embedder.identity, blake2b(question.encode(errors="replace"), digest_size=16).digest()
        embedding = self._known.get(key)
        if embedding is None:
            embedding = asyncio.create_task(_embedded(embedder, question))
            embedding.add_done_callback(lambda done: self._forget_failed(key, done))
            self._known.put(key, embedding)
        return embedding

    def _forget_failed(self, key: Key, done: Embedding) -> None:
        if (done.cancelled() or done.exception()) and self._known.get(key) is done:
            self._known.pop(key)


async def _embedded(embedder: Embedder, question: str) -> tuple[Vector, float]:
    started = time.perf_counter()
    with tracing.span("embed question"):
        [vector] = await embedder.embed([question])
    return vector, (time.perf_counter() - started) * 1000
