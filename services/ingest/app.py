"""ingest: take each turn into the conversation log.

memory.v1.turns.<user> ──► ingest ──► entry.proposed
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.subjects import Consumer
from contracts.v1.entries import EntryProposed
from contracts.v1.turns import Turn
from services.ingest.handler import Incoming, log_turns, read_turn
from services.ingest.settings import IngestSettings
from services.shared.app import Host, Service
from services.shared.bus.connection import Bus
from services.shared.bus.sharing import Sharing
from services.shared.bus.worker import Stage, Worker

_SWEEP_SECONDS = 60.0


async def build(host: Host) -> Service:
    """Wire the stage: once, or once for each part that the turns are split into."""
    settings = IngestSettings()
    handle = partial(log_turns, store=await host.text_store(), gap=settings.session_gap)
    consumers = subjects.ingest_consumers(host.settings.turns_partitions)
    dropper = Dropper(host.bus, consumers, every=settings.drop_every_seconds)

    def stage_of(consumer: Consumer) -> Stage[Turn]:
        def read(msg: Msg) -> Turn:
            dropper.note(consumer)
            subject = subjects.published_as(msg.subject)
            incoming = Incoming(subject=subject, body=msg.data, stored_at=msg.metadata.timestamp)
            return read_turn(incoming, longest=host.settings.max_text_bytes)

        return Stage(consumer, Turn, read, handle, says=(EntryProposed,), max_batch=settings.max_batch)

    def own_workers() -> list[Worker[Any]]:
        return [worker for worker in host.workers if worker.stage.consumer in consumers]

    background = (dropper.run, Sharing(host.bus, own_workers).run) if len(consumers) > 1 else (dropper.run,)
    return Service("ingest", stages=tuple(map(stage_of, consumers)), background=background)


class Dropper:
    """Takes logged turns off the bus: soon where this process read some, now and then what others left behind."""

    def __init__(self, bus: Bus, consumers: Sequence[Consumer], *, every: float) -> None:
        self._bus = bus
        self._consumers = consumers
        self._every = every
        self._read_here: set[Consumer] = set()

    def note(self, consumer: Consumer) -> None:
        """Something of this consumer was read here."""
        self._read_here.add(consumer)

    async def run(self) -> None:
        """Drop until cancelled."""
        swept_at = -math.inf
        while True:
            if time.monotonic() - swept_at >= _SWEEP_SECONDS:
                self._read_here.update(self._consumers)
                swept_at = time.monotonic()
            with suppress(NatsError, TimeoutError):  # the bus is away: what is done waits a little longer
                await self._drop()
            await asyncio.sleep(self._every)

    async def _drop(self) -> None:
        for consumer in sorted(self._read_here, key=lambda one: one.name):
            self._read_here.discard(consumer)  # noted again by what is read meanwhile
            is_finished = False
            try:
                is_finished = await self._bus.drop_done(consumer)
            finally:
                if not is_finished:
                    self._read_here.add(consumer)
