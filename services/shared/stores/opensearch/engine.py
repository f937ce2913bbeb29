"""What the parts of the text store share: connection, numbers in the order of storing, turns within this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from services.shared.stores.opensearch.documents import now
from services.shared.stores.opensearch.transport import Client


class SequenceNumbers:
    """Microseconds since 1970, none given twice: the order in which this process stores things."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        """A number above all before."""
        self._last = max(self._last + 1, now())
        return self._last


class Locks:
    """One task of this process at a time for each name.

    Other processes are kept out by conditional writes. Many tasks that change one document would fail at those again
    and again, so within a process they queue.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Wait for all of these names; two tasks that want some of the same never wait for each other in turn."""
        async with AsyncExitStack() as stack:
            for lock in [self._locks.setdefault(name, asyncio.Lock()) for name in sorted(set(names))]:
                await stack.enter_async_context(lock)
            yield


class Engine:
    """The base of the classes that fulfil the ports; a text store is all of them around one connection."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.numbers = SequenceNumbers()
        self.locks = Locks()
