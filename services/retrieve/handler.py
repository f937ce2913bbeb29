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
from services.shared.core.relevance import Candidate, blend, context_cosine, cosine_only
from services.shared.core.scoring import Ranked, Weights, contenders, rank

_REACH = 2  # turns before and after whose meaning counts for an entry
_POOL = 2  # how many times the limit is diversified over


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
        filters = filters_of(request, now)
        legs = await self._search(request, scope, filters)
        fused = self._fuse(legs)
        ids = list(fused)[: self.settings.candidates]
        around = await self._around(scope, ids, legs)
        found = self._relevant([describe(i, legs, fused[i], around.get(i, {})) for i in ids], request)
        entries, stored = await asyncio.gather(
            self._contenders(found, request.limit), self._vectors_of_best(scope, found, request.limit, legs)
        )
        visible = {i: entry for i, entry in entries.items() if is_visible(entry, scope, filters)}
        ranked = rank([pair for pair in found if pair[0].id in visible], visible, weights=self._weights, now=now)
        chosen = self._diversify(ranked, visible, stored, request.limit)
        reply = build_reply(request, chosen, visible, counter=self.counter, found=len(found), degraded=legs.degraded)
        took = (time.perf_counter() - started) * 1000
        return reply.model_copy(update={"query_embedding_ms": legs.embedding_ms, "retrieval_ms": took})

    @property
    def _weights(self) -> Weights:
        return Weights(
            alpha=self.settings.alpha,
            beta=self.settings.beta,
            gamma=self.settings.gamma,
            tau_seconds=self.settings.tau_days * 86400,
        )

    async def _search(self, request: RetrieveRequest, scope: Scope, filters: Filters) -> Legs:
        legs = await search_both(
            request.query[: self.settings.max_query_chars],
            scope,
            filters,
            store=self.store,
            vectors=self.vectors,
            embedder=self.embedder,
            limits=(self.settings.candidates, self.settings.semantic_depth),
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

    async def _around(self, scope: Scope, ids: Sequence[str], legs: Legs) -> dict[str, dict[int, float]]:
        """For each entry the cosines of itself (distance 0) and its neighbours with the query.

        A neighbour that the semantic leg did not reach is counted as near as the last one that it did.
        """
        if self.vectors is None or legs.query_vector is None or not ids:
            return {}
        known = {hit.id: hit.cosine for hit in legs.semantic}
        unknown = [i for i in ids if i not in known]
        try:
            neighbours, cosines = await asyncio.gather(
                self.store.neighbours(ids, reach=_REACH), self.vectors.cosines(scope, unknown, legs.query_vector)
            )
        except Unavailable:
            return {}
        reached_all = len(known) < self.settings.semantic_depth
        beyond = None if reached_all else min(known.values(), default=None)
        return {i: _cosines_around(i, neighbours.get(i, {}), known | cosines, beyond) for i in ids}

    def _relevant(self, candidates: Sequence[Candidate], request: RetrieveRequest) -> list[tuple[Candidate, float]]:
        """The candidates that are relevant enough, with their relevance."""
        measure = blend if self.settings.relevance == "blend" else cosine_only
        least = self.settings.min_score if request.min_score is None else request.min_score
        pairs = zip(candidates, measure(candidates), strict=True)
        return [(candidate, relevance) for candidate, relevance in pairs if relevance >= least]

    async def _contenders(self, found: Sequence[tuple[Candidate, float]], limit: int) -> dict[str, Entry]:
        """The entries of those that recency and importance can still bring among the best."""
        best = contenders([relevance for _, relevance in found], self._weights, limit * _POOL)
        return await self.store.entries([found[index][0].id for index in best])

    def _diversify(
        self, ranked: Sequence[Ranked], entries: Mapping[str, Entry], stored: Mapping[str, Vector], limit: int
    ) -> list[Ranked]:
        """The best `limit`, near-copies of better ones moved back (maximal marginal relevance)."""
        pool = ranked[: limit * _POOL]
        if len(pool) < 2 or self.settings.mmr_lambda >= 1.0:
            return list(pool[:limit])
        ids = [item.candidate.id for item in pool]
        tags = [entries[i].tags for i in ids]
        similarity = pairwise_similarity([stored.get(i) for i in ids], tags)
        totals = [item.scores.total for item in pool]
        order = maximal_marginal_relevance(
            totals, similarity, lambda_=self.settings.mmr_lambda, limit=limit, shared_tags=tag_counts(tags)
        )
        return [pool[index] for index in order]

    async def _vectors_of_best(
        self, scope: Scope, found: Sequence[tuple[Candidate, float]], limit: int, legs: Legs
    ) -> dict[str, Vector]:
        """The vectors of the most relevant: those that may have to be told apart."""
        if self.vectors is None or "semantic" in legs.degraded or self.settings.mmr_lambda >= 1.0:
            return {}
        best = sorted(found, key=lambda pair: -pair[1])[: limit * _POOL]
        try:
            return await self.vectors.vectors(scope, [candidate.id for candidate, _ in best])
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


def _cosines_around(
    entry_id: str, near: Mapping[int, str], cosines: Mapping[str, float], beyond: float | None
) -> dict[int, float]:
    around = {distance: cosines.get(i, beyond) for distance, i in near.items()}
    return {d: cosine for d, cosine in {**around, 0: cosines.get(entry_id)}.items() if cosine is not None}


def filters_of(request: RetrieveRequest, now: datetime) -> Filters:
    """What the request filters by."""
    since = now - timedelta(days=request.recency_days) if request.recency_days is not None else None
    return Filters(types=request.types, tags=request.tags, theme=request.theme, since=since)
