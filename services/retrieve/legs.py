"""The two searches, side by side: one that fails or is late is named, and the other still answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from contracts.ports import (
    Embedder,
    EntryStore,
    Filters,
    LexicalHit,
    LexicalIndex,
    Privacy,
    Scope,
    SemanticHit,
    TextRefused,
    Unavailable,
    Vector,
    VectorStore,
)
from services.shared import telemetry

log = logging.getLogger(__name__)

T = TypeVar("T")

REACH = 2
"""Turns before and after an entry whose meaning counts for it."""


class Memory(LexicalIndex, EntryStore, Privacy, Protocol):
    """What retrieve asks of a text store."""


@dataclass(frozen=True, slots=True)
class Legs:
    """What both legs brought, best first, and which of them could not answer."""

    lexical: Sequence[LexicalHit]
    semantic: Sequence[SemanticHit]
    query_vector: Vector | None
    embedding_ms: float
    degraded: tuple[str, ...]
    lexical_by_id: dict[str, tuple[int, LexicalHit]]
    semantic_by_id: dict[str, tuple[int, SemanticHit]]


@dataclass(frozen=True, slots=True)
class _Semantic:
    hits: Sequence[SemanticHit] = ()
    vector: Vector | None = None
    embedding_ms: float = 0.0


async def search_both(
    query: str,
    scope: Scope,
    filters: Filters,
    *,
    store: LexicalIndex,
    vectors: VectorStore | None,
    embedder: Embedder | None,
    limits: tuple[int, int],
    patience: float,
) -> Legs:
    """Search by words and by meaning at the same time: `limits` hits each, for at most `patience` seconds each."""
    widest, deepest = limits
    degraded: list[str] = []
    words = store.search(scope, query, limit=widest, filters=filters, reach=REACH)
    lexical, semantic = await asyncio.gather(
        _or_degraded("lexical", words, patience, degraded),
        _or_degraded(
            "semantic", _search_meaning(query, scope, filters, vectors, embedder, deepest), patience, degraded
        ),
    )
    hits, meaning = lexical or [], semantic or _Semantic()
    return Legs(
        lexical=hits,
        semantic=meaning.hits,
        query_vector=meaning.vector,
        embedding_ms=meaning.embedding_ms,
        degraded=tuple(degraded),
        lexical_by_id={hit.id: (rank, hit) for rank, hit in enumerate(hits, start=1)},
        semantic_by_id={hit.id: (rank, hit) for rank, hit in enumerate(meaning.hits, start=1)},
    )


async def _search_meaning(
    query: str,
    scope: Scope,
    filters: Filters,
    vectors: VectorStore | None,
    embedder: Embedder | None,
    limit: int,
) -> _Semantic:
    if vectors is None or embedder is None or not query.strip():
        return _Semantic()
    started = time.perf_counter()
    vector = (await embedder.embed([query]))[0]
    embedding_ms = (time.perf_counter() - started) * 1000
    return _Semantic(await vectors.search(scope, vector, limit=limit, filters=filters), vector, embedding_ms)


async def _or_degraded(leg: str, search: Awaitable[T], patience: float, degraded: list[str]) -> T | None:
    try:
        async with asyncio.timeout(patience):
            return await search
    except (Unavailable, TextRefused, TimeoutError) as error:
        log.warning("leg_degraded", extra={"leg": leg, "cause": str(error) or "too slow"})
        telemetry.DEGRADED.labels(leg).inc()
        degraded.append(leg)
        return None
