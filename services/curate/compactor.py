"""Writes the files of the stores anew after something was forgotten, when nobody waits for them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from contracts.ports import Unavailable

log = logging.getLogger(__name__)

_LONGEST_WAIT = 60.0
"""Seconds after which it is done though memorybus is busy."""

_LONG = 3.0
_SHARE = 20
"""Compacting that takes longer than `_LONG` seconds is done for at most one part in so many of the time."""

_LONGEST_PAUSE = 300.0
"""Seconds between attempts in the end: a cluster on which much is written is hardly ever without removed documents."""

_LOOK_EVERY = 0.5


class Compactor:
    """Compacts the files some seconds after a request, until nothing that was removed is left in them."""

    def __init__(
        self, compact: Callable[[], Awaitable[bool]], is_idle: Callable[[], Awaitable[bool]], *, after: float
    ) -> None:
        self._compact = compact
        self._is_idle = is_idle
        self._after = after
        self._requested = asyncio.Event()
        self._requested.set()  # what an earlier process could not finish

    def request(self) -> None:
        """Compact soon: something was forgotten."""
        self._requested.set()

    async def run(self) -> None:
        """Compact until cancelled."""
        pause = self._after
        while True:
            await self._requested.wait()
            await asyncio.sleep(pause)
            await self._wait_for_quiet()
            self._requested.clear()
            started = time.monotonic()
            is_clean = await self._is_clean()
            pause = self._after if is_clean else min(2 * pause, _LONGEST_PAUSE)
            if not is_clean:
                self._requested.set()
            took = time.monotonic() - started
            await asyncio.sleep(took * (_SHARE - 1) if took > _LONG else 0)

    async def _wait_for_quiet(self) -> None:
        for _ in range(round(_LONGEST_WAIT / _LOOK_EVERY)):
            if await self._is_idle():
                return
            await asyncio.sleep(_LOOK_EVERY)

    async def _is_clean(self) -> bool:
        try:
            return await self._compact()
        except Unavailable as error:
            log.warning("not_compacted", extra={"cause": str(error)})
            return False
