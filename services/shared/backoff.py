"""How long to wait before something is tried again: one policy for everything that waits, here and on the bus."""

from __future__ import annotations

import random
from collections.abc import Callable

from tenacity import RetryCallState


def backoff_seconds(attempt: int, *, longest: float, first: float = 0.2) -> float:
    """Seconds to wait after attempt number `attempt`: doubled each time up to `longest`, and half of it random.

    What failed together must not come back together.
    """
    full: float = min(longest, first * 2 ** min(attempt - 1, 20))
    return full * random.uniform(0.5, 1.0)


def wait_backoff(*, longest: float, first: float = 0.2) -> Callable[[RetryCallState], float]:
    """The same policy as a `wait` of tenacity."""
    return lambda state: backoff_seconds(state.attempt_number, longest=longest, first=first)
