"""Themes that a user might want: topics of the entries that are filed under none. Stores are ports."""

from __future__ import annotations

from contracts.ports import Selection, TextStore, VectorStore
from contracts.v1.overview import ThemeProposal, ThemeProposalsReply, ThemeProposalsRequest
from services.curate.sessions import read_newest
from services.curate.vectors import vectors_of
from services.shared.context.clusters import Topic, topics_of
from services.shared.tasks import apart

_READ = 1000
"""Entries that are compared with each other at most, those said last."""

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
    topics = await apart(topics_of, known, [held[entry.id] for entry in known])
    once = {topic.slug: topic for topic in reversed(topics)}
    items = [_proposal(topic) for topic in topics if once[topic.slug] is topic]
    return ThemeProposalsReply(items=tuple(items[: request.limit]), correlation_id=request.correlation_id)


def _proposal(topic: Topic) -> ThemeProposal:
    return ThemeProposal(
        slug=topic.slug[:64],
        display_name=", ".join(topic.words).capitalize(),
        count=len(topic.entries),
        ids=tuple(entry.id for entry in topic.entries[:_IDS]),
        examples=tuple(entry.text[:_LONGEST] for entry in topic.entries[:_EXAMPLES]),
    )
