"""The threads that take turns are kept on one processor, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest

from services.shared import processors
from services.shared.processors import ALLOWED, keep_together, least_loaded
from tests.polling import eventually

choice = pytest.mark.skipif(len(ALLOWED) < 2, reason="one processor, or none can be chosen: nothing to keep apart")


def test_the_first_is_the_one_that_others_load_least() -> None:
    assert least_loaded({0: 0.9, 1: 0.2, 2: 0.6}, None) == 1


def test_a_processor_is_left_for_one_that_is_much_less_loaded_only() -> None:
    assert least_loaded({0: 0.5, 1: 0.3}, 0) == 0
    assert least_loaded({0: 0.9, 1: 0.3}, 0) == 1


def test_a_processor_that_is_gone_is_left() -> None:
    assert least_loaded({1: 0.9, 2: 1.0}, 0) == 1


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looked at every twentieth of a second, and everything as it was afterwards."""
    monkeypatch.setattr(processors, "_EVERY", 0.05)
    yield
    for task in map(int, os.listdir("/proc/self/task")):
        with suppress(OSError):
            os.sched_setaffinity(task, ALLOWED)


async def allowed_to(thread: int) -> set[int]:
    return os.sched_getaffinity(thread)


@choice
async def test_threads_that_take_turns_are_on_one_processor_and_others_on_any(at_once: None) -> None:
    with ThreadPoolExecutor(1, "turns") as turns, ThreadPoolExecutor(1, "model") as model:
        ours, others = (pool.submit(threading.get_native_id).result() for pool in (turns, model))
        keeping = asyncio.create_task(keep_together(("turns", "MainThread")))
        await eventually(partial(allowed_to, ours), lambda allowed: len(allowed) == 1)
        assert os.sched_getaffinity(ours) == os.sched_getaffinity(0)
        assert os.sched_getaffinity(others) == ALLOWED

        with ThreadPoolExecutor(1, "born later") as later:  # it inherits the processor of who starts it
            its = later.submit(threading.get_native_id).result()
            await eventually(partial(allowed_to, its), lambda allowed: allowed == ALLOWED)
        keeping.cancel()


@choice
def test_a_child_that_is_let_go_runs_anywhere(at_once: None) -> None:
    os.sched_setaffinity(0, {min(ALLOWED)})
    script = "import os; from services.shared.processors import go_anywhere; {}print(len(os.sched_getaffinity(0)))"
    children = [script.format(""), script.format(f"go_anywhere({set(ALLOWED)}); ")]
    ran = [subprocess.run([sys.executable, "-c", child], capture_output=True, check=True) for child in children]
    assert [int(child.stdout) for child in ran] == [1, len(ALLOWED)]


async def test_with_one_processor_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "ALLOWED", frozenset({0}))
    await asyncio.wait_for(keep_together(("",)), 1)


async def test_where_nobody_tells_what_processors_do_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    monkeypatch.setattr(processors, "ALLOWED", frozenset({0, 1}))
    monkeypatch.setattr(processors, "_worked", dict)
    await asyncio.wait_for(keep_together(("",)), 1)
