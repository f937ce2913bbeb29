"""Takes logged turns off the bus, many at a time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import suppress

from nats.errors import Error as NatsError

from contracts.subjects import Consumer
from services.shared.bus.connection import Bus

_SWEEP_SECONDS = 60.0


class StreamPurger:
    """Takes logged turns off the bus: soon where this process read some, now and then what others left behind."""

    def __init__(self, bus: Bus, consumers: Sequence[Consumer], *, every: float) -> None:
        self._bus = bus
        self._consumers = consumers
        self._every = every
        self._read_here: set[Consumer] = set()

    def mark_read(self, consumer: Consumer) -> None:
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
                is_finished = await self._bus.purge_acked(consumer)
            finally:
                if not is_finished:
                    self._read_here.add(consumer)
