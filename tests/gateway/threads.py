"""What runs on a loop in a thread of its own, for tests with loops of their own and for commands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def in_a_thread(opening: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Open it in a thread, and close it there when the block ends."""
    opened, stop = Queue[T | BaseException](), Event()

    async def run() -> None:
        try:
            async with opening as one:
                opened.put(one)
                await asyncio.to_thread(stop.wait)
        except BaseException as error:
            opened.put(error)
            raise

    thread = Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        found = opened.get(timeout=60)
        if isinstance(found, BaseException):
            raise found
        yield found
    finally:
        stop.set()
        thread.join()
