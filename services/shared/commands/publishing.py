"""Publishing many turns, and waiting until they are memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from contracts.errors import Unavailable
from contracts.v1.commands import StatusReply
from contracts.v1.turns import Turn
from services.shared.bus.connection import NotPermitted
from services.shared.client import Backlog
from services.shared.commands.formats import FormatError
from services.shared.commands.progress import Progress, untold
from services.shared.errors import RequestFailed
from services.shared.tasks import end

_WATCH_EVERY = 0.25
_READ_AHEAD = 1024


class Bus(Protocol):
    """What publishing needs of a client."""

    async def publish_all(
        self,
        turns: Iterable[Turn],
        *,
        in_flight: int = 64,
        acknowledged: Callable[[], None] = lambda: None,
        incognito: bool = False,
    ) -> None: ...

    async def backlog(self) -> Backlog: ...

    async def status(self, user_id: str | None = None) -> StatusReply: ...


class Stalled(Exception):
    """Nothing has moved for a long time; the text says what waits where."""


@dataclass(slots=True)
class Tally:
    """How many turns the bus has acknowledged, and how long that took."""

    turns: int = 0
    seconds: float = 0.0
    _began: float = field(default_factory=time.monotonic)

    def add(self) -> None:
        """Count one more."""
        self.turns += 1
        self.seconds = time.monotonic() - self._began

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds if self.seconds > 0 else 0.0


async def publish_turns(
    client: Bus,
    batches: AsyncIterator[Iterable[Turn]],
    tally: Tally,
    *,
    total: int | None = None,
    in_flight: int = 64,
    progress: Progress = untold,
    incognito: bool = False,
) -> None:
    """Publish batch after batch, counted in `tally`; incognito, where nothing keeps them.

    Raises:
        FormatError: a turn could not be read; the ones before it are published.
        Unavailable: the bus did not acknowledge.
    """
    watching = asyncio.create_task(_watch(client, tally, total, progress))
    try:
        async for batch in batches:
            await client.publish_all(batch, in_flight=in_flight, acknowledged=tally.add, incognito=incognito)
    except (ExceptionGroup, FormatError) as error:
        cause = _cause(error)
        if not tally.turns or not isinstance(cause, FormatError | Unavailable):
            raise cause from None
        before = f"(published before: {tally.turns:,}; publishing them again is harmless)"
        raise type(cause)(f"{cause} {before}") from None
    finally:
        await end([watching])
    progress("publishing", tally.turns, tally.turns, note=f"{tally.rate:,.0f}/s")


async def _watch(client: Bus, tally: Tally, total: int | None, progress: Progress) -> None:
    """Tell how far it is. Once in a while costs less than at every turn."""
    while progress is not untold:
        with suppress(Unavailable):
            try:
                waiting = f" · {(await client.backlog()).total:,} waiting"
            except NotPermitted:
                waiting = ""
            progress("publishing", tally.turns, total, note=f"{tally.rate:,.0f}/s{waiting}")
        await asyncio.sleep(_WATCH_EVERY)


def _cause(error: Exception) -> Exception:
    """What made a group of tasks fail: the turn that could not be read, else the first failure."""
    if not isinstance(error, ExceptionGroup):
        return error
    causes = [_cause(inner) for inner in error.exceptions]
    return next((cause for cause in causes if isinstance(cause, FormatError)), causes[0])


async def at_once(turns: Iterable[Turn]) -> AsyncIterator[Iterable[Turn]]:
    """Everything as one batch, for `publish_turns`."""
    yield turns


async def as_they_come(turns: Iterator[Turn]) -> AsyncIterator[Iterable[Turn]]:
    """What has arrived so far, again and again, for `publish_turns`.

    A thread waits for the pipe: a slow writer must not stop the bus.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Turn | Exception | None] = asyncio.Queue()
    room = threading.Semaphore(_READ_AHEAD)

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            for item in _ending(turns):
                room.acquire()
                loop.call_soon_threadsafe(arrived.put_nowait, item)

    threading.Thread(target=read, daemon=True).start()
    while True:
        items = [await arrived.get()]
        while not arrived.empty():
            items.append(arrived.get_nowait())
        room.release(len(items))
        yield [item for item in items if isinstance(item, Turn)]
        match items[-1]:
            case Exception() as error:
                raise error
            case None:
                return


def _ending(turns: Iterator[Turn]) -> Iterator[Turn | Exception | None]:
    """The turns, then how they ended."""
    try:
        yield from turns
        yield None
    except Exception as error:
        yield error


async def digest(client: Bus, progress: Progress = untold, *, user: str | None = None) -> tuple[float, str | None]:
    """Seconds until nothing waited any more, in the stores nothing of this user or of anybody, and what went wrong."""
    began = time.monotonic()
    try:
        await until_digested(client, progress, user=user)
    except Stalled as stalled:
        return time.monotonic() - began, str(stalled)
    return time.monotonic() - began, None


async def until_digested(
    client: Bus, progress: Progress = untold, *, user: str | None = None, every: float = 0.25, stall: float = 60.0
) -> None:
    """Wait until nothing waits on the bus, or in the stores of this user or of anybody.

    Raises:
        Stalled: nothing has moved for `stall` seconds.
    """
    most, last, since = 1, await _waiting(client, user), time.monotonic()
    while last != {}:
        left = sum((last or {}).values())
        most = max(most, left)
        progress("digesting", most - left, most, note=f"{left:,} waiting")
        await asyncio.sleep(every)
        seen = await _waiting(client, user)
        if seen != last:
            last, since = seen, time.monotonic()
        elif time.monotonic() - since >= stall:
            raise Stalled(_where(last, stall))
    progress("digesting", most, most)


async def _waiting(client: Bus, user: str | None) -> dict[str, int] | None:
    """How much waits, by stage; empty when all is done, None when nobody answers."""
    try:
        waiting = {stage: count for stage, count in (await client.backlog()).by_consumer.items() if count}
        # Asked last, and only then: what has left the bus is counted in the stores.
        pending = 0 if waiting else (await client.status(user)).pending
    except (Unavailable, RequestFailed):
        return None
    return waiting or ({"stores": pending} if pending else {})


def _where(waiting: dict[str, int] | None, stall: float) -> str:
    found = "memorybus does not answer"
    if waiting is not None and "stores" in waiting:
        entries = "1 entry is" if waiting["stores"] == 1 else f"{waiting['stores']:,} entries are"
        found = f"{entries} unfinished although nothing waits on the bus"
    elif waiting:
        found = ", ".join(f"{stage} has {count:,} waiting" for stage, count in waiting.items())
    return f"nothing moved for {stall:.0f} s: {found}; the log of `memorybus up` says why. Nothing published is lost."
