"""Entries are offered to a language model, which reads what they state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from contracts import subjects
from contracts.v1.entries import EntryRef, ExtractionWanted
from services.shared import telemetry
from services.shared.bus.streams import Bus

_TOGETHER = 8
"""Entries that are read again together when the one who reads them dies."""


async def offer_to_read(refs: Sequence[EntryRef], bus: Bus, *, cause: str = "") -> None:
    """Have a language model read these. Nobody waits for that: a queue that is full, or away, goes without.

    What was offered before is offered anew where the cause is another.
    """
    for start in range(0, len(refs), _TOGETHER):
        some = refs[start : start + _TOGETHER]
        wish = ExtractionWanted.of(some, at=datetime.now(UTC), cause=cause)
        body, stream = wish.model_dump_json().encode(), subjects.EXTRACT_STREAM.name
        if not await bus.offer(wish.subject, body, message_id=str(wish.event_id), stream=stream):
            telemetry.EXTRACT_UNASKED.inc(len(refs) - start)
            return
