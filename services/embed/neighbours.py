"""Tags for new entries from their nearest neighbours: of the same user, space and persona, said before. Ports only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from contracts.ports import EntryStore, Filters, Key, Scope, SemanticHit, VectorPoint, VectorStore
from contracts.v1.entries import Entry, NeighbourTag
from services.shared.changes import change_entries
from services.shared.ranking.neighbour_tags import NEAREST, is_evidence, proposed, wants_tags, without_sources

_AT_ONCE = 8


class Neighbourhood:
    """The tags that are proposed for the entries of some points, and the neighbours that bear them out, as read."""

    def __init__(self, tags: Mapping[str, tuple[NeighbourTag, ...]], neighbours: Mapping[str, Entry]) -> None:
        self.tags, self._neighbours = tags, neighbours

    @classmethod
    async def of(cls, points: Sequence[VectorPoint], store: EntryStore, vectors: VectorStore) -> Neighbourhood:
        """Look for the neighbours of every entry that wants tags."""
        wanting = [point for point in points if wants_tags(point.entry)]
        turns = asyncio.Semaphore(_AT_ONCE)
        hits = await asyncio.gather(*(_nearest(point, vectors, turns) for point in wanting))
        users = {hit.id: point.entry.user_id for point, found in zip(wanting, hits, strict=True) for hit in found}
        read = await store.get([Key(user_id, id_) for id_, user_id in users.items()]) if users else {}
        tags: dict[str, tuple[NeighbourTag, ...]] = {}
        for point, found in zip(wanting, hits, strict=True):
            scope = Scope.of(point.entry)
            seen = [(read[hit.id], hit.cosine) for hit in found if hit.id in read and scope.sees(read[hit.id])]
            if some := proposed(point.entry, seen):
                tags[point.entry.id] = some
        return cls(tags, read)

    async def recheck(self, entries: Sequence[Entry], store: EntryStore) -> None:
        """Take back from entries that were stored what others have changed or forgotten meanwhile."""
        tagged = [entry for entry in entries if entry.neighbour_tags]
        ids = {id_ for entry in tagged for one in entry.neighbour_tags for id_ in one.source_ids}
        if not ids:
            return
        current = await store.get([self._neighbours[id_] for id_ in ids])
        gone = {id_ for id_ in ids if not _bears_out(self._neighbours[id_], current.get(id_))}
        if gone:
            await change_entries(store, tagged, lambda entry: without_sources(entry, gone))


async def _nearest(point: VectorPoint, vectors: VectorStore, turns: asyncio.Semaphore) -> list[SemanticHit]:
    entry = point.entry
    before = Filters(until=entry.created_at)
    async with turns:
        hits = await vectors.search(Scope.of(entry), point.vector, limit=NEAREST + 1, filters=before)
    return [hit for hit in hits if hit.id != entry.id]


def _bears_out(seen: Entry, now: Entry | None) -> bool:
    return now is not None and is_evidence(now) and now.text == seen.text and set(seen.tags) <= set(now.tags)
