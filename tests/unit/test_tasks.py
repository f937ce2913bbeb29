"""Ending tasks: also those that lose a cancellation."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from services.shared.tasks import end


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
