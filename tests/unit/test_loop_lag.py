"""How long the event loop keeps others waiting is measured."""

from __future__ import annotations

import asyncio
import time

import pytest

from services.shared.tasks import end
from services.shared.telemetry import LOOP_LAG, lags, measure_loop_lag
from tests.polling import eventually


def test_a_held_loop_counts_for_all_who_came_meanwhile() -> None:
    assert list(lags(-0.001)) == [0.0]
    assert list(lags(0.05)) == [0.05]
    assert list(lags(0.35)) == pytest.approx([0.35, 0.25, 0.15, 0.05])
    assert len(list(lags(1e9))) < 10_000


def late(than: float) -> float:
    """How many observations were later than so many seconds."""
    (family,) = LOOP_LAG.collect()
    by_bound = {sample.labels["le"]: sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    below = max((float(bound), count) for bound, count in by_bound.items() if float(bound) <= than)[1]
    return by_bound["+Inf"] - below


async def test_a_handler_that_holds_the_loop_is_seen() -> None:
    before = late(0.1)
    measuring = asyncio.create_task(measure_loop_lag())
    await asyncio.sleep(0.01)
    time.sleep(0.5)  # noqa: ASYNC251
    await eventually(lambda: asyncio.sleep(0, late(0.1)), lambda now: now - before >= 3)
    await end([measuring])
