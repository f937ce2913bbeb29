"""Rows in which a user is erased in the midst of eight publishers, and memorybus killed at every point of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress

from services.shared.client import MemoryClient
from services.shared.tasks import end
from tests.faults.erasures import Midst
from tests.faults.findings import Findings, Kind
from tests.faults.kills import points
from tests.faults.process import Launched
from tests.faults.rows import Context, Row
from tests.faults.rows_cluster import on_opensearch
from tests.faults.trial import Outcome

PUBLISHERS = 8
ERASES = 20
_BEFORE = 0.3
_AFTER = 1.0
_DIES_WITHIN = 30.0


async def erased_in_the_midst(context: Context) -> Outcome:
    """Erase again and again while others publish for the user."""
    launched = Launched(context.launcher, context.folder / "erase-midst")
    findings, midst = Findings(), Midst("ann")
    erases = ERASES // 4 if context.quick else ERASES
    try:
        await launched.start()
        async with _publishing(launched, midst) as client:
            for number in range(1, erases + 1):
                context.tell(f"{number} of {erases}")
                await asyncio.sleep(_BEFORE)
                await _noting("zombie", _erased(midst, client), findings)
        await _check_what_came_after(launched, midst, findings)
    finally:
        await launched.stop()
    findings.acknowledged = len(midst.acknowledged)
    return Outcome("erase: eight publishers go on", erases, findings, 0.0)


async def killed_while_erasing(context: Context) -> Outcome:
    """Erase while others publish for the user, and die at another point of it each time."""
    launched = Launched(context.launcher, context.folder / "erase-killed")
    where = points("erasing")
    return await _killed_at("erase, kill -9", where if context.quick else where * 2, launched, context)


async def killed_while_erasing_from_opensearch(context: Context) -> Outcome:
    """Erase from OpenSearch while others publish, and die before and after every request that writes to it."""
    with on_opensearch() as environment:
        survey = Launched(context.launcher, context.folder / "erase-survey", environment)
        where = await _points_of_an_erase(survey)
    with on_opensearch() as environment:
        launched = Launched(context.launcher, context.folder / "erase-opensearch", environment)
        return await _killed_at("erase from OpenSearch, kill -9", where, launched, context)


async def _points_of_an_erase(launched: Launched) -> Sequence[str]:
    """The points that an erase passes, in their order."""
    passed = launched.folder / "points"
    try:
        await launched.start("--survey", str(passed))
        midst = Midst("ann")
        async with _publishing(launched, midst) as client:
            await asyncio.sleep(_BEFORE)
            await _erased(midst, client)
    finally:
        await launched.stop()
    every = (await asyncio.to_thread(passed.read_text)).split()
    return [point for point in dict.fromkeys(every) if point.startswith("erase.")]


async def _killed_at(row: str, where: Sequence[str], launched: Launched, context: Context) -> Outcome:
    findings, midst, unreached = Findings(), Midst("ann"), []
    chosen = where[::3] if context.quick else where
    try:
        for point in chosen:
            context.tell(point)
            if not await killed_once(launched, midst, point, findings, is_marked=_is_marked(point, where)):
                unreached.append(point)
        await launched.start()
        await _check_what_came_after(launched, midst, findings)
    finally:
        await launched.stop()
    findings.acknowledged = len(midst.acknowledged)
    return Outcome(row, len(chosen) - len(unreached), findings, 0.0, tuple(unreached))


def _is_marked(point: str, where: Sequence[str]) -> bool:
    """Whether the user is marked as erased at a point: the mark is the first effect."""
    first_done = next(number for number, one in enumerate(where) if one.endswith(".after"))
    return where.index(point) >= first_done


async def killed_once(
    launched: Launched, midst: Midst, point: str, findings: Findings, *faults: str, is_marked: bool
) -> bool:
    """Die at a point of an erase, start again, and look; whether the point was passed."""
    await launched.start("--kill", f"{point}:1", *faults)
    async with _publishing(launched, midst) as client:
        await asyncio.sleep(_BEFORE)
        before = set(midst.acknowledged)
        erasing = asyncio.create_task(midst.erase(client))
        with suppress(TimeoutError):
            await asyncio.wait_for(launched.died(), _DIES_WITHIN)
        await end([erasing])
    has_died = not launched.is_running
    await launched.stop()
    await launched.start(*faults)
    async with launched.client() as client:
        if is_marked and has_died:  # from here on it completes by itself, whether or not somebody asks again
            await _noting("zombie", midst.none_is_found(client, before), findings)
        await _noting("zombie", _erased(midst, client), findings)
    await launched.stop()
    return has_died


async def _erased(midst: Midst, client: MemoryClient) -> None:
    await midst.finish(client, await midst.erase(client))


@asynccontextmanager
async def _publishing(launched: Launched, midst: Midst) -> AsyncIterator[MemoryClient]:
    """Have eight publish over one connection; another one to do something else."""
    async with launched.client() as theirs, launched.client() as other:
        publishers = [asyncio.create_task(midst.publish(theirs)) for _ in range(PUBLISHERS)]
        try:
            yield other
        finally:
            await end(publishers)


async def _check_what_came_after(launched: Launched, midst: Midst, findings: Findings) -> None:
    """What is published after the last erasure stays."""
    async with launched.client() as client:
        receipt = await midst.erase(client)
        after = len(midst.acknowledged)
        async with _publishing(launched, midst):
            await asyncio.sleep(_AFTER)
        await midst.finish(client, receipt)
        await _noting("lost", midst.remembered(client, midst.acknowledged[after:]), findings)


async def _noting(kind: Kind, work: Awaitable[None], findings: Findings) -> None:
    try:
        await work
    except AssertionError as error:
        findings.add(kind, str(error)[:500])


ROWS: dict[str, Row] = {
    "erase-midst": erased_in_the_midst,
    "erase-killed": killed_while_erasing,
    "erase-opensearch": killed_while_erasing_from_opensearch,
}
"""By name."""
