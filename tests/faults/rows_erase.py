"""Rows in which a user is erased in the midst of eight publishers, and memorybus killed at every point of that."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

from contracts.v1.commands import EraseReceipt
from services.shared.tasks import end
from tests.faults.erasures import Midst
from tests.faults.findings import Findings
from tests.faults.kills import GROUPS, Effect
from tests.faults.process import Launched
from tests.faults.rows import Context, Row
from tests.faults.trial import Outcome

PUBLISHERS = 8
ERASES = 20
_BEFORE = 0.3
_DIES_WITHIN = 8.0


def erased_in_the_midst(*, killed: bool) -> Row:
    """Erase again and again while others publish for the user; `killed`: each time at another point of it."""

    async def row(context: Context) -> Outcome:
        name = "erase-killed" if killed else "erase-midst"
        launched = Launched(context.launcher, context.folder / name, {}, ())
        effects: list[Effect] = [effect for effect in GROUPS["erasing"] if killed]
        points = [point for effect in effects for point in effect.points] or [""] * ERASES
        findings, midst, unreached = Findings(), Midst("ann"), []
        try:
            for point in points[:: 3 if context.quick else 1]:
                try:
                    if not await _round(launched, midst, point):
                        unreached.append(point)
                except AssertionError as error:
                    findings.add("zombie", f"{point}: {error}")
            await launched.start()
            await _all_of_the_end(launched, midst, findings)
        finally:
            await launched.stop()
        findings.acknowledged = len(midst.acknowledged)
        runs = len(points[:: 3 if context.quick else 1]) - len(unreached)
        what = "kill -9 at a point of it" if killed else "eight publishers go on"
        return Outcome(f"erase in the midst: {what}", runs, findings, 0.0, tuple(unreached))

    return row


async def _round(launched: Launched, midst: Midst, point: str) -> bool:
    """Publish and erase, and look; with a point die there, start again, and look then. Whether it was passed."""
    await launched.start(*(("--kill", f"{point}:1") if point else ()))
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(launched.client()) for _ in range(2)]
        publishers = [asyncio.create_task(midst.publish(clients[0])) for _ in range(PUBLISHERS)]
        try:
            await asyncio.sleep(_BEFORE)
            if not point:
                await midst.finish(clients[1], await midst.erase(clients[1]))
                return True
            erasing = asyncio.create_task(midst.erase(clients[1]))
            with suppress(TimeoutError):
                await asyncio.wait_for(launched.died(), _DIES_WITHIN)
            await end([erasing])
        finally:
            await end(publishers)
    has_died = not launched.is_running
    await launched.stop()
    await launched.start()
    async with launched.client() as client:
        await midst.finish(client, await midst.erase(client))
    await launched.stop()
    return has_died


async def _all_of_the_end(launched: Launched, midst: Midst, findings: Findings) -> None:
    """What is published after the last erasure stays."""
    async with launched.client() as client:
        receipt: EraseReceipt = await midst.erase(client)
        publishers = [asyncio.create_task(midst.publish(client)) for _ in range(PUBLISHERS)]
        after = len(midst.acknowledged)
        await asyncio.sleep(1.0)
        await end(publishers)
        await midst.finish(client, receipt)
        try:
            await midst.remembered(client, midst.acknowledged[after:])
        except AssertionError as error:
            findings.add("lost", str(error)[:500])


ROWS: dict[str, Row] = {
    "erase-midst": erased_in_the_midst(killed=False),
    "erase-killed": erased_in_the_midst(killed=True),
}
"""By name."""
