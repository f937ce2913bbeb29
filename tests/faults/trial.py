"""One memorybus under one load: started with faults, loaded, left to recover, and checked."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.commands import ListRequest
from contracts.v1.retrieval import RetrieveRequest
from services.shared.client import MemoryClient, RequestFailed
from services.shared.settings import Settings
from tests.faults import observing
from tests.faults.checker import Observed, check
from tests.faults.findings import Findings
from tests.faults.journal import UNKEPT, Journal, Promise, promises
from tests.faults.loader import Loader
from tests.faults.loads import Step
from tests.polling import eventually

LANES = 6
_RECOVERY = 60.0
_SLOWEST = 20.0
"""Steps a second."""
_LOOK_EVERY = 0.05
_ASKED = 8
_BREATH = 0.05


class NotRecovered(Exception):
    """Something still waits a minute after the last fault; the text says what."""


@dataclass(slots=True)
class Outcome:
    """What became of one row of the matrix. `runs` faults happened, `unreached` are those that could not."""

    row: str
    runs: int
    findings: Findings
    recovered: float
    unreached: tuple[str, ...] = ()
    note: str = ""

    @property
    def good(self) -> bool:
        """Whether every promise was kept."""
        return self.findings.clean


class System(Protocol):
    """The memorybus under trial, whatever it consists of."""

    @property
    def settings(self) -> Settings:
        """Which stores it has."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The folders in which nothing of what was forgotten may be left."""
        ...

    def client(self) -> AbstractAsyncContextManager[MemoryClient]:
        """A connection to its bus."""
        ...

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        ...

    async def kill(self) -> None:
        """End it at once."""
        ...


@dataclass(slots=True)
class Trial:
    """A memorybus, the load, and the journal, which is kept in a folder."""

    system: System
    folder: Path
    steps: Iterable[Step]
    journal: Journal = field(init=False)
    loader: Loader = field(init=False)
    versions: observing.Versions = field(default_factory=observing.Versions)
    foreign: list[str] = field(default_factory=list)
    letters: Mapping[str, int] = field(default_factory=dict)
    sweep: float = 25.0
    """Seconds of idling after which nothing of what was forgotten may be left in a file."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(self.folder / "journal.jsonl")
        self.loader = Loader(self.steps, self.journal)

    async def load_on(self, *, pause: float = _BREATH) -> None:
        """Carry out steps, a few at a time, until cancelled."""
        async with self.system.client() as client:
            await self.loader.run([client], lanes=LANES, steps=None, pause=pause)

    @contextlib.asynccontextmanager
    async def loading(self) -> AsyncIterator[None]:
        """Carry out steps until the block ends."""
        task = asyncio.create_task(self.load_on())
        try:
            yield
        finally:
            ended = await _end(task)
        if isinstance(ended, Exception):
            raise ended

    async def load(self, *, steps: int, publishers: int = 1, lanes: int = LANES) -> None:
        """Carry out so many steps.

        Raises:
            NotRecovered: some cannot be carried out.
        """
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(self.system.client()) for _ in range(publishers)]
            await self._within(_RECOVERY + steps / _SLOWEST, self.loader.run(clients, lanes=lanes, steps=steps))

    async def acknowledged(self, count: int) -> None:
        """Wait until so many steps are."""

        async def noted() -> int:
            return self.journal.count

        await eventually(noted, lambda number: number >= count, within=_RECOVERY + count / _SLOWEST)

    async def _within(self, seconds: float, work: Coroutine[Any, Any, None]) -> None:
        try:
            await asyncio.wait_for(work, seconds)
        except TimeoutError:
            waiting = f"{dict(self.loader.unfinished)}, {await self._state()}"
            raise NotRecovered(f"not acknowledged within {seconds:.0f} s: {waiting}") from None

    async def _state(self) -> str:
        """What memorybus says of itself."""
        with contextlib.suppress(Unavailable, RequestFailed):
            async with self.system.client() as client:
                return f"{await client.status()} {await client.backlog()}"
        return "memorybus does not answer"

    async def recover(self) -> float:
        """Finish what was begun and wait until nothing waits any more; the seconds that took."""
        began = time.monotonic()
        async with self.system.client() as client:
            await self._within(_RECOVERY, self.loader.run([client], lanes=LANES, steps=0))
            await self._until_idle(client)
            took = time.monotonic() - began
            await self.look(client)
            self.letters = await observing.dead_letters(client)
        return took

    async def _until_idle(self, client: MemoryClient) -> None:
        deadline = time.monotonic() + _RECOVERY
        seen: object = None
        quiet = 0
        while time.monotonic() < deadline:
            with contextlib.suppress(Unavailable, RequestFailed):
                status, backlog = await client.status(), await client.backlog()
                beside = await client.bus.backlog(subjects.EXTRACT)
                seen = (status, backlog, beside)
                quiet = 0 if status.pending or backlog.total or beside else quiet + 1
                if quiet > 1:  # between two looks something may have been on its way from here to there
                    return
            await asyncio.sleep(_LOOK_EVERY)
        raise NotRecovered(f"still not idle after {_RECOVERY:.0f} s: {seen}")

    async def look(self, client: MemoryClient) -> None:
        """See the versions of entries, and ask as every user for what the others said."""
        said = self._said()
        users = list(dict.fromkeys(one.user_id for one in said))
        for number, user in enumerate(users):
            page = await client.list(ListRequest(user_id=user, limit=1000), patience=10.0)
            self.versions.see(page.items)
            others = [one for one in said if one.user_id != user][number :: len(users)][-_ASKED:]
            query = " ".join(one.marker for one in others)
            reply = await client.retrieve(RetrieveRequest(user_id=user, query=query or "x", min_score=0.0), patience=10)
            own = {one.marker for one in said if one.user_id == user}
            self.foreign += [f"{user!r} is shown {item.text!r}" for item in reply.items if not _is_own(item.text, own)]

    def _said(self) -> list[Promise]:
        return [one for one in promises(self.journal.path) if one.kind in ("say", "create")]

    async def verdict(self) -> Findings:
        """Stop it, and check everything it has left."""
        left = await self._left_after_idling()
        await self.system.stop()
        stored = await observing.stored(self.system.settings)
        observed = Observed(
            stored.records,
            stored.entries,
            stored.points,
            lacking=stored.lacking,
            letters=self.letters,
            versions=self.versions.highest,
            left=left | observing.markers_in(self.system.files),
            decided=stored.decided,
            by_model=bool(self.system.settings.extract_url),
        )
        findings = check(promises(self.journal.path), observed)
        for what in self.foreign:
            findings.add("foreign", what)
        for id_ in self.versions.fallen:
            findings.add("went_back", f"entry {id_} was seen in an older version than before")
        return findings

    async def _left_after_idling(self) -> frozenset[str]:
        """What of the forgotten is in a file after the seconds of idling in which it must go."""
        gone, deadline = self._gone(), time.monotonic() + self.sweep
        while left := gone & observing.markers_in(self.system.files):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(1.0)
        return frozenset(left)

    def _gone(self) -> set[str]:
        every = list(promises(self.journal.path))
        erased = {one.user_id for one in every if one.kind == "erase"}
        forgotten = {one.statement for one in every if one.kind == "forget"}
        return {
            one.marker
            for one in every
            if one.marker and (one.user_id in erased or one.statement in forgotten or one.kind in UNKEPT)
        }

    async def close(self) -> None:
        """End whatever runs."""
        await self.system.kill()
        self.journal.close()


async def _end(task: asyncio.Task[None]) -> BaseException | None:
    """Cancel a task until it has ended: the bus's client takes some cancellations for something else."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1.0)
    return None if task.cancelled() else task.exception()


def _is_own(text: str, own: set[str]) -> bool:
    return any(marker in text.lower() for marker in own)
