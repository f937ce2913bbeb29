"""Work beside the event loop, and ending background tasks and child processes for certain."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_AGAIN_AFTER = 0.5
_APART = ThreadPoolExecutor(1, thread_name_prefix="apart")
_NICE = 10
_QUICK = 1024  # characters that the rules on texts go through in some 5 ms


async def beside_the_loop(work: Callable[[], T], chars: int) -> T:
    """The result of pure work on texts of so many characters: at once where it is quick, else from a thread.

    A thread leaves the interpreter lock to the event loop after `sys.getswitchinterval`.
    """
    return work() if chars <= _QUICK else await asyncio.to_thread(work)


async def apart(work: Callable[..., T], *args: Any, **named: Any) -> T:
    """The result of pure work that may take a second: from one thread for all of it, however many ask.

    Several would take no less time, and each has the event loop wait for the interpreter lock once more.
    """
    return await asyncio.get_running_loop().run_in_executor(_APART, partial(work, *args, **named))


def give_way() -> None:
    """Leave the processor to others from now on, as long as they need it: for a thread that works through a backlog.

    Elsewhere than on Linux a whole process has one priority, and nothing happens.
    """
    if sys.platform == "linux":
        os.nice(_NICE)


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until all have ended.

    Once is not enough: `asyncio.wait_for` of Python 3.11, which client libraries use, loses a cancellation that
    arrives together with the result it waits for, and a loop around it would go on for ever.
    """
    remaining = {task for task in tasks if not task.done()}
    while remaining:
        for task in remaining:
            task.cancel()
        _, remaining = await asyncio.wait(remaining, timeout=_AGAIN_AFTER)


async def ended(process: Process, *, within: float) -> None:
    """Wait for a process that was told to end; one that has not after so many seconds is killed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
