"""Rows in which a user is erased in the midst of eight publishers, and memorybus killed at every point of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

from services.shared.client import MemoryClient
from services.shared.tasks import end
from tests.faults.erasures import Midst
from tests.faults.findings import Findings, Kind
from tests.faults.process import Launched
from tests.faults.rows import Context, Row
from tests.faults.rows_cluster import on_opensearch
from tests.faults.trial import Outcome

PUBLISHERS = 8
ERASES = 20
_BEFORE = 0.3
_AFTER = 1.0
_DIES_WITHIN = 30.0

ChosenStore = Callable[[], AbstractContextManager[Mapping[str, str]]]
"""The settings that choose a text store, which is empty."""


async def erased_in_the_midst(context: Context) -> Outcome:
    """Erase again and again while others publish for the user."""
    launched = Launched(context.folder / "erase-midst")
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
    """Erase while others publish for the user, and die at every point of it, one after the other."""
    return await _killed_everywhere("erase, kill -9", "erase-killed", lambda: nullcontext({}), context)


async def killed_while_erasing_from_opensearch(context: Context) -> Outcome:
    """Erase from OpenSearch while others publish, and die before and after every request that writes to it."""
    return await _killed_everywhere("OpenSearch, erase, kill -9", "erase-opensearch", on_opensearch, context)


async def _killed_everywhere(row: str, name: str, chosen_store: ChosenStore, context: Context) -> Outcome:
    with chosen_store() as environment:
        survey = Launched(context.folder / f"{name}-survey", environment)
        passings = await survey.passings(_erased_once, ("erase.",))
    findings, midst, unreached = Findings(), Midst("ann"), []
    marked = next(number for number, one in enumerate(passings) if ".after:" in one)  # the mark is the first effect
    chosen = list(enumerate(passings))[:: 3 if context.quick else 1]
    with chosen_store() as environment:
        launched = Launched(context.folder / name, environment)
        try:
            for number, passing in chosen:
                context.tell(passing)
                if not await killed_once(launched, midst, passing, findings, is_marked=number >= marked):
                    unreached.append(passing)
            await launched.start()
            await _check_what_came_after(launched, midst, findings)
        finally:
            await launched.stop()
    findings.acknowledged = len(midst.acknowledged)
    return Outcome(row, len(chosen) - len(unreached), findings, 0.0, tuple(unreached))


async def _erased_once(client: MemoryClient) -> None:
    midst = Midst("ann")
    publishers = [asyncio.create_task(midst.publish(client)) for _ in range(PUBLISHERS)]
    await asyncio.sleep(_BEFORE)
    await _erased(midst, client)
    await end(publishers)


async def killed_once(
    launched: Launched, midst: Midst, passing: str, findings: Findings, *faults: str, is_marked: bool
) -> bool:
    """Die at a passing of a point of an erase, start again, and look; whether it came to that."""
    await launched.start("--kill", passing, *faults)
    async with _publishing(launched, midst) as client:
        await asyncio.sleep(_BEFORE)
        before = set(midst.acknowledged)
        erasing = _noting("zombie", _erased(midst, client), findings)
        either = [asyncio.create_task(launched.died()), asyncio.create_task(erasing)]
        await asyncio.wait(either, timeout=_DIES_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        await end(either)
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


async def _noting(kind: Kind, work: Coroutine[Any, Any, None], findings: Findings) -> None:
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
