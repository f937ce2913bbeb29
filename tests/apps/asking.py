"""Asks a memory as `retrieve` does, by words alone or by meaning, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.ports import Embedder, VectorPoint, VectorStore
from contracts.v1.entries import Entry
from services.retrieve.handler import Retriever
from services.retrieve.settings import RetrieveSettings
from services.shared.tokens import Cl100kCounter
from tests.apps.fakes import FakeEmbedder, FakeVectors


def a_retriever(
    store: Any, vectors: VectorStore | None = None, embedder: Embedder | None = None, **settings: Any
) -> Retriever:
    """A retriever over a text store, or over what stands in for one."""
    return Retriever(store, vectors, embedder, Cl100kCounter(), RetrieveSettings(**settings))


async def points_of(entries: Sequence[Entry]) -> list[VectorPoint]:
    """What FakeEmbedder makes of these entries."""
    matrix = await FakeEmbedder().embed([entry.text for entry in entries])
    return [VectorPoint(entry, vector) for entry, vector in zip(entries, matrix, strict=True)]


async def by_meaning(entries: Sequence[Entry]) -> tuple[FakeVectors, FakeEmbedder]:
    """The vectors of these entries and the model that made them."""
    vectors = FakeVectors()
    await vectors.upsert(await points_of(entries))
    return vectors, FakeEmbedder()
