"""dedupe: keep one of each.

entry.proposed ──► dedupe ─┬─► entry.accepted
                           ├─► entry.repeated
                           └─► entry.refused
"""

from __future__ import annotations

from functools import partial

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryProposed, EntryRefused, EntryRepeated
from services.dedupe.handler import judge_proposals
from services.dedupe.settings import DedupeSettings
from services.shared.app import Host, Service
from services.shared.bus.worker import Stage, read_json


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = DedupeSettings()
    stage = Stage(
        subjects.DEDUPE,
        EntryProposed,
        read_json(EntryProposed),
        partial(judge_proposals, store=await host.text_store()),
        says=(EntryAccepted, EntryRepeated, EntryRefused),
        max_batch=settings.max_batch,
    )
    return Service("dedupe", stages=(stage,))
