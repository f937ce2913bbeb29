"""The two searches, side by side: one that fails or is late is named, and the other still answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Protocol, TypeVar

from contracts.ports import (
    EntryStore,
    Filters,
    LexicalHit,
    LexicalIndex,
    Privacy,
    Scope,
    Selection,
    SemanticHit,
    StoredPoint,
    TextRefused,
    TokenCounter,
    Unavailable,
    UserRecords,
    Vector,
    VectorStore,
)
from contracts.v1.entries import Entry
from services.retrieve.questions import Embedding
from services.retrieve.settings import RetrieveSettings
from services.retrieve.spelling import as_the_model_reads_it, find_corrections
from services.shared import telemetry, tracing
from services.shared.entities.identifiers import other_spellings
from services.shared.language.typing_errors import respelled
from services.shared.ranking.scoring import Candidate
from services.shared.temporal.time_spans import Span

log = logging.getLogger(__name__)

T = TypeVar("T")
Hit = TypeVar("Hit", LexicalHit, SemanticHit)
Embed = Callable[[str], Embedding]

REACH = 2
"""Turns before and after an entry whose meaning counts for it."""


class Memory(LexicalIndex, EntryStore, Privacy, UserRecords, Protocol):
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
    corrections: Mapping[str, str]
    """Words of the query that were taken for typing errors, and for what."""


@dataclass(frozen=True, slots=True)
class _Lexical:
    hits: Sequence[LexicalHit] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)


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
    embed: Embed | None,
    counter: TokenCounter,
    limits: tuple[int, int],
    patience: float,
) -> Legs:
    """Search by words and by meaning at the same time: `limits` hits each.

    The first that answers waits for the other until `patience` seconds have passed. While neither has answered, only
    the caller's deadline ends the waiting: late is better than nothing.
    """
    widest, deepest = limits
    corrections = asyncio.create_task(find_corrections(query, scope, store, counter))
    reading = partial(as_the_model_reads_it, query, corrections)
    by_words = _search_words(query, corrections, scope, filters, store, widest)
    by_meaning = _search_meaning(query, reading, scope, filters, vectors, embed, deepest)
    lexical = asyncio.create_task(_or_none("lexical", by_words))
    semantic = asyncio.create_task(_or_none("semantic", by_meaning))
    try:
        _, late = await asyncio.wait((lexical, semantic), timeout=patience)
        while late and not (_answers(lexical) or _answers(semantic)):
            _, late = await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)
        words, meaning = _answer("lexical", lexical), _answer("semantic", semantic)
    finally:
        for task in (corrections, lexical, semantic):
            task.cancel()
    degraded = tuple(leg for leg, found in (("lexical", words), ("semantic", meaning)) if found is None)
    words, meaning = words or _Lexical(), meaning or _Semantic()
    return Legs(
        lexical=words.hits,
        semantic=meaning.hits,
        query_vector=meaning.vector,
        embedding_ms=meaning.embedding_ms,
        degraded=degraded,
        lexical_by_id=by_id(words.hits),
        semantic_by_id=by_id(meaning.hits),
        corrections=words.corrections,
    )


async def with_told_then(
    legs: Legs, times: Sequence[Span], scope: Scope, filters: Filters, store: EntryStore, settings: RetrieveSettings
) -> Legs:
    """The legs of a question, and for one that asks for nothing but its times all that was said then, the latest first.

    A search by meaning has found it, as far as there are vectors; one for the words of such a question finds little.
    """
    if not times or len(legs.semantic) >= settings.semantic_depth or "lexical" in legs.degraded:
        return legs
    wanted = {one.name: getattr(filters, one.name) for one in fields(filters)}
    told = Selection(scope.user_id, scope.space, scope.persona_id or "", **wanted)
    try:
        async with asyncio.timeout(settings.leg_timeout_seconds):
            page = await store.page(told, limit=settings.lexical_depth, cursor=None)
    except (Unavailable, TimeoutError) as error:
        _tell("lexical", str(error) or "too slow")
        return replace(legs, degraded=("lexical", *legs.degraded))
    found = legs.lexical_by_id.keys() | legs.semantic_by_id.keys()
    hits = [*legs.lexical, *(LexicalHit(entry.id, 0.0, 0.0, 0.0) for entry in page.entries if entry.id not in found)]
    return replace(legs, lexical=hits, lexical_by_id=by_id(hits))


def by_id(hits: Sequence[Hit]) -> dict[str, tuple[int, Hit]]:
    """Each hit with its rank, which begins at 1."""
    return {hit.id: (rank, hit) for rank, hit in enumerate(hits, start=1)}


def describe(entry_id: str, legs: Legs, rrf: float, cosine: float | None, cosine_context: float | None) -> Candidate:
    """What the legs say about one candidate."""
    lexical, semantic = legs.lexical_by_id.get(entry_id), legs.semantic_by_id.get(entry_id)
    rank = semantic[0] if semantic else None
    if lexical is None:
        return Candidate(entry_id, None, rank, rrf, None, None, None, cosine, cosine_context)
    place, hit = lexical
    return Candidate(entry_id, place, rank, rrf, hit.score, hit.turn_score, hit.coverage, cosine, cosine_context)


def copies_of(ids: Sequence[str], stored: Mapping[str, StoredPoint]) -> dict[str, Entry]:
    """The copies of these entries, as far as there are any."""
    copies = {i: stored[i].copy for i in ids if i in stored}
    return {i: copy for i, copy in copies.items() if copy is not None}


async def _search_words(
    query: str,
    corrections: Awaitable[Mapping[str, str]],
    scope: Scope,
    filters: Filters,
    store: LexicalIndex,
    limit: int,
) -> _Lexical:
    """Search for the words as they are meant: which are typing errors is looked up first, in far less time. So is in
    which other ways a code is written in memory."""
    meant = await corrections
    spellings = other_spellings(query)
    known = await store.frequencies(scope, spellings) if spellings else {}
    asked = " ".join((respelled(query, meant), *known))
    hits = await store.search(scope, asked, limit=limit, filters=filters, reach=REACH)
    return _Lexical(hits, meant)


async def _search_meaning(
    query: str,
    reading: Callable[[], Awaitable[str]],
    scope: Scope,
    filters: Filters,
    vectors: VectorStore | None,
    embed: Embed | None,
    limit: int,
) -> _Semantic:
    """Search for the meaning of the query as the model is to read it.

    It is embedded as it is while that is looked up: nearly always they are the same. Where they are not, nobody waits
    for the first.
    """
    if vectors is None or embed is None or not query.strip():
        return _Semantic()
    embedding = embed(query)
    known = embedding.done()
    if (meant := await reading()) != query:
        embedding = embed(meant)
        known = embedding.done()
    vector, took = await asyncio.shield(embedding)
    hits = await vectors.search(scope, vector, limit=limit, filters=filters)
    return _Semantic(hits, vector, 0.0 if known else took)


async def _or_none(leg: str, search: Awaitable[T]) -> T | None:
    try:
        with tracing.span(f"search {leg}"):
            return await search
    except (Unavailable, TextRefused, TimeoutError) as error:
        _tell(leg, str(error))
        return None


def _answers(leg: asyncio.Task[_Lexical | None] | asyncio.Task[_Semantic | None]) -> bool:
    """Whether a search is done and found something to begin with; a search by meaning without a model has not."""
    found = leg.result() if leg.done() else None
    return found.vector is not None if isinstance(found, _Semantic) else found is not None


def _answer(leg: str, search: asyncio.Task[T | None]) -> T | None:
    """What a search found, None of one that failed or is late."""
    if search.done():
        return search.result()
    _tell(leg, "too slow")
    return None


def _tell(leg: str, cause: str) -> None:
    log.warning("leg_degraded", extra={"leg": leg, "cause": cause})
    telemetry.DEGRADED.labels(leg).inc()
