"""Both legs side by side, fused, ranked, diversified, cut to the budget. Models and stores are ports."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from contracts.ports import Embedder, Filters, Key, Scope, StoredPoint, TokenCounter, Unavailable, VectorStore
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.retrieve.cards import cards_asked_for
from services.retrieve.conflicts import other_halves, with_halves
from services.retrieve.formerly import with_former
from services.retrieve.legs import REACH, Legs, Memory, copies_of, describe, search_both, with_told_then
from services.retrieve.lookalikes import with_those_alike
from services.retrieve.questions import QuestionVectors
from services.retrieve.reply import build_reply, cut_reply, explained_question, item_sizes
from services.retrieve.seen import Seen, joined, pool_of
from services.retrieve.settings import RetrieveSettings
from services.retrieve.speakers import Speakers
from services.retrieve.visibility import as_asked_for, filters_of, narrowed, said_within
from services.shared import tracing
from services.shared.context.block import MOST_PINNED
from services.shared.entities.identifiers import identifiers_in, named_in
from services.shared.erasures import is_hidden
from services.shared.knowledge.newest import LOOKED_AT, newest_first
from services.shared.language.analysis import is_foreign, telling_terms
from services.shared.language.text import beginning, composed
from services.shared.language.traits import traits_of
from services.shared.lifecycle.fitting import how_many_fit, size_of
from services.shared.ranking.features import Found, in_first_person, that_tell
from services.shared.ranking.fusion import (
    maximal_marginal_relevance,
    pairwise_similarity,
    reciprocal_rank_fusion,
    tag_counts,
)
from services.shared.ranking.lookalikes import arranged
from services.shared.ranking.model import profile, shortlist
from services.shared.ranking.scoring import (
    Candidate,
    Ranked,
    Weights,
    blend,
    context_cosines,
    cosine_only,
    entity_blend,
    fused_only,
    rank,
)
from services.shared.tasks import beside_the_loop
from services.shared.temporal.asked_times import asks_for_former
from services.shared.temporal.dates import in_zone, zone_of
from services.shared.temporal.time_spans import asks_of_then, times_of_telling

log = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_LOOKED_AT = 5 * MOST_PINNED  # pinned entries that the filters may choose among
_READ_IN_PART = 8  # of texts that are ranked first so many characters are gone through in the time of one that is read


@dataclass(frozen=True, slots=True)
class Share:
    """Another space of the user, whose entries with one of these tags are seen as if they were of this one."""

    space: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retriever:
    """Answers retrieve requests. Without vectors or embedder, memory is searched by words only."""

    store: Memory
    vectors: VectorStore | None
    embedder: Embedder | None
    counter: TokenCounter
    settings: RetrieveSettings
    speakers: Speakers = field(default_factory=Speakers)
    questions: QuestionVectors = field(default_factory=QuestionVectors)
    measure: Callable[[Found], list[float]] = profile

    async def retrieve(self, request: RetrieveRequest, shares: Sequence[Share] = ()) -> RetrieveReply:
        """The memories that matter now, with those that other spaces share.

        Raises:
            Unavailable: no leg could answer, or the entries could not be read.
        """
        started = time.perf_counter()
        if (query := composed(beginning(request.query, self.settings.max_query_chars))) != request.query:
            request = request.model_copy(update={"query": query})
        moment = request.now or datetime.now(UTC)
        now = in_zone(moment, zone_of(request.time_zone))
        scope, filters = Scope(request.user_id, request.space, request.persona_id), filters_of(request, moment)
        hidden = asyncio.ensure_future(self._is_hidden(request.user_id))
        there = (self._seen(request, replace(scope, space=one.space), filters, now, hidden, one.tags) for one in shares)
        here = self._seen(request, scope, filters, now, hidden)
        pinned, parts = await asyncio.gather(self._pinned(scope, filters, hidden), asyncio.gather(here, *there))
        own, seen = parts[0], joined(parts)
        about = cards_asked_for(request, seen.best, self.store, self.settings)
        chosen, cards = await asyncio.gather(self._diversify(request, seen, now), about)
        seen, chosen = await self._with_other_halves(request, seen, chosen, scope, filters, now)
        rest = [seen.entries[one.candidate.id] for one in chosen if one.candidate.id not in seen.former]
        halves = [one for one in rest if one.status == "active"]
        reply = build_reply(
            request,
            chosen,
            seen.entries,
            counter=self.counter,
            now=now,
            found=seen.found,
            degraded=seen.degraded,
            pinned=pinned,
            share=self.settings.pinned_share,
            cards=cards,
            card_share=self.settings.card_share,
            former={**await self._former(scope, halves), **seen.former},
        )
        explanation = explained_question(request.query, own.legs.corrections, now) if request.explain else None
        times = {"query_embedding_ms": own.legs.embedding_ms, "retrieval_ms": (time.perf_counter() - started) * 1000}
        return reply.model_copy(update={"explanation": explanation, **times})

    async def _seen(
        self,
        request: RetrieveRequest,
        scope: Scope,
        filters: Filters,
        now: datetime,
        hidden: Awaitable[bool],
        shared: tuple[str, ...] = (),
    ) -> Seen:
        """What the searches find in one space, measured and ranked; of a space that shares only what has one of the
        tags.

        A question that names a speaker is asked as they would ask it.
        """
        asked = request.query
        if self.settings.relevance == "profile":
            asked = in_first_person(asked, await self.speakers.look_up(scope, asked, self.store))
        times = times_of_telling(request.query, now)
        searched = narrowed(replace(filters, tags=shared) if shared else filters, times)
        legs = await self._search(request, asked, scope, searched)
        legs = await with_told_then(legs, times, scope, searched, self.store, self.settings)
        if await hidden:
            legs = replace(legs, lexical=[], semantic=[])
        fused = self._fuse(legs)
        ids = list(fused)[: self.settings.candidates]
        cosines, neighbours = await asyncio.gather(
            self._cosines(scope, ids, legs), self._neighbours(scope, ids[: self.settings.with_context], legs)
        )
        candidates = self._shortlist(self._candidates(ids, legs, fused, cosines, neighbours), request)
        ids = [candidate.id for candidate in candidates]
        held = await self._entries(scope, ids, legs)
        entries, degraded = await self._or_copies(held, scope, ids, legs)
        visible = said_within(as_asked_for(entries, scope, filters), times)
        if shared:
            visible = {i: entry for i, entry in visible.items() if not set(shared).isdisjoint(entry.tags)}
        visible = that_tell(visible, request.query)
        speakers = self.speakers.note(scope, visible.values())
        candidates = [candidate for candidate in candidates if candidate.id in visible]
        of_candidates = [visible[candidate.id] for candidate in candidates]
        former = {} if shared else await self._former(scope, of_candidates)
        reads = not (self.embedder and self.embedder.identity.reads_english_only and is_foreign(request.query))
        told = (request.query, candidates, of_candidates, neighbours, cosines, now, legs.corrections, speakers)
        found = Found(*told, is_understood=reads, former=former)
        unread = sum(len(entry.text) for entry in of_candidates if not traits_of.knows(entry.text))
        with tracing.span("measure relevance", candidates=len(candidates)):
            measured = await beside_the_loop(partial(self._measure, found, now), unread // _READ_IN_PART)
        relevant = self._relevant(candidates, measured, request)
        ranked = rank(relevant, visible, weights=self._weights, now=now)
        seen = Seen(legs, ranked, visible, len(relevant), degraded, former)
        if shared or not self.settings.newest_first:
            return seen
        return await with_those_alike(seen, request, scope, filters, now, self.store, self.settings, self._weights)

    async def shorten(
        self, request: RetrieveRequest, reply: RetrieveReply, room: int, shares: Sequence[Share] = ()
    ) -> RetrieveReply:
        """The answer with as many items as fit into so many bytes; of one that does not fit alone, a part."""
        few = how_many_fit(item_sizes(reply), room - size_of(reply.model_copy(update={"items": (), "context": ""})))
        shorter = await self.retrieve(request.model_copy(update={"limit": max(1, few)}), shares)
        if size_of(shorter) > room:
            shorter = cut_reply(shorter, room)
        return shorter.model_copy(update={"truncated": True})

    @property
    def _weights(self) -> Weights:
        of, lives = self.settings, self.settings.importance == "living"
        return Weights(alpha=of.alpha, beta=of.beta, gamma=of.gamma, tau_seconds=of.tau_days * 86400, lives=lives)

    async def _search(self, request: RetrieveRequest, query: str, scope: Scope, filters: Filters) -> Legs:
        legs = await search_both(
            query,
            scope,
            filters,
            store=self.store,
            vectors=self.vectors,
            embed=partial(self.questions.of, self.embedder) if self.embedder else None,
            counter=self.counter,
            limits=(self.settings.lexical_depth, self.settings.semantic_depth),
            patience=self.settings.leg_timeout_seconds,
        )
        if "lexical" in legs.degraded and legs.query_vector is None:
            raise Unavailable("neither words nor meaning could be searched")
        if request.now is None:
            return legs
        patience = self.settings.leg_timeout_seconds
        return await with_former(
            legs, query, scope, request.now, store=self.store, vectors=self.vectors, patience=patience
        )

    async def _is_hidden(self, user_id: str) -> bool:
        """Whether the user is being erased; while the text store is away nobody knows."""
        await asyncio.sleep(0)  # together with what the searches ask for first
        return await self._or(False, is_hidden(self.store, user_id))

    async def _or(self, otherwise: T, reading: Awaitable[T]) -> T:
        """What a store answers; this while it is away, or too slow."""
        try:
            async with asyncio.timeout(self.settings.leg_timeout_seconds):
                return await reading
        except (Unavailable, TimeoutError):
            return otherwise

    async def _former(self, scope: Scope, chosen: Sequence[Entry]) -> dict[str, list[Entry]]:
        """By id what each of the chosen entries superseded, but for what was said after it, which its user decided was
        never so; nothing while the text store is away.

        Of another space that shares only what has a tag, and this may have none.
        """
        chosen = [entry for entry in chosen if scope.sees(entry)]
        keys = [Key(entry.user_id, id_) for entry in chosen for id_ in entry.supersedes]
        found = await self._held(keys) if keys else {}
        return {
            entry.id: [
                one
                for one in map(found.get, entry.supersedes)
                if one and one.superseded_by == entry.id and one.created_at <= entry.last_said_at
                if one.status != "active"  # it goes on but for a part, and is found itself
            ]
            for entry in chosen
        }

    async def _with_other_halves(
        self, request: RetrieveRequest, seen: Seen, chosen: list[Ranked], scope: Scope, filters: Filters, now: datetime
    ) -> tuple[Seen, list[Ranked]]:
        """What was found and what was chosen, both with the other halves of the open conflicts of the chosen ones."""
        keys = [Key(scope.user_id, id_) for id_ in other_halves(chosen, seen.entries)]
        if not keys:
            return seen, chosen
        entries = as_asked_for(await self._held(keys), scope, filters)
        known = [one for one in seen.ranked if one.candidate.id in entries]
        unknown = entries.keys() - {one.candidate.id for one in known}
        new = rank([(Candidate(id_), 0.0) for id_ in unknown], entries, weights=self._weights, now=now)
        entries = {**seen.entries, **entries}
        row = with_halves(chosen, [*known, *new], entries)[: request.limit]
        return replace(seen, ranked=[*seen.ranked, *new], entries=entries, found=seen.found + len(new)), row

    async def _held(self, keys: Sequence[Key]) -> dict[str, Entry]:
        """These entries; none while the text store is away."""
        return await self._or({}, self.store.get(keys))

    async def _pinned(self, scope: Scope, filters: Filters, hidden: Awaitable[bool]) -> list[Entry]:
        """The pinned entries of the scope that were said last; none while the text store is away."""
        if await hidden:
            return []
        pinned = await self._or([], self.store.pinned(scope, limit=_MOST_LOOKED_AT))
        return list(as_asked_for({entry.id: entry for entry in pinned}, scope, filters).values())[:MOST_PINNED]

    def _fuse(self, legs: Legs) -> dict[str, float]:
        return reciprocal_rank_fusion(
            {"lexical": [hit.id for hit in legs.lexical], "semantic": [hit.id for hit in legs.semantic]},
            weights={"lexical": self.settings.lexical_weight, "semantic": self.settings.semantic_weight},
            k=self.settings.rrf_k,
        )

    async def _cosines(self, scope: Scope, ids: Sequence[str], legs: Legs) -> dict[str, float]:
        """The cosines that the search by meaning brought, and those of these entries that it did not reach."""
        known = {hit.id: hit.cosine for hit in legs.semantic}
        beyond = [i for i in ids if i not in known]
        if self.vectors is None or legs.query_vector is None or not beyond:
            return known
        search = self.vectors.search(scope, legs.query_vector, limit=len(beyond), filters=Filters(), ids=beyond)
        found = await self._or([], search)
        return known | {hit.id: hit.cosine for hit in found}

    async def _fetched(
        self, scope: Scope, ids: Sequence[str], legs: Legs, *, copies: bool = False
    ) -> dict[str, StoredPoint]:
        """The points of these entries; none while nobody has them."""
        if self.vectors is None or legs.query_vector is None or not ids:
            return {}
        return await self._or({}, self.vectors.fetch(scope, ids, copies=copies))

    def _candidates(
        self,
        ids: Sequence[str],
        legs: Legs,
        fused: Mapping[str, float],
        cosines: Mapping[str, float],
        neighbours: Mapping[str, Mapping[int, str]],
    ) -> list[Candidate]:
        """The best of the fused ranking with all that is known about them; the first ones also with context."""
        in_context = self._in_context(ids, neighbours, cosines, legs)
        return [describe(i, legs, fused[i], cosines.get(i), in_context.get(i)) for i in ids]

    async def _neighbours(self, scope: Scope, ids: Sequence[str], legs: Legs) -> dict[str, Mapping[int, str]]:
        """What was said around these entries: as the search by words told it, and of the others as the store tells it.

        Only the former while the text store is away, or no meaning is known.
        """
        known = {i: legs.lexical_by_id[i][1].neighbours for i in ids if i in legs.lexical_by_id}
        if "lexical" in legs.degraded or legs.query_vector is None:
            return known
        others = [Key(scope.user_id, i) for i in ids if i not in known]
        return {**known, **(await self._or({}, self.store.neighbours(others, reach=REACH)) if others else {})}

    def _in_context(
        self,
        ids: Sequence[str],
        neighbours: Mapping[str, Mapping[int, str]],
        cosines: Mapping[str, float],
        legs: Legs,
    ) -> dict[str, float]:
        """The cosines of entries smoothed over their neighbours, as far as both are known.

        A neighbour that the semantic leg did not reach is taken to be as near as the last one that it did.
        """
        known = [i for i in ids if i in cosines and i in neighbours]
        reached_all = len(legs.semantic) < self.settings.semantic_depth
        beyond = math.nan if reached_all else legs.semantic[-1].cosine
        rows = []
        for i in known:
            row = [math.nan] * (2 * REACH + 1)
            row[REACH] = cosines[i]
            for distance, near in neighbours[i].items():
                row[REACH + distance] = cosines.get(near, beyond)
            rows.append(row)
        around = np.array(rows).reshape(-1, 2 * REACH + 1)
        return dict(zip(known, context_cosines(around).tolist(), strict=True))

    def _shortlist(self, candidates: Sequence[Candidate], request: RetrieveRequest) -> Sequence[Candidate]:
        """The candidates that are read and ranked: for a relevance other than the profile all of them."""
        if self.settings.relevance != "profile":
            return candidates
        return shortlist(candidates, max(self.settings.shortlist, pool_of(request)))

    def _relevant(
        self, candidates: Sequence[Candidate], measured: Sequence[float], request: RetrieveRequest
    ) -> list[tuple[Candidate, float]]:
        """The candidates that are relevant enough, with their relevance."""
        least = self.settings.min_score if request.min_score is None else request.min_score
        return [pair for pair in zip(candidates, measured, strict=True) if pair[1] >= least]

    def _measure(self, found: Found, now: datetime) -> list[float]:
        """The relevance of each candidate."""
        if self.settings.relevance == "rrf":
            return fused_only(found.candidates)
        if self.settings.relevance == "cosine":
            return cosine_only(found.candidates)
        if self.settings.relevance == "blend":
            return blend(found.candidates)
        if self.settings.relevance == "entities":
            return entity_blend(found.candidates, found.entries, now)
        return self.measure(found)

    async def _entries(self, scope: Scope, ids: Sequence[str], legs: Legs) -> dict[str, Entry] | None:
        """The entries from the text store; None while it is away."""
        if "lexical" in legs.degraded:
            return None
        try:
            with tracing.span("read entries"):
                async with asyncio.timeout(self.settings.leg_timeout_seconds):
                    return await self.store.get([Key(scope.user_id, i) for i in ids]) if ids else {}
        except (Unavailable, TimeoutError) as error:
            log.warning("entries_not_read", extra={"cause": str(error) or "too slow"})
            return None

    async def _or_copies(
        self,
        held: dict[str, Entry] | None,
        scope: Scope,
        ids: Sequence[str],
        legs: Legs,
    ) -> tuple[dict[str, Entry], tuple[str, ...]]:
        """The entries, and what is degraded: from the text store, while it is away as the vector store has them.

        Raises:
            Unavailable: neither has them.
        """
        if held is not None:
            return held, legs.degraded
        away = "lexical" in legs.degraded
        degraded = legs.degraded if away else (*legs.degraded, "lexical")
        copies = copies_of(ids, await self._fetched(scope, ids, legs, copies=True))
        if copies or not ids:
            return copies, degraded
        try:
            # Perhaps it is only slow. Where its search has answered, the caller's deadline ends the waiting.
            async with asyncio.timeout(self.settings.leg_timeout_seconds if away else None):
                return await self.store.get([Key(scope.user_id, i) for i in ids]), legs.degraded
        except TimeoutError as error:
            raise Unavailable("the found entries cannot be read: the text store is away, without copies") from error

    async def _diversify(self, request: RetrieveRequest, seen: Seen, now: datetime) -> list[Ranked]:
        """The best that are asked for, near-copies of better ones moved back (maximal marginal relevance).

        What tells of a change goes before what it may have changed, unless a time is asked for that is over.
        """
        pool = seen.ranked[: pool_of(request)]
        if len(pool) < 2 or (self.settings.mmr_lambda >= 1.0 and not self.settings.newest_first):
            return list(pool[: request.limit])
        entries = [seen.entries[item.candidate.id] for item in pool]
        stored = await self._of_any_space(request, entries, seen.legs)
        tags = [entry.tags for entry in entries]
        vectors = [stored[entry.id].vector if entry.id in stored else None for entry in entries]
        similarity = pairwise_similarity(vectors, tags)
        totals = [item.total for item in pool]
        order = maximal_marginal_relevance(
            totals, similarity, lambda_=self.settings.mmr_lambda, limit=len(pool), shared_tags=tag_counts(tags)
        )
        if self.settings.newest_first and not (asks_of_then(request.query, now) or asks_for_former(request.query)):
            row = [entries[index] for index in order]
            relevance = [pool[index].relevance for index in order]
            named = named_in(identifiers_in(request.query), [one.text for one in row[:LOOKED_AT]])
            asked = telling_terms(request.query)
            among = newest_first(row, similarity[np.ix_(order, order)], relevance, asked, named)
            order = [order[place] for place in among]
        if seen.alike:
            row = [entries[index] for index in order]
            relevance = [pool[index].relevance for index in order]
            among = arranged(row, seen.alike, request.query, now, request.limit, relevance)
            order = [order[place] for place in among]
        return [pool[index] for index in order[: request.limit]]

    async def _of_any_space(
        self, request: RetrieveRequest, entries: Sequence[Entry], legs: Legs
    ) -> dict[str, StoredPoint]:
        """The points of these entries, whatever space of the user they are of."""
        by_space: dict[str, list[str]] = {}
        for entry in entries:
            by_space.setdefault(entry.space, []).append(entry.id)
        scopes = {space: Scope(request.user_id, space, request.persona_id) for space in by_space}
        parts = await asyncio.gather(*(self._fetched(scopes[space], ids, legs) for space, ids in by_space.items()))
        return dict(chain.from_iterable(part.items() for part in parts))
