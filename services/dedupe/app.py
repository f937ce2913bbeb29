"""dedupe: keep one of each.

entry.proposed ──► dedupe ─┬─► entry.accepted
                           ├─► entry.repeated
                           ├─► entry.refused
                           └─► extract.wanted, where a language model draws facts
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from contracts import subjects
from contracts.v1.entries import EntryAccepted, EntryEvent, EntryProposed, EntryRefused, EntryRepeated, ExtractionWanted
from services.dedupe.handler import judge_proposals
from services.dedupe.settings import DedupeSettings
from services.shared import telemetry
from services.shared.app import Host, Service
from services.shared.bus.streams import Bus
from services.shared.bus.worker import Stage, read_json
from services.shared.core.fingerprint import warm_up

_TOGETHER = 8
"""Entries that are read again together when the one who reads them dies."""


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = DedupeSettings()
    _, store = await asyncio.gather(asyncio.to_thread(warm_up), host.text_store())
    is_extracting = host.settings.extract_url is not None

    async def handle(events: Sequence[EntryProposed]) -> list[EntryEvent]:
        told = await judge_proposals(events, store=store)
        if is_extracting:
            await ask_for_facts(told, host.bus)
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


async def ask_for_facts(told: Sequence[EntryEvent], bus: Bus) -> None:
    """Have facts drawn from what is new. Nobody waits for that: a queue that is full, or away, goes without."""
    accepted = next((event for event in told if isinstance(event, EntryAccepted)), None)
    refs = accepted.entries if accepted else ()
    for start in range(0, len(refs), _TOGETHER):
        some = refs[start : start + _TOGETHER]
        wish = ExtractionWanted.of(some, at=datetime.now(UTC))
        body, stream = wish.model_dump_json().encode(), subjects.EXTRACT_STREAM.name
        if not await bus.offer(wish.subject, body, message_id=str(wish.event_id), stream=stream):
            telemetry.EXTRACT_UNASKED.inc(len(refs) - start)
            return
