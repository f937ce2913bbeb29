"""Embeddings by fastembed, which downloads the model it is asked for: an optional extra."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from contracts.errors import Unavailable
from contracts.ports import EmbeddingIdentity, Vector
from services.shared.embedders.errors import EmbedderMisconfigured

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"


class FastEmbedEmbedder:
    """The `Embedder` of contracts.ports on a model of fastembed."""

    def __init__(self, engine: Any, model: str, thread: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._thread = thread
        self._identity = EmbeddingIdentity("fastembed", model, 0)

    @classmethod
    async def open(cls, model: str | None, *, cache_dir: Path, threads: int = 2) -> FastEmbedEmbedder:
        """Load a model into the cache folder, from the network the first time.

        Raises:
            EmbedderMisconfigured: fastembed is not installed, or does not know or get the model.
        """
        chosen = model or DEFAULT_MODEL
        thread = ThreadPoolExecutor(1, thread_name_prefix="embed")
        loop = asyncio.get_running_loop()
        try:
            engine = await loop.run_in_executor(thread, _load, chosen, cache_dir, threads)
            embedder = cls(engine, chosen, thread)
            dimensions = (await loop.run_in_executor(thread, embedder._compute, ["dimensions?"])).shape[1]
        except BaseException:
            thread.shutdown(wait=False)
            raise
        embedder._identity = EmbeddingIdentity("fastembed", chosen, dimensions)
        return embedder

    @property
    def identity(self) -> EmbeddingIdentity:
        """Which model this is."""
        return self._identity

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        if not texts:
            return np.zeros((0, self._identity.dimensions), dtype=np.float32)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._compute, list(texts))

    async def close(self) -> None:
        """Finish what is computed and let go of the thread."""
        await asyncio.to_thread(self._thread.shutdown)

    def _compute(self, texts: list[str]) -> Vector:
        try:
            vectors = np.array(list(self._engine.embed(texts)), dtype=np.float32)
        except Exception as error:
            raise Unavailable(f"fastembed failed: {error}") from error
        unit: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def _load(model: str, cache_dir: Path, threads: int) -> Any:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise EmbedderMisconfigured(
            "fastembed is not installed: run `pip install 'memorybus[fastembed]'`, or choose another embedder with "
            "MEMORYBUS_EMBEDDER"
        ) from error
    try:
        return TextEmbedding(model_name=model, cache_dir=str(cache_dir / "fastembed"), threads=threads)
    except Exception as error:
        raise EmbedderMisconfigured(
            f"fastembed cannot load {model!r} ({error}): check MEMORYBUS_EMBEDDER_MODEL and the network"
        ) from error
