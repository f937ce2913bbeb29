"""dedupe: keep one of each.

entry.proposed ──► dedupe ─┬─► entry.accepted
                           ├─► entry.repeated
                           └─► entry.refused
"""

from __future__ import annotations

import asyncio
from functools import partial

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryProposed, EntryRefused, EntryRepeated
from services.dedupe.handler import judge_proposals
from services.dedupe.settings import DedupeSettings
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json
from services.shared.core.fingerprint import warm_up


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = DedupeSettings()
    _, store = await asyncio.gather(asyncio.to_thread(warm_up), host.text_store())
    stage = Stage(
        subjects.DEDUPE,
        EntryProposed,
        read_json(EntryProposed),
        partial(judge_proposals, store=store),
        says=(EntryAccepted, EntryRepeated, EntryRefused),
        max_batch=settings.max_batch,
    )
    return Service("dedupe", stages=(stage,))
