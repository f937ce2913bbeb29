"""Embedders: adapters that turn texts into unit vectors, one of which is chosen when a process starts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from contracts.ports import Embedder
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
) -> Embedder | None:
    """The chosen embedder, ready to use; None for "none", with which memory is searched by words only.

    Raises:
        EmbedderMisconfigured: it cannot work before the setting that the message names is changed.
        Unavailable: its server does not answer.
    """
    # Each provider brings a client library, which only those who choose it should wait for.
    if provider == "memorybus":
        from services.shared.embedders.minilm import ReadingMiniLmEmbedder

        return await ReadingMiniLmEmbedder.open(cache_dir, threads=threads)
    if provider == "minilm":
        from services.shared.embedders.minilm import MiniLmEmbedder

        return await MiniLmEmbedder.open(cache_dir, threads=threads)
    if provider == "http":
        from services.shared.embedders.http import HttpEmbedder

        if not model:
            raise EmbedderMisconfigured("name the model of the embedding server with MEMORYBUS_EMBEDDER_MODEL")
        return await HttpEmbedder.open(base_url, model, api_key=api_key)
    if provider == "fastembed":
        from services.shared.embedders.fastembed import FastEmbedEmbedder

        return await FastEmbedEmbedder.open(model, cache_dir=cache_dir, threads=threads)
    return None
