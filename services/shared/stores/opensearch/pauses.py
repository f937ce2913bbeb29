"""How long to wait before trying again."""

from __future__ import annotations

import asyncio
import random

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each further attempt."""


async def wait(pause: float) -> None:
    """Wait about so many seconds: those who wait together must not come back together."""
    await asyncio.sleep(pause * random.uniform(0.5, 1.5))
