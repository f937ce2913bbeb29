"""The answer to a retrieve request: items with their scores and reasons, and the block ready to inject."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from contracts.ports import TokenCounter
from contracts.v1.entries import Entry
from contracts.v1.retrieval import (
    EntityCard,
    Former,
    PinnedMemory,
    RetrievedItem,
    RetrieveReply,
    RetrieveRequest,
    Signals,
)
from services.shared.context.block import Card, assemble
from services.shared.context.passages import passage
from services.shared.language.analysis import telling_terms
from services.shared.lifecycle.fitting import cut, size_of
from services.shared.lifecycle.importance import living
from services.shared.ranking.scoring import Ranked
from services.shared.temporal.dates import named_dates
from services.shared.temporal.time_spans import spans_named, without

_SNIPPET_CHARS = 200
_LONGEST_SIGN = 4  # bytes in UTF-8
_LINE = 1000
"""Bytes that an item takes in the context beside its text: when it was said, by whom, its sources."""


def build_reply(
    request: RetrieveRequest,
    chosen: Sequence[Ranked],
    entries: Mapping[str, Entry],
    *,
    counter: TokenCounter,
    now: datetime,
    found: int,
    degraded: Sequence[str],
    pinned: Sequence[Entry],
    share: float,
    former: Mapping[str, Sequence[Entry]],
    cards: Sequence[Card],
    card_share: float,
) -> RetrieveReply:
    """The reply with those of the chosen entries, and of the pinned ones, that fit into the token budget.

    `former` are the entries that each of them superseded. Times are filled in by the caller.
    """
    terms = telling_terms(request.query)
    block = assemble(
        [entries[ranked.candidate.id] for ranked in chosen],
        token_budget=request.token_budget,
        counter=counter,
        terms=terms,
        now=now,
        pinned=pinned,
        share=share,
        former=former,
        cards=cards,
        card_share=card_share,
    )
    kept = set(block.kept)
    items = [
        item_of(
            ranked,
            entries[ranked.candidate.id],
            terms,
            explain=request.explain,
            former=former.get(ranked.candidate.id, ()),
        )
        for ranked in chosen
        if ranked.candidate.id in kept
    ]
    return RetrieveReply(
        items=tuple(items),
        foundation=tuple(pinned_memory(entry, terms) for entry in pinned if entry.id in kept),
        entity_cards=tuple(EntityCard(entity=card.ref, facts=card.facts) for card in block.cards),
        context=block.context,
        total_count=found,
        token_count=block.token_count,
        truncated=block.truncated or found > len(items),
        pinned_left_out=sum(entry.id not in kept for entry in pinned),
        degraded=tuple(degraded),
        query_embedding_ms=0.0,
        retrieval_ms=0.0,
        correlation_id=request.correlation_id,
    )


def pinned_memory(entry: Entry, terms: Collection[str]) -> PinnedMemory:
    """A pinned entry as the foundation of the context names it."""
    short = passage(entry.summary or entry.text, terms, _SNIPPET_CHARS)
    return PinnedMemory(id=entry.id, snippet=short, type=entry.type, last_said_at=entry.last_said_at)


def item_sizes(reply: RetrieveReply) -> list[int]:
    """Bytes that each item takes: its own, and those of its line in the context."""
    return [size_of(item) + len(to_json(item.text)) + _LINE for item in reply.items]


def cut_reply(reply: RetrieveReply, room: int) -> RetrieveReply:
    """The answer in so many bytes: of the first item and of the context a part each."""
    room -= size_of(reply.model_copy(update={"items": (), "context": "", "entity_cards": ()}))
    items = tuple(cut(item, room // 2) for item in reply.items[:1])
    context = reply.context
    while context and (excess := len(to_json(context)) - (room - room // 2) + 1) > 0:
        context = context[: -max(1, excess // _LONGEST_SIGN)]
    return reply.model_copy(update={"items": items, "context": context, "entity_cards": ()})


def item_of(
    ranked: Ranked, entry: Entry, terms: Collection[str], *, explain: bool, former: Sequence[Entry] = ()
) -> RetrievedItem:
    """One entry as it is shown to who asked."""
    candidate = ranked.candidate
    return RetrievedItem(
        id=entry.id,
        text=entry.text,
        snippet=passage(entry.summary or entry.text, terms, _SNIPPET_CHARS),
        type=entry.type,
        role=entry.role,
        speaker=entry.speaker,
        space=entry.space,
        turn_id=entry.turn_id,
        conversation_id=entry.conversation_id,
        themes=entry.themes,
        tags=entry.tags,
        entities=tuple(dict.fromkeys(entity.text for entity in entry.entities)),
        source_ids=entry.source_ids,
        created_at=entry.created_at,
        last_said_at=entry.last_said_at,
        repeat_count=entry.repeat_count,
        valid_until=entry.valid_until if entry.status == "superseded" else None,
        pinned=entry.pinned,
        importance=entry.importance,
        embedding_state=entry.embedding_state,
        scores=ranked.scores,
        signals=Signals(lexical=candidate.lexical_rank is not None, semantic=candidate.semantic_rank is not None),
        conflicts_with=entry.conflicts_with,
        before=tuple(
            Former(id=one.id, text=passage(one.text, terms, _SNIPPET_CHARS), until=one.valid_until)
            for one in former
            if one.valid_until is not None
        ),
        explanation=explained(ranked) | _told_of(entry, ranked.at) if explain else None,
    )


def _told_of(entry: Entry, now: datetime) -> dict[str, Any]:
    parts = living(entry, now).parts()
    return {"clock_ahead": entry.clock_ahead, **{f"importance_{name}": value for name, value in parts.items()}}


def explained(ranked: Ranked) -> dict[str, Any]:
    """Every feature, both ranks and the RRF score."""
    features = ranked.candidate._asdict()
    del features["id"]
    return features


def explained_question(question: str, corrections: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """How the question was read: words taken for typing errors, and times that it names."""
    spans = spans_named(question, now)
    dates = ({part: n for part, n in date._asdict().items() if n} for date in named_dates(without(question, spans)))
    times = [*(span._asdict() for span in spans), *dates]
    return {"corrections": dict(corrections), "times": times, "time_zone": str(now.tzinfo)}
