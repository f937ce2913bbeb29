"""How much the long tests do: a fifth of it in `scripts/test`, all of it in `scripts/test long`."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("MEMORYBUS_TEST_LONG"))


def sized(whole: int) -> int:
    """So many in a long run, a fifth of them otherwise."""
    return whole if LONG else whole // 5
