"""How much the long tests do: a tenth of it in `scripts/test`, all of it in `scripts/test long`."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("MEMORYBUS_TEST_LONG"))


def sized(whole: int) -> int:
    """So many in a long run, a tenth of them otherwise."""
    return whole if LONG else whole // 10
