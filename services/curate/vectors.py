"""The vectors of entries, as their store has them. The store is a port."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.ports import Scope, Vector, VectorStore
from contracts.v1.entries import Entry
from contracts.v1.turns import EVERY_PERSONA

_TOGETHER = 500


async def vectors_of(user_id: str, entries: Sequence[Entry], vectors: VectorStore | None) -> dict[str, Vector]:
    """The vectors of entries of a user, by id; none where there is no vector store."""
    found: dict[str, Vector] = {}
    if vectors is None:
        return found
    for space in sorted({entry.space for entry in entries}):
        ids = [entry.id for entry in entries if entry.space == space]
        for begin in range(0, len(ids), _TOGETHER):
            points = await vectors.fetch(Scope(user_id, space, EVERY_PERSONA), ids[begin : begin + _TOGETHER])
            found |= {id_: point.vector for id_, point in points.items()}
    return found
