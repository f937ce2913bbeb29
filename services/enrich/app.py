"""enrich: say what an entry is about.

entry.accepted ──► enrich ──► entry.enriched
"""

from __future__ import annotations

from functools import partial

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryEnriched
from services.enrich.handler import enrich_entries
from services.enrich.settings import EnrichSettings
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = EnrichSettings()
    handle = partial(
        enrich_entries,
        store=await host.text_store(),
        annotator=await host.annotator(),
        changes=settings.changes,
        contradictions=settings.contradictions,
    )
    stage = Stage(
        subjects.ENRICH,
        EntryAccepted,
        read_json(EntryAccepted),
        handle,
        says=(EntryEnriched,),
        max_batch=settings.max_batch,
    )
    return Service("enrich", stages=(stage,))
