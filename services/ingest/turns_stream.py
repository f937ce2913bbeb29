"""Upkeep of the stream of turns: purges what is logged, and balances its partitions among the replicas."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from contracts.errors import Unavailable
from contracts.subjects import Consumer
from services.shared.bus.streams import Bus
from services.shared.bus.worker import Worker

log = logging.getLogger(__name__)

_ALL_EVERY = 60.0
"""Seconds after which all parts are purged, whoever has read them."""

_BALANCE = 5.0  # seconds


class StreamPurger:
    """Purges acknowledged turns: soon where this process read some, now and then what others left behind."""

    def __init__(self, bus: Bus, consumers: Sequence[Consumer], *, every: float) -> None:
        self._bus = bus
        self._consumers = consumers
        self._every = every
        self._read_here: set[Consumer] = set()

    def mark_read(self, consumer: Consumer) -> None:
        """Purge this consumer's part soon: something of it was read here."""
        self._read_here.add(consumer)

    async def run(self) -> None:
        """Purge until cancelled."""
        all_at = -math.inf
        while True:
            if time.monotonic() - all_at >= _ALL_EVERY:
                self._read_here.update(self._consumers)
                all_at = time.monotonic()
            with suppress(Unavailable):  # what is acknowledged waits a little longer
                await self._purge()
            await asyncio.sleep(self._every)

    async def _purge(self) -> None:
        for consumer in sorted(self._read_here, key=lambda one: one.name):
            self._read_here.discard(consumer)  # marked again by what is read meanwhile
            is_finished = False
            try:
                is_finished = await self._bus.purge_acked(consumer)
            finally:
                if not is_finished:
                    self._read_here.add(consumer)


class PartitionBalancer:
    """Releases one part at a time while this replica reads more than its fair share of them.

    The bus pins a part to the first replica that asks for it, and would leave all of them there.
    """

    def __init__(self, bus: Bus, workers: Callable[[], Sequence[Worker[Any]]], *, every: float = _BALANCE) -> None:
        self._bus = bus
        self._workers = workers
        self._every = every

    async def run(self) -> None:
        """Balance until cancelled."""
        while True:
            await asyncio.sleep(self._every * random.uniform(0.5, 1.5))  # replicas do not move at the same moment
            with suppress(Unavailable):  # nothing is read by anybody
                await self._balance()

    async def _balance(self) -> None:
        workers = self._workers()
        pinned = [worker for worker in workers if worker.is_pinned]
        if len(pinned) < 2:
            return
        worker = random.choice(pinned)
        readers = await self._bus.readers(worker.stage.consumer)
        if len(pinned) > fair_share(len(workers), readers):
            log.info("part_released", extra={"consumer": worker.stage.consumer.name, "readers": readers})
            await worker.release()


def fair_share(parts: int, readers: int) -> int:
    """The most parts one of so many readers should have."""
    return math.ceil(parts / max(1, readers))
