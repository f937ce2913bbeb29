"""Which texts of a history say what their user had forgotten, and what may not come back now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from uuid import uuid4

from contracts.ports import TextStore, Unavailable
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.shared.dedup.repeats import prints_of
from services.shared.tasks import beside_the_loop


async def forgotten_in(request: RetrieveRequest, store: TextStore) -> tuple[int, ...]:
    """The places of these among what was said; none while the text store is away."""
    entries = await beside_the_loop(lambda: _as_entries(request), sum(map(len, request.said)))
    try:
        similar = await store.find_similar(entries)
    except Unavailable:
        return ()
    return tuple(place for place, found in enumerate(similar) if found.suppressed)


def _as_entries(request: RetrieveRequest) -> Sequence[Entry]:
    """What was said as it would be judged if the user said it now."""
    now = datetime.now(UTC)
    return [
        Entry(
            **asdict(prints_of(text, now)),
            id=str(uuid4()),
            user_id=request.user_id,
            space=request.space,
            role="user",
            text=text,
            type="other",
            importance=0,
            created_at=now,
            updated_at=now,
        )
        for text in request.said
    ]
