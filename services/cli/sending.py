"""Sending turns and waiting until they are memory, with progress bars: what `publish` and `demo` share."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from contracts.ports import Unavailable
from contracts.v1.commands import StatusReply
from contracts.v1.turns import Turn
from services.cli.common import plural
from services.cli.formats import FormatError
from services.shared.bus.connection import NotPermitted
from services.shared.client import Backlog, RequestFailed

_WATCH_EVERY = 0.25
_READ_AHEAD = 1024


class Bus(Protocol):
    """What publishing needs of a client."""

    async def publish_all(
        self, turns: Iterable[Turn], *, in_flight: int = 64, acknowledged: Callable[[], None] = lambda: None
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


def bars(console: Console) -> Progress:
    """Progress bars: nothing is drawn where nobody looks."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )


async def send(
    client: Bus, batches: AsyncIterator[Iterable[Turn]], *, total: int | None, in_flight: int, progress: Progress
) -> Tally:
    """Publish batch after batch, and show how far it is.

    Raises:
        FormatError: a turn could not be read; the ones before it are published.
        Unavailable: the bus did not acknowledge.
    """
    tally = Tally()
    task = progress.add_task("publishing", total=total, note="")
    async with _beside(_watch(client, tally, progress, task)):
        try:
            async for batch in batches:
                await client.publish_all(batch, in_flight=in_flight, acknowledged=tally.add)
        except (ExceptionGroup, FormatError) as error:
            raise _told(_cause(error), tally) from None
        except asyncio.CancelledError:
            so_far = f"interrupted: {plural(tally.turns, 'turn')} published; publishing all again is harmless"
            progress.console.print(so_far, highlight=False, soft_wrap=True)
            raise
    progress.update(task, completed=tally.turns, total=tally.turns, note=f"{tally.rate:,.0f}/s")
    return tally


async def _watch(client: Bus, tally: Tally, progress: Progress, task: TaskID) -> None:
    """Keep the bar true. Drawing once in a while costs less than at every turn."""
    while not progress.disable:
        with suppress(Unavailable):
            try:
                waiting = f" · {(await client.backlog()).total:,} waiting"
            except NotPermitted:
                waiting = ""
            progress.update(task, completed=tally.turns, note=f"{tally.rate:,.0f}/s{waiting}")
        await asyncio.sleep(_WATCH_EVERY)


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something beside the block, until the block ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _cause(error: Exception) -> Exception:
    """What made a group of tasks fail: the turn that could not be read, else the first failure."""
    if not isinstance(error, ExceptionGroup):
        return error
    causes = [_cause(inner) for inner in error.exceptions]
    return next((cause for cause in causes if isinstance(cause, FormatError)), causes[0])


def _told(error: Exception, tally: Tally) -> Exception:
    """An expected failure, with what was done before it."""
    if not tally.turns or not isinstance(error, FormatError | Unavailable):
        return error
    return type(error)(f"{error} (published before: {tally.turns:,}; publishing them again is harmless)")


async def at_once(turns: Iterable[Turn]) -> AsyncIterator[Iterable[Turn]]:
    """Everything as one batch, for `send`."""
    yield turns


async def as_they_come(turns: Iterator[Turn]) -> AsyncIterator[Iterable[Turn]]:
    """What has arrived so far, again and again, for `send`.

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


async def digest(client: Bus, progress: Progress) -> tuple[float, str | None]:
    """Seconds until nothing waited any more, and what went wrong."""
    began = time.monotonic()
    task = progress.add_task("digesting", total=None, note="")
    most = 0

    def show_left(left: int) -> None:
        nonlocal most
        most = max(most, left)
        progress.update(task, total=most, completed=most - left, note=f"{left:,} waiting")

    try:
        await until_digested(client, left=show_left)
    except Stalled as stalled:
        return time.monotonic() - began, str(stalled)
    except asyncio.CancelledError:
        told = "interrupted: all turns are published, and become memory without this command"
        progress.console.print(told, highlight=False, soft_wrap=True)
        raise
    progress.update(task, total=max(most, 1), completed=max(most, 1), note="")
    return time.monotonic() - began, None


async def until_digested(
    client: Bus, *, left: Callable[[int], None] = lambda _: None, every: float = 0.25, stall: float = 60.0
) -> None:
    """Wait until nothing waits on the bus or in the stores; `left` is told how much does.

    Raises:
        Stalled: nothing has moved for `stall` seconds.
    """
    last, since = await _waiting(client), time.monotonic()
    while last != {}:
        left(sum((last or {}).values()))
        await asyncio.sleep(every)
        seen = await _waiting(client)
        if seen != last:
            last, since = seen, time.monotonic()
        elif time.monotonic() - since >= stall:
            raise Stalled(_where(last, stall))


async def _waiting(client: Bus) -> dict[str, int] | None:
    """How much waits, by stage; empty when all is done, None when nobody answers."""
    try:
        waiting = {stage: count for stage, count in (await client.backlog()).by_consumer.items() if count}
        # Asked last, and only then: what has left the bus is counted in the stores.
        pending = 0 if waiting else (await client.status()).pending
    except (Unavailable, RequestFailed):
        return None
    return waiting or ({"stores": pending} if pending else {})


def _where(waiting: dict[str, int] | None, stall: float) -> str:
    found = "memorybus does not answer"
    if waiting is not None and "stores" in waiting:
        found = f"{waiting['stores']:,} entries are unfinished although nothing waits on the bus"
    elif waiting:
        found = ", ".join(f"{stage} has {count:,} waiting" for stage, count in waiting.items())
    return f"nothing moved for {stall:.0f} s: {found}; the log of `memorybus up` says why. Nothing published is lost."
