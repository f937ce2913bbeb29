"""dedupe: keep one of each.

entry.proposed ──► dedupe ─┬─► entry.accepted
                           ├─► entry.repeated
                           ├─► entry.refused
                           └─► extract.wanted, where there is a language model
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryEvent, EntryProposed, EntryRefused, EntryRepeated, ExtractionWanted
from services.dedupe.handler import judge_proposals
from services.dedupe.settings import DedupeSettings
from services.shared.app import Host, Service
from services.shared.bus.extraction import offer_to_read
from services.shared.bus.worker import Stage, read_json
from services.shared.dedup.fingerprint import warm_up


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = DedupeSettings()
    _, store = await asyncio.gather(asyncio.to_thread(warm_up), host.text_store())
    is_extracting = host.settings.extract_url is not None

    async def handle(events: Sequence[EntryProposed]) -> list[EntryEvent]:
        told = await judge_proposals(events, store=store)
        if is_extracting:
            new = next((event.entries for event in told if isinstance(event, EntryAccepted)), ())
            await offer_to_read(new, host.bus)
        return told

    stage = Stage(
        subjects.DEDUPE,
        EntryProposed,
        read_json(EntryProposed),
        handle,
        says=(EntryAccepted, EntryRepeated, EntryRefused, ExtractionWanted),
        max_batch=settings.max_batch,
    )
    return Service("dedupe", stages=(stage,))
