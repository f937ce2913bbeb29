"""A circuit breaker: who has failed several times in a row is left alone for a while, each time for longer."""

from __future__ import annotations

import time
from collections.abc import Callable

from contracts.errors import Unavailable

FAILURES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 15.0, 300.0  # seconds


class Breaker:
    """Opens after `FAILURES` in a row, or at once for a reason that no new attempt cures; a success closes it."""

    def __init__(self, told: Callable[[bool], None] = lambda _: None, clock: Callable[[], float] = time.monotonic):
        self._told = told
        self._clock = clock
        self._in_a_row = 0
        self._opened = 0
        self._until = 0.0
        self._reason = ""

    def check(self) -> None:
        """Let a call through.

        Raises:
            Unavailable: it is open.
        """
        if self._clock() < self._until:
            raise Unavailable(self._reason)

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._in_a_row = self._opened = 0
        self._until = 0.0
        self._told(False)

    def failed(self, reason: str, *, for_good: bool = False) -> None:
        """Note that a call was not answered; the reason is told while it is open."""
        self._in_a_row += 1
        if for_good or self._in_a_row >= FAILURES or self._opened:
            pause = _LONGEST_PAUSE if for_good else min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._opened, 8))
            self._opened += 1
            self._until, self._reason = self._clock() + pause, reason
            self._told(True)
