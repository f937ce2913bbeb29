"""The answer to a retrieve request: items with their scores and reasons, and the block ready to inject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from contracts.ports import TokenCounter
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest, Signals
from services.shared.core.context import assemble, snippet
from services.shared.core.scoring import Ranked

_SNIPPET_CHARS = 200


def build_reply(
    request: RetrieveRequest,
    chosen: Sequence[Ranked],
    entries: Mapping[str, Entry],
    *,
    counter: TokenCounter,
    found: int,
    degraded: Sequence[str],
) -> RetrieveReply:
    """The reply with those of the chosen entries that fit into the token budget; times are filled in by the caller."""
    block = assemble(
        [entries[ranked.candidate.id] for ranked in chosen], token_budget=request.token_budget, counter=counter
    )
    kept = set(block.kept)
    items = [
        item_of(ranked, entries[ranked.candidate.id], explain=request.explain)
        for ranked in chosen
        if ranked.candidate.id in kept
    ]
    return RetrieveReply(
        items=tuple(items),
        context=block.context,
        total_count=found,
        token_count=block.token_count,
        truncated=block.truncated or found > len(items),
        degraded=tuple(degraded),
        query_embedding_ms=0.0,
        retrieval_ms=0.0,
        correlation_id=request.correlation_id,
    )


def item_of(ranked: Ranked, entry: Entry, *, explain: bool) -> RetrievedItem:
    """One entry as it is shown to who asked."""
    candidate = ranked.candidate
    return RetrievedItem(
        id=entry.id,
        text=entry.text,
        snippet=snippet(entry.summary or entry.text, _SNIPPET_CHARS),
        type=entry.type,
        role=entry.role,
        speaker=entry.speaker,
        space=entry.space,
        turn_id=entry.turn_id,
        conversation_id=entry.conversation_id,
        tags=entry.tags,
        entities=tuple(dict.fromkeys(entity.text for entity in entry.entities)),
        source_ids=entry.source_ids,
        created_at=entry.created_at,
        last_said_at=entry.last_said_at,
        repeat_count=entry.repeat_count,
        pinned=entry.pinned,
        importance=entry.importance,
        embedding_state=entry.embedding_state,
        scores=ranked.scores,
        signals=Signals(lexical=candidate.lexical_rank is not None, semantic=candidate.semantic_rank is not None),
        explanation=explained(ranked) | {"clock_ahead": entry.clock_ahead} if explain else None,
    )


def explained(ranked: Ranked) -> dict[str, Any]:
    """Every feature, both ranks and the RRF score."""
    features = asdict(ranked.candidate)
    del features["id"]
    return features
