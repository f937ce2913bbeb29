"""embed: make entries findable by meaning.

entry.enriched ──► embed ──► entry.embedded
"""

from __future__ import annotations

from functools import partial

from contracts import subjects
from contracts.v1.entries import EntryEmbedded, EntryEnriched
from services.embed.handler import embed_entries
from services.embed.settings import EmbedSettings
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = EmbedSettings()
    handle = partial(
        embed_entries,
        store=await host.text_store(),
        vectors=await host.vector_store(),
        embedder=await host.embedder(),
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
