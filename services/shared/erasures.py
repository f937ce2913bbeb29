"""The rules that entries of a user who is being erased are not shown, and that nothing is logged behind an erasure."""

from __future__ import annotations

import time

from contracts.ports import Privacy

SETTLING = 0.3
"""Seconds that an erasure leaves between its mark and the look at the text store that must find nothing."""

LANDS_WITHIN = 0.2
"""Seconds after a look for marks within which what is logged is surely there when an erasure looks for it."""

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def passed_seconds() -> float:
    """Seconds since some moment, also those in which this process was paused or its machine suspended."""
    return time.clock_gettime(_CLOCK)


async def is_hidden(store: Privacy, user_id: str) -> bool:
    """Whether everything stored of a user is about to be erased. Ask before reading: it may be gone afterwards.

    Raises:
        Unavailable: the store does not answer.
    """
    return any(not mark.cleared for mark in await store.erasures([user_id]))
