"""Rows in which memorybus is killed at every point of what one user does, each time another's, and nobody else acts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from services.shared.client import MemoryClient
from services.shared.tasks import end
from tests.faults import observing
from tests.faults.findings import Findings, Kind
from tests.faults.process import Launched
from tests.faults.rows import Context, Row
from tests.faults.stories import FAILED, RollingUp, Sessions, Story, Superseding, told
from tests.faults.trial import Outcome
from tests.polling import eventually

_SOME = 3
_DIES_WITHIN = 30.0
_SWEPT_WITHIN = 60.0


def killed_within(row: str, name: str, story: Story) -> Row:
    """Kill -9 at every passing of a point of a story; what is left is seen, told to the end, and seen again."""

    async def run(context: Context) -> Outcome:
        async def tell_once(client: MemoryClient) -> None:
            await told(story, client, "user-0")
            await story.ends(client, "user-0")

        passings = await Launched(context.folder / f"{name}-survey").passings(tell_once, story.within)
        story.acknowledged.clear()
        first = context.seed % max(1, len(passings) // _SOME) if context.quick else 0
        chosen = passings[first :: max(1, len(passings) // _SOME)] if context.quick else passings
        trials = _Trials(Launched(context.folder / name), story)
        try:
            for number, passing in enumerate(chosen):
                context.tell(passing)
                await trials.killed_at(passing, f"user-{number}")
            await trials.nothing_is_left()
        finally:
            await trials.launched.stop()
        await trials.vectors_agree()
        trials.findings.acknowledged = story.acknowledged.total()
        died = len(chosen) - len(trials.unreached)
        return Outcome(row, died, trials.findings, trials.slowest, tuple(trials.unreached))

    return run


@dataclass(slots=True)
class _Trials:
    """One memorybus, which is killed and started again, and what was found."""

    launched: Launched
    story: Story
    findings: Findings = field(default_factory=Findings)
    unreached: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    slowest: float = 0.0

    async def killed_at(self, passing: str, user: str) -> None:
        """Die at a passing, start again, and look at what there is of the user."""
        self.users.append(user)
        if await self.launched.start("--kill", passing) and not await self._died(user):
            self.unreached.append(passing)
        await self.launched.stop()
        await self.launched.start()
        async with self.launched.client() as client:
            began = time.monotonic()
            await self._noting("lost", passing, self.story.survives(client, user))
            self.slowest = max(self.slowest, time.monotonic() - began)
            await self._noting("lost", passing, told(self.story, client, user))
            await self._noting("duplicated", passing, self.story.ends(client, user))
        await self.launched.stop()

    async def _died(self, user: str) -> bool:
        async with self.launched.client() as client:
            telling = asyncio.create_task(self._tell(client, user))
            dying = asyncio.create_task(self.launched.died())
            await asyncio.wait([telling, dying], timeout=_DIES_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([dying], timeout=1.0)  # a step is done before all that follows from it
            await end([telling, dying])
        return not self.launched.is_running

    async def _tell(self, client: Any, user: str) -> None:
        with suppress(AssertionError, *FAILED):
            await self.story.tell(client, user)

    async def nothing_is_left(self) -> None:
        """Look for what was forgotten in the bytes of every file, once they had time to be written without it."""
        gone = {word for user in self.users if (word := self.story.gone(user)) is not None}
        await self.launched.start()

        async def left() -> list[str]:
            return sorted(gone & await asyncio.to_thread(observing.markers_in, self.launched.files))

        await self._noting("zombie", "the end", eventually(left, lambda found: not found, within=_SWEPT_WITHIN))

    async def vectors_agree(self) -> None:
        """Compare the vectors with the entries in use, of a memorybus that does not run."""
        stored = await observing.stored(self.launched.settings)
        wanted = {one.id for one in stored.entries if one.status == "active" and one.embedding_state == "ready"}
        for id_ in wanted.symmetric_difference(one.id for one in stored.points) | stored.lacking:
            self.findings.add("vectors_differ", f"entry {id_} and its vector")

    async def _noting(self, kind: Kind, passing: str, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except (AssertionError, *FAILED) as error:
            self.findings.add(kind, f"{passing}: {type(error).__name__}: {error}"[:500])


ROWS: dict[str, Row] = {
    "kill-rolling-up": killed_within("kill -9: rolling up, undoing, forgetting", "rolling-up", RollingUp()),
    "kill-superseding": killed_within("kill -9: superseding", "superseding", Superseding()),
    "kill-sessions": killed_within("kill -9: sessions that end", "sessions", Sessions()),
}
"""By name."""
