"""Embedders: adapters that turn texts into unit vectors, one of which is chosen when a process starts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from contracts.ports import Embedder, Reader
from services.shared.embedders.errors import EmbedderMisconfigured

__all__ = ["EmbedderMisconfigured", "open_embedder"]

Provider = Literal["memorybus", "minilm", "http", "fastembed", "none"]


async def open_embedder(
    provider: Provider,
    *,
    cache_dir: Path,
    threads: int = 2,
    base_url: str = "",
    model: str | None = None,
    api_key: str | None = None,
    reads: bool = False,
) -> Embedder | None:
    """The chosen embedder, ready to use; None for "none", with which memory is searched by words only.

    With `reads` the built-in reader stands beside one that does not read itself. The `model` of "memorybus" is that of
    vectors which an earlier version made.

    Raises:
        EmbedderMisconfigured: it cannot work before the setting that the message names is changed.
        Unavailable: its server does not answer.
    """
    if provider == "none":
        return None
    embedder = await _opened(provider, cache_dir, threads, base_url, model, api_key)
    if isinstance(embedder, Reader) or not reads:
        return embedder
    from services.shared.embedders.beside import ReadingBeside
    from services.shared.embedders.minilm import reader_version

    return ReadingBeside(embedder, await asyncio.to_thread(reader_version), cache_dir, threads)


async def _opened(
    provider: Provider, cache_dir: Path, threads: int, base_url: str, model: str | None, api_key: str | None
) -> Embedder:
    # Each provider brings a client library, which only those who choose it should wait for.
    if provider == "http":
        from services.shared.embedders.http import HttpEmbedder

        if not model:
            raise EmbedderMisconfigured("name the model of the embedding server with MEMORYBUS_EMBEDDER_MODEL")
        return await HttpEmbedder.open(base_url, model, api_key=api_key)
    if provider == "fastembed":
        from services.shared.embedders.fastembed import FastEmbedEmbedder

        return await FastEmbedEmbedder.open(model, cache_dir=cache_dir, threads=threads)
    from services.shared.embedders import minilm

    if provider == "minilm":
        return await minilm.MiniLmEmbedder.open(cache_dir, threads=threads)
    if model and not await asyncio.to_thread(minilm.is_built_in, model):
        return await minilm.MiniLmEmbedder.open_former(cache_dir, model, threads=threads)
    return await minilm.ReadingMiniLmEmbedder.open(cache_dir, threads=threads)
