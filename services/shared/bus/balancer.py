"""Shares the parts of a service's work among its replicas: the bus pins whoever asked first, so that one passes on."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from nats.errors import Error as NatsError

from services.shared.bus.connection import Bus
from services.shared.bus.worker import Worker

log = logging.getLogger(__name__)

_PERIOD = 5.0


class PartitionBalancer:
    """Passes on one part at a time while this replica reads more than its fair share of them."""

    def __init__(self, bus: Bus, workers: Callable[[], Sequence[Worker[Any]]], *, every: float = _PERIOD) -> None:
        self._bus = bus
        self._workers = workers
        self._every = every

    async def run(self) -> None:
        """Share until cancelled."""
        while True:
            await asyncio.sleep(self._every * random.uniform(0.5, 1.5))  # replicas do not move at the same moment
            with suppress(NatsError, TimeoutError):  # the bus is away: nothing is read by anybody
                await self._balance()

    async def _balance(self) -> None:
        workers = self._workers()
        pinned = [worker for worker in workers if worker.is_pinned]
        if len(pinned) < 2:
            return
        worker = random.choice(pinned)
        readers = await self._bus.readers(worker.stage.consumer)
        if len(pinned) > fair_share(len(workers), readers):
            log.info("part_passed_on", extra={"consumer": worker.stage.consumer.name, "readers": readers})
            await worker.release()


def fair_share(parts: int, readers: int) -> int:
    """The most parts one of so many readers should have."""
    return math.ceil(parts / max(1, readers))
