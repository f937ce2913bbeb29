"""What the parts of the text store share: connection, numbers in the order of storing, turns within this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from contracts.v1.entries import Entry
from contracts.v1.turns import Proposal
from services.shared.cache import Cache
from services.shared.stores.moments import now
from services.shared.stores.opensearch.transport import Client, Version

_SECONDS = 5.0
_MOST = 512
_MOST_SEEN = 10_000


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


K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """What this process read or wrote a moment ago: each is taken once, and dropped when seconds later nobody has.

    It may be outdated. Who takes it writes what follows from it under the version that it had.
    """

    def __init__(self) -> None:
        self._held: Cache[K, V] = Cache(_MOST)

    def put(self, key: K, value: V) -> None:
        """Keep a value until it is taken."""
        self._held.put(key, value)
        asyncio.get_running_loop().call_later(_SECONDS, self._held.pop, key)

    def take(self, key: K) -> V | None:
        """The value, which is not kept any longer."""
        return self._held.pop(key)


class Engine:
    """The base of the classes that fulfil the ports; a text store is all of them around one connection."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.numbers = SequenceNumbers()
        self.locks = Locks()
        self.seen: Cache[tuple[str, int], tuple[int, Version]] = Cache(_MOST_SEEN)
        """Of entries by id and version, as they were read or stored last: the number in the order of storing, and the
        write that each is of. A replacement names both. What is not remembered any more is read again."""

        self.proposed: Recent[str, Proposal] = Recent()
        self.stored: Recent[str, Entry] = Recent()

    def note_stored(self, entry: Entry, seq: int, version: Version) -> None:
        """Keep an entry at hand that was stored just now, for the next stage where that is in this process."""
        self.seen.put((entry.id, entry.version), (seq, version))
        self.stored.put(entry.id, entry)
