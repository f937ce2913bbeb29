"""Killed at every point between two effects, one after the other, on the same data folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from tests.faults.loads import Load
from tests.faults.process import KILLED, Launched, NotReady
from tests.faults.trial import Outcome, Trial

_PATIENCE = 10.0
_CHECK_EVERY = 25


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that is done to the outside, and at which moments around it memorybus can be killed."""

    name: str
    moments: tuple[str, ...] = ("before", "after")

    @property
    def points(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{moment}" for moment in self.moments)


def _committed(*names: str) -> tuple[Effect, ...]:
    return tuple(Effect(name, ("before", "uncommitted", "after")) for name in names)


def _plain(*names: str) -> tuple[Effect, ...]:
    return tuple(map(Effect, names))


def _read(*names: str) -> tuple[Effect, ...]:
    return tuple(Effect(f"{name}.read", ("after",)) for name in names)


STAGES = ("ingest", "dedupe", "enrich", "embed")

GROUPS: dict[str, tuple[Effect, ...]] = {
    "reading": _read(*STAGES),
    "text store": _committed("ingest.append", "dedupe.apply", "enrich.replace", "embed.replace"),
    "vectors": _plain("embed.vectors_upsert"),
    "events": _plain(
        "ingest.say_proposed",
        "dedupe.say_accepted",
        "dedupe.say_repeated",
        "dedupe.say_refused",
        "enrich.say_enriched",
        "embed.say_embedded",
        "create.say_turn",
    ),
    "acknowledging": _plain(*(f"{stage}.ack" for stage in STAGES)),
    "dead letters": _plain("ingest.say_dead", "ingest.term"),
    "dropping turns": _plain("purger.purge"),
    "forgetting": (*_committed("forget.forget"), *_plain("forget.vectors_remove", "forget.delete_message")),
    "pinning and correcting": (
        *_committed("pin.replace", "update.replace"),
        *_plain("update.vectors_remove", "update.say_accepted"),
    ),
    "deciding what is kept": (
        *_committed("settings.put_record", "incognito-start.put_record"),
        *_plain("ingest.delete_message"),
    ),
    "erasing": (
        *_committed("erase.record_erasure", "erase.put_record", "erase.erase"),
        *_plain("erase.vectors_erase", "erase.delete_message"),
    ),
    "taking back": (*_committed("ingest.withdraw"), *_plain("embed.vectors_remove")),
    "sweeping": _plain("background.compact", "background.vectors_compact"),
}
"""Every effect, by what kind it is."""

BESIDE: dict[str, tuple[Effect, ...]] = {
    "extracting": (
        *_read("extract"),
        *_committed("extract.put_record", "extract.replace"),
        *_plain("extract.ack"),
    ),
}
"""What only happens with a language model beside the pipeline."""

BY_CHANCE = ("taking back", "sweeping")
"""What only happens when two things meet, or when nothing else does: a quick run cannot wait for it."""


def points(group: str) -> tuple[str, ...]:
    """The points of a group."""
    return tuple(point for effect in (GROUPS | BESIDE)[group] for point in effect.points)


Told = Callable[[str], None]


async def kill_at(
    row: str,
    where: Sequence[str],
    passings: Sequence[int],
    *,
    launched: Launched,
    seed: int,
    tell: Told = lambda _: None,
    patience: float = _PATIENCE,
) -> Outcome:
    """Kill at each point, at each of these passings; start it cleanly now and then, and check in the end.

    A point that is not passed within `patience` seconds is left out.
    """
    trial = Trial(launched, launched.folder, Load(seed))
    killed, unreached, slowest = 0, [], 0.0
    try:
        for number, (nth, point) in enumerate(product(passings, where), start=1):
            tell(f"{point}:{nth}")
            if await until_killed(trial, launched, point, nth, patience=patience):
                killed += 1
            else:
                unreached.append(f"{point}:{nth}")
            if number % _CHECK_EVERY == 0:
                slowest = max(slowest, await _recovered(trial, launched))
                await launched.stop()
        slowest = max(slowest, await _recovered(trial, launched))
        return Outcome(row, killed, await trial.verdict(), slowest, tuple(unreached))
    finally:
        await trial.close()


async def until_killed(
    trial: Trial, launched: Launched, point: str, nth: int, *faults: str, patience: float = _PATIENCE
) -> bool:
    """Load a memorybus until it dies at the n-th passing of a point; False when it was not passed in time.

    Raises:
        NotReady: it ended in another way.
    """
    if not await launched.start("--kill", f"{point}:{nth}", *faults):
        return True
    with suppress(TimeoutError):
        async with trial.loading():
            await asyncio.wait_for(launched.died(), patience / 2)
    with suppress(TimeoutError):  # what is done in quiet only
        await asyncio.wait_for(launched.died(), patience / 2)
    died = not launched.is_running
    if died and launched.code != KILLED:
        raise NotReady(f"ended with {launched.code}; the end of its log:\n{launched.log()[-3000:]}")
    await launched.stop()
    return died


async def _recovered(trial: Trial, launched: Launched) -> float:
    await launched.start()
    return await trial.recover()
