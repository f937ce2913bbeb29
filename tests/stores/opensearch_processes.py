"""Processes that share indices on OpenSearch: some die at a write, some are overtaken before one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from services.shared.stores.opensearch import OpenSearchTextStore
from services.shared.stores.opensearch.transport import Client, Version, Write

When = Literal["before", "amid", "after"]


class Crash(BaseException):
    """The process dies."""


class CrashingClient(Client):
    """Dies at one of its writes: before any of it is done, in the middle of it, or before it hears of it."""

    left: int
    when: When

    async def bulk(self, writes: Sequence[Write]) -> list[Version | None]:
        if not writes:
            return []
        self.left -= 1
        if self.left >= 0:
            return await super().bulk(writes)
        done = {"before": 0, "amid": (len(writes) + 1) // 2, "after": len(writes)}[self.when]
        await super().bulk(writes[:done])
        raise Crash

    async def request(self, method: str, path: str, **options: Any) -> Any:
        if "_delete_by_query" not in path:
            return await super().request(method, path, **options)
        self.left -= 1
        if self.left >= 0 or self.when != "before":
            answer = await super().request(method, path, **options)
        if self.left < 0:
            raise Crash
        return answer


class OvertakenClient(Client):
    """Before one of its writes something else happens."""

    left: int
    meanwhile: Callable[[], Awaitable[object]]

    async def bulk(self, writes: Sequence[Write]) -> list[Version | None]:
        if writes:
            self.left -= 1
            if self.left == -1:
                await self.meanwhile()
        return await super().bulk(writes)


@asynccontextmanager
async def dying(store: OpenSearchTextStore, write: int, when: When) -> AsyncIterator[OpenSearchTextStore]:
    """Another process on the same indices, which dies at this write."""
    client = CrashingClient(store.client.address, prefix=store.client.prefix)
    client.left, client.when = write, when
    try:
        yield OpenSearchTextStore(client)
    finally:
        await client.close()


@asynccontextmanager
async def overtaken(
    store: OpenSearchTextStore, write: int, meanwhile: Callable[[], Awaitable[object]]
) -> AsyncIterator[OpenSearchTextStore]:
    """Another process on the same indices, before whose write so many something else happens; it must come to it."""
    client = OvertakenClient(store.client.address, prefix=store.client.prefix)
    client.left, client.meanwhile = write, meanwhile
    try:
        yield OpenSearchTextStore(client)
    finally:
        await client.close()
