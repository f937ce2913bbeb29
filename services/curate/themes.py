"""Themes that a user might want: topics of the entries that are filed under none. Stores are ports."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from contracts.ports import Scope, Selection, TextStore, Vector, VectorStore
from contracts.v1.entries import Entry
from contracts.v1.overview import ThemeProposal, ThemeProposalsReply, ThemeProposalsRequest
from contracts.v1.turns import EVERY_PERSONA
from services.curate.sessions import read_newest
from services.shared.core.clusters import Topic, topics_of

_READ = 1000
"""Entries that are compared with each other at most, those said last."""

_TOGETHER = 500
_IDS, _EXAMPLES, _LONGEST = 200, 3, 120


async def propose_themes(
    request: ThemeProposalsRequest, *, store: TextStore, vectors: VectorStore | None
) -> ThemeProposalsReply:
    """The topics of a space that might be themes; none where there are no vectors.

    Raises:
        Unavailable: the vector store does not answer.
    """
    entries, _ = await read_newest(Selection(request.user_id, space=request.space), store, _READ)
    unfiled = [one for one in entries if one.embedding_state == "ready" and one.role == "user" and not one.themes]
    held = await vectors_of(request.user_id, unfiled, vectors)
    known = [entry for entry in unfiled if entry.id in held]
    topics = await asyncio.to_thread(topics_of, known, [held[entry.id] for entry in known])
    once = {topic.slug: topic for topic in reversed(topics)}
    items = [_proposal(topic) for topic in topics if once[topic.slug] is topic]
    return ThemeProposalsReply(items=tuple(items[: request.limit]), correlation_id=request.correlation_id)


async def vectors_of(user_id: str, entries: Sequence[Entry], vectors: VectorStore | None) -> dict[str, Vector]:
    """The vectors of entries of a user, by id; none where there is no vector store."""
    found: dict[str, Vector] = {}
    for space in sorted({entry.space for entry in entries}) if vectors is not None else ():
        ids = [entry.id for entry in entries if entry.space == space]
        for begin in range(0, len(ids), _TOGETHER):
            scope = Scope(user_id, space, EVERY_PERSONA)
            points = await vectors.fetch(scope, ids[begin : begin + _TOGETHER]) if vectors is not None else {}
            found |= {id_: point.vector for id_, point in points.items()}
    return found


def _proposal(topic: Topic) -> ThemeProposal:
    return ThemeProposal(
        slug=topic.slug[:64],
        display_name=", ".join(topic.words).capitalize(),
        count=len(topic.entries),
        ids=tuple(entry.id for entry in topic.entries[:_IDS]),
        examples=tuple(entry.text[:_LONGEST] for entry in topic.entries[:_EXAMPLES]),
    )
