"""embed: make entries findable by meaning.

entry.enriched ──► embed ──► entry.embedded
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts import subjects
from contracts.v1.entries import EntryEmbedded, EntryEnriched
from services.embed.changes import Rules
from services.embed.handler import embed_entries
from services.embed.settings import EmbedSettings
from services.embed.wishes import Wishes
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json
from services.shared.vectors.swappable import using


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = EmbedSettings()
    rules = Rules(settings.changes, settings.contradictions)
    store, index = await host.text_store(), await host.vector_index()
    wishes = Wishes(store)

    async def handle(events: Sequence[EntryEnriched]) -> list[EntryEmbedded]:
        with using(index) as (vectors, embedder):
            return await embed_entries(
                events,
                store=store,
                vectors=vectors,
                embedder=embedder,
                proposes_tags=settings.neighbour_tags,
                rules=rules,
                wishes=wishes,
            )

    stage = Stage(
        subjects.EMBED,
        EntryEnriched,
        read_json(EntryEnriched),
        handle,
        says=(EntryEmbedded,),
        max_batch=settings.max_batch,
    )
    return Service("embed", stages=(stage,))
