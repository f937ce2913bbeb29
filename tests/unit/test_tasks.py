"""Ending tasks and processes: also those that do not want to."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from services.shared.tasks import end, ended

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
WILLING = "import time; print(flush=True); time.sleep(60)"


async def test_a_task_that_swallows_a_cancellation_is_ended_all_the_same() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        swallowed += 1
        await asyncio.sleep(60)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await end([task])
    assert task.cancelled()
    assert swallowed == 1


async def test_tasks_that_are_done_are_left_alone() -> None:
    done = asyncio.create_task(asyncio.sleep(0, "result"))
    await done
    await end([done])
    await end([])
    assert done.result() == "result"


async def test_a_process_that_does_not_hear_is_killed() -> None:
    process = await told_to_end(DEAF)
    await ended(process, within=0.1)
    assert process.returncode == -signal.SIGKILL


async def test_a_process_that_ends_is_not_killed() -> None:
    process = await told_to_end(WILLING)
    await ended(process, within=30)
    assert process.returncode == -signal.SIGTERM


async def told_to_end(program: str) -> Process:
    """A process that runs this, and has been sent SIGTERM."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    process.terminate()
    return process
