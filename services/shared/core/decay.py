"""How fast memories fade."""

from __future__ import annotations

import math


def recency(age_seconds: float, tau_seconds: float) -> float:
    """exp(−age/τ): 1 for what was just said, 0.37 after τ. A moment in the future counts as just now.

    Raises:
        ValueError: τ is not positive.
    """
    if not tau_seconds > 0:
        raise ValueError(f"tau must be positive seconds, got {tau_seconds!r}")
    return math.exp(-max(age_seconds, 0.0) / tau_seconds)
