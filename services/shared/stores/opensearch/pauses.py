"""How long to wait before trying again, and how often."""

from __future__ import annotations

import asyncio
import random

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each further attempt."""


ATTEMPTS = 50
"""So often a conditional write is tried that others keep overtaking, with a short pause before each further one."""

_STEP_ASIDE = 0.02  # seconds


async def step_aside() -> None:
    """Let those who were faster finish."""
    await wait(_STEP_ASIDE)


async def wait(pause: float) -> None:
    """Wait about so many seconds: those who wait together must not come back together."""
    await asyncio.sleep(pause * random.uniform(0.5, 1.5))
