"""Both legs side by side, fused, ranked, diversified, cut to the budget. Models and stores are ports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contracts.ports import Embedder, Filters, Scope, TextStore, TokenCounter, Unavailable, Vector, VectorStore
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.legs import Legs, search_both
from services.retrieve.reply import build_reply
from services.retrieve.settings import RetrieveSettings
from services.shared.core.ranking import (
    maximal_marginal_relevance,
    pairwise_similarity,
    reciprocal_rank_fusion,
    tag_counts,
)
from services.shared.core.relevance import Candidate, context_cosine
from services.shared.core.scoring import Ranked, Weights, rank

_REACH = 2  # turns before and after whose meaning counts for an entry
_POOL = 3  # how many times the limit is diversified over


@dataclass(frozen=True, slots=True)
class Retriever:
    """Answers retrieve requests. Without vectors or embedder, memory is searched by words only."""

    store: TextStore
    vectors: VectorStore | None
    embedder: Embedder | None
    counter: TokenCounter
    settings: RetrieveSettings

    async def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        """The memories that matter now.

        Raises:
            Unavailable: no leg could answer, or the entries could not be read.
        """
        started = time.perf_counter()
        now = request.now or datetime.now(UTC)
        scope = Scope(request.user_id, request.space, request.persona_id)
        legs = await self._search(request, scope, now)
        fused = self._fuse(legs)
        ids = sorted(fused, key=lambda i: (-fused[i], i))[: self.settings.candidates]
        entries, around = await asyncio.gather(self.store.entries(ids), self._around(scope, ids, legs.query_vector))
        visible = {i: entries[i] for i in ids if i in entries and is_visible(entries[i], scope, _filters(request, now))}
        candidates = [describe(i, legs, fused[i], around.get(i, {})) for i in visible]
        ranked = self._rank(candidates, visible, request, now)
        chosen = await self._diversify(ranked, visible, scope, request.limit)
        found, degraded = len(ranked), legs.degraded
        reply = build_reply(request, chosen, visible, counter=self.counter, found=found, degraded=degraded)
        took = (time.perf_counter() - started) * 1000
        return reply.model_copy(update={"query_embedding_ms": legs.embedding_ms, "retrieval_ms": took})

    async def _search(self, request: RetrieveRequest, scope: Scope, now: datetime) -> Legs:
        legs = await search_both(
            request.query[: self.settings.max_query_chars],
            scope,
            _filters(request, now),
            store=self.store,
            vectors=self.vectors,
            embedder=self.embedder,
            limit=self.settings.candidates,
            patience=self.settings.leg_timeout_seconds,
        )
        if "lexical" in legs.degraded and legs.query_vector is None:
            raise Unavailable("neither words nor meaning could be searched")
        return legs

    def _fuse(self, legs: Legs) -> dict[str, float]:
        return reciprocal_rank_fusion(
            {"lexical": [hit.id for hit in legs.lexical], "semantic": [hit.id for hit in legs.semantic]},
            weights={"lexical": self.settings.lexical_weight, "semantic": self.settings.semantic_weight},
            k=self.settings.rrf_k,
        )

    async def _around(self, scope: Scope, ids: Sequence[str], query: Vector | None) -> dict[str, dict[int, float]]:
        """For each entry the cosines of itself (distance 0) and its neighbours with the query."""
        if self.vectors is None or query is None or not ids:
            return {}
        neighbours = await self.store.neighbours(ids, reach=_REACH)
        everyone = {*ids, *(other for near in neighbours.values() for other in near.values())}
        try:
            cosines = await self.vectors.cosines(scope, sorted(everyone), query)
        except Unavailable:
            return {}
        return {i: _cosines_around(i, neighbours.get(i, {}), cosines) for i in ids}

    def _rank(
        self, candidates: Sequence[Candidate], entries: Mapping[str, Entry], request: RetrieveRequest, now: datetime
    ) -> list[Ranked]:
        weights = Weights(
            alpha=self.settings.alpha,
            beta=self.settings.beta,
            gamma=self.settings.gamma,
            tau_seconds=self.settings.tau_days * 86400,
        )
        least = self.settings.min_score if request.min_score is None else request.min_score
        ranked = rank(candidates, entries, weights=weights, relevance=self.settings.relevance, now=now)
        return [item for item in ranked if item.scores.relevance >= least]

    async def _diversify(
        self, ranked: Sequence[Ranked], entries: Mapping[str, Entry], scope: Scope, limit: int
    ) -> list[Ranked]:
        """The best `limit`, near-copies of better ones moved back (maximal marginal relevance)."""
        pool = ranked[: max(limit * _POOL, limit + 1)]
        if len(pool) < 2 or self.settings.mmr_lambda >= 1.0:
            return list(pool[:limit])
        ids = [item.candidate.id for item in pool]
        stored = await self._stored_vectors(scope, ids)
        tags = [entries[i].tags for i in ids]
        similarity = pairwise_similarity([stored.get(i) for i in ids], tags)
        totals = [item.scores.total for item in pool]
        order = maximal_marginal_relevance(
            totals, similarity, lambda_=self.settings.mmr_lambda, limit=limit, shared_tags=tag_counts(tags)
        )
        return [pool[index] for index in order]

    async def _stored_vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, Vector]:
        if self.vectors is None:
            return {}
        try:
            return await self.vectors.vectors(scope, ids)
        except Unavailable:
            return {}


def is_visible(entry: Entry, scope: Scope, filters: Filters) -> bool:
    """The last look at scope and filters, on the entry itself: whatever a leg returned, only this goes out."""
    in_scope = entry.user_id == scope.user_id and entry.space == scope.space
    for_persona = entry.persona_id is None or entry.persona_id == scope.persona_id
    return entry.status == "active" and in_scope and for_persona and _passes(entry, filters)


def _passes(entry: Entry, filters: Filters) -> bool:
    return (
        (filters.types is None or entry.type in filters.types)
        and (filters.tags is None or not set(filters.tags).isdisjoint(entry.tags))
        and (filters.theme is None or filters.theme in entry.themes)
        and (filters.since is None or entry.created_at >= filters.since)
    )


def describe(entry_id: str, legs: Legs, rrf: float, around: Mapping[int, float]) -> Candidate:
    """Everything the ranking may look at, for one candidate."""
    lexical, semantic = legs.lexical_by_id.get(entry_id), legs.semantic_by_id.get(entry_id)
    cosine = around.get(0, semantic[1].cosine if semantic else None)
    return Candidate(
        id=entry_id,
        lexical_rank=lexical[0] if lexical else None,
        semantic_rank=semantic[0] if semantic else None,
        rrf=rrf,
        bm25=lexical[1].score if lexical else None,
        bm25_turn=lexical[1].turn_score if lexical else None,
        coverage=lexical[1].coverage if lexical else None,
        cosine=cosine,
        cosine_context=context_cosine({**around, 0: cosine}) if cosine is not None else None,
    )


def _cosines_around(entry_id: str, near: Mapping[int, str], cosines: Mapping[str, float]) -> dict[int, float]:
    placed = {0: entry_id, **near}
    return {distance: cosines[i] for distance, i in placed.items() if i in cosines}


def _filters(request: RetrieveRequest, now: datetime) -> Filters:
    since = now - timedelta(days=request.recency_days) if request.recency_days is not None else None
    return Filters(types=request.types, tags=request.tags, theme=request.theme, since=since)
