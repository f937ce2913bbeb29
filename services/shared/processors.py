"""Which processors threads run on: those that only take turns, because they share the interpreter lock, on one.

A turn that begins on another processor has to wake it, and to fetch there what the last one worked on: on two
processors of a virtual machine the same work takes a sixth longer.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

ALLOWED: frozenset[int] = frozenset(os.sched_getaffinity(0)) if sys.platform == "linux" else frozenset()
"""The processors that this process may use; none where they cannot be chosen."""

_EVERY = 1.0
_WORTH_IT = 0.25
"""Share of a processor by which another has to be less loaded."""


async def keep_together(names: tuple[str, ...]) -> None:
    """Keep threads whose names begin so on one processor, and all others on any, until cancelled.

    It is the one that others load least, looked at every second. Nothing happens where there is no choice.
    """
    if len(ALLOWED) < 2:
        return
    chosen: int | None = None
    before, own_before, looked = _worked(), _own(names), time.monotonic()
    while True:
        await asyncio.sleep(_EVERY)
        now, own, elapsed = _worked(), _own(names), time.monotonic() - looked
        loads = {cpu: (now[cpu] - before[cpu]) / elapsed for cpu in ALLOWED & now.keys() & before.keys()}
        if chosen is not None and chosen in loads:
            loads[chosen] -= (own - own_before) / elapsed
        if not loads:
            return
        chosen, before, own_before, looked = least_loaded(loads, chosen), now, own, looked + elapsed
        _place(chosen, names)


def go_anywhere(allowed: Collection[int] = ALLOWED) -> None:
    """Run on any processor: for a child that was started from a thread which is kept on one, and so is kept there."""
    if allowed:
        with suppress(OSError):  # they are not ours any more
            os.sched_setaffinity(0, allowed)


def least_loaded(loads: Mapping[int, float], current: int | None) -> int:
    """The processor with the least load, 0 to 1, by others; the current one unless another has much less."""
    best = min(loads, key=lambda cpu: (round(loads[cpu], 1), random.random()))
    return best if current is None or loads.get(current, math.inf) - loads[best] >= _WORTH_IT else current


def _place(chosen: int, names: tuple[str, ...]) -> None:
    kept = {thread.native_id for thread in _called(names)}
    for task in map(int, os.listdir("/proc/self/task")):
        wanted = {chosen} if task in kept else ALLOWED
        with suppress(OSError):  # it has ended, or the processor is no longer ours
            if os.sched_getaffinity(task) != wanted:
                os.sched_setaffinity(task, wanted)


def _called(names: tuple[str, ...]) -> Iterable[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(names)]


def _own(names: tuple[str, ...]) -> float:
    """Seconds that the threads of these names have worked."""
    worked = 0.0
    for thread in _called(names):
        with suppress(OSError):
            worked += int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9
    return worked


def _worked() -> dict[int, float]:
    """Seconds that each processor has worked for anybody; empty where nobody says so."""
    try:
        rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    except OSError:
        return {}
    ticks = {row[0]: sum(map(int, row[1:4] + row[6:9])) for row in rows if row and row[0].startswith("cpu")}
    return {int(name[3:]): ticks[name] / os.sysconf("SC_CLK_TCK") for name in ticks if name != "cpu"}
