"""Processes that share indices on OpenSearch: some die at a write, some are overtaken before one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, TypeVar

from services.shared.stores.opensearch import OpenSearchTextStore
from services.shared.stores.opensearch.transport import Client, Document, Get, Version, Write

T = TypeVar("T")
When = Literal["before", "amid", "after"]
Process = AbstractAsyncContextManager[OpenSearchTextStore]


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


class TornClient(Client):
    """Reads entries first; what else a request about one of them asks for is read after something else has happened."""

    about: str
    meanwhile: Callable[[], Awaitable[object]]

    async def get(self, wanted: Sequence[Get]) -> list[Document | None]:
        entries = [one for one in wanted if one.kind == "entries"]
        found = dict(zip(entries, await super().get(entries), strict=True))
        if rest := [one for one in wanted if one.kind != "entries"]:
            if any(one.id == self.about for one in rest):
                await self.meanwhile()
            found |= dict(zip(rest, await super().get(rest), strict=True))
        return [found[one] for one in wanted]


@asynccontextmanager
async def _process(client: Client) -> AsyncIterator[OpenSearchTextStore]:
    try:
        yield OpenSearchTextStore(client)
    finally:
        await client.close()


def torn(store: OpenSearchTextStore, about: str, meanwhile: Callable[[], Awaitable[object]]) -> Process:
    """Another process on the same indices, whose requests about this entry are read in two parts."""
    client = TornClient(store.client.address, prefix=store.client.prefix)
    client.about, client.meanwhile = about, meanwhile
    return _process(client)


def dying(store: OpenSearchTextStore, write: int, when: When) -> Process:
    """Another process on the same indices, which dies at this write."""
    client = CrashingClient(store.client.address, prefix=store.client.prefix)
    client.left, client.when = write, when
    return _process(client)


def overtaken(store: OpenSearchTextStore, write: int, meanwhile: Callable[[], Awaitable[object]]) -> Process:
    """Another process on the same indices, before whose write so many something else happens; it must come to it."""
    client = OvertakenClient(store.client.address, prefix=store.client.prefix)
    client.left, client.meanwhile = write, meanwhile
    return _process(client)


async def broken_off(
    store: OpenSearchTextStore,
    when: When,
    prepare: Callable[[], Awaitable[T]],
    act: Callable[[OpenSearchTextStore, T], Awaitable[object]],
) -> AsyncIterator[T]:
    """What each process left that died one write later than the one before, up to one that did not come to die."""
    write = 0
    while True:
        prepared = await prepare()
        async with dying(store, write, when) as process:
            try:
                await act(process, prepared)
            except Crash:
                pass
            else:
                return
        yield prepared
        write += 1


async def overtaken_everywhere(
    store: OpenSearchTextStore,
    prepare: Callable[[], Awaitable[T]],
    act: Callable[[OpenSearchTextStore, T], Awaitable[object]],
    meanwhile: Callable[[T], Awaitable[object]],
) -> AsyncIterator[T]:
    """What is there once something else has happened before one of its writes, and before every other in turn."""
    write = 0
    while True:
        prepared, came = await prepare(), False

        async def overtake() -> None:
            nonlocal came
            came = True
            await meanwhile(prepared)  # noqa: B023

        async with overtaken(store, write, overtake) as process:
            await act(process, prepared)
        if not came:
            return
        yield prepared
        write += 1
