"""ingest: take each turn into the conversation log.

memory.v1.turns.<user> ──► ingest ──► entry.proposed
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.v1.entries import EntryProposed
from contracts.v1.turns import Turn
from services.ingest.handler import Incoming, log_turns, read_turn
from services.ingest.settings import IngestSettings
from services.shared.app import Host, Service
from services.shared.worker import Stage


async def build(host: Host) -> Service:
    """Wire the stage."""
    settings = IngestSettings()

    def read(msg: Msg) -> Turn:
        incoming = Incoming(subject=msg.subject, body=msg.data, stored_at=msg.metadata.timestamp)
        return read_turn(incoming, longest=host.settings.max_text_bytes)

    async def drop_what_is_logged() -> None:
        while True:
            await asyncio.sleep(settings.drop_every_seconds)
            with suppress(NatsError, TimeoutError):  # the bus is away: what is done waits a little longer
                await host.bus.drop_done(subjects.INGEST)

    handle = partial(log_turns, store=await host.text_store(), gap=settings.session_gap)
    stage = Stage(subjects.INGEST, Turn, read, handle, says=(EntryProposed,), max_batch=settings.max_batch)
    return Service("ingest", stages=(stage,), background=(drop_what_is_logged,))
