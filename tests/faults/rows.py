"""The rows of the matrix that need one memorybus on embedded engines: what goes wrong, and for how long."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.by_model import claims_of
from tests.faults.journal import KINDS, Kind
from tests.faults.kills import BY_CHANCE, GROUPS, Told, kill_at, points
from tests.faults.loads import Load
from tests.faults.process import Launched
from tests.faults.trial import Outcome, Trial
from tests.polling import eventually
from tests.servers.meddler import meddling
from tests.servers.models import scripted_model
from tests.servers.nats_cluster import nats_server

_AWAY = 10.0
_LONGER_THAN_BUSY = 13.0
_STOPPED = 8.0
_LOST_FOR = 6.0
_DISK = "96m"
_RESERVED = str(8 * 2**20)
_FULL_FOR = 5.0
_BEFORE = 1.0
_SOME = 5
_PASSINGS = (1, 2, 4, 7)
_PLAIN: tuple[Kind, ...] = ("say", "spoil", "create")


class CannotRun(Exception):
    """This machine lacks what a row needs; the text says what."""


@dataclass(frozen=True, slots=True)
class Context:
    """Where a row works, with what seed, and how much of it is wanted."""

    folder: Path
    seed: int
    quick: bool = False
    tell: Told = field(default=lambda _: None)


Row = Callable[[Context], Awaitable[Outcome]]


@asynccontextmanager
async def _trial(
    context: Context,
    name: str,
    *,
    kinds: Sequence[Kind] = KINDS,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> AsyncIterator[tuple[Trial, Launched]]:
    launched = Launched(context.folder / name, environment or {}, options)
    trial = Trial(launched, launched.folder, Load(context.seed, kinds=kinds))
    try:
        yield trial, launched
    finally:
        await trial.close()


async def _outcome(trial: Trial, row: str, runs: int, note: str = "") -> Outcome:
    took = await trial.recover()
    return Outcome(row, runs, await trial.verdict(), took, note=note)


def kill_row(group: str) -> Row:
    """Kill -9 at every point of a group."""

    async def row(context: Context) -> Outcome:
        passings = _PASSINGS[:1] if context.quick else _PASSINGS[:2] if group in BY_CHANCE else _PASSINGS
        return await kill_at(
            f"kill -9: {group}",
            points(group),
            passings,
            launched=Launched(context.folder / f"kill-{group.replace(' ', '-')}"),
            seed=context.seed,
            tell=context.tell,
        )

    return row


async def killed_while_extracting(context: Context) -> Outcome:
    """Kill -9 at every point between an entry and the claims that a model reads in it."""
    async with scripted_model() as model:
        model.reads = claims_of
        budget = {f"MEMORYBUS_ENRICH_EXTRACT_{name}": "1000000" for name in ("BUDGET", "USER_BUDGET")}
        return await kill_at(
            "kill -9: extracting",
            points("extracting"),
            _PASSINGS[:1] if context.quick else _PASSINGS,
            launched=Launched(context.folder / "kill-extracting", {"MEMORYBUS_EXTRACT_URL": model.url, **budget}),
            seed=context.seed,
            tell=context.tell,
        )


async def killed_everywhere(context: Context) -> Outcome:
    """Kill -9 at some of all points but those of a model, in any order; which ones, the seed says."""
    every = [point for group in GROUPS if group not in (*BY_CHANCE, "extracting") for point in points(group)]
    where = random.Random(context.seed).sample(every, _SOME if context.quick else len(every))
    launched = Launched(context.folder / "kill-everywhere")
    return await kill_at("kill -9: anywhere", where, (1,), launched=launched, seed=context.seed, tell=context.tell)


async def bus_killed(context: Context) -> Outcome:
    """The bus is killed at a third and at half of a load from fifty publishers, and started again by memorybus."""
    steps = 400 if context.quick else 10_000
    async with _trial(context, "bus-killed", kinds=_PLAIN) as (trial, launched):
        await launched.start()
        loading = asyncio.create_task(trial.load(steps=steps, publishers=50, lanes=50))
        killed: set[int] = set()
        for share in (3, 2):
            await trial.acknowledged(steps // share)
            killed.add(await _kill_another_bus(launched, killed))
        await loading
        return await _outcome(trial, "bus: kill -9 twice", 2, f"{steps:,} steps, 50 publishers")


async def _kill_another_bus(launched: Launched, killed: Collection[int]) -> int:
    """Kill the bus once it runs: the steps to wait for may all have been promised by the one that was killed before."""

    async def running() -> int | None:
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(pid := _bus_pid(launched), 0)
            return None if pid in killed else pid
        return None

    pid = await eventually(running, lambda found: found is not None)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def _bus_pid(launched: Launched) -> int:
    return int((launched.data / "nats" / "nats.pid").read_text())


async def bus_stopped(context: Context) -> Outcome:
    """The bus hangs for some seconds (SIGSTOP), and goes on."""
    async with _trial(context, "bus-stopped") as (trial, launched):
        await launched.start()
        async with trial.loading():
            await asyncio.sleep(_BEFORE)
            pid = _bus_pid(launched)
            os.kill(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(_STOPPED / 2 if context.quick else _STOPPED)
            finally:
                os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(_BEFORE)
        return await _outcome(trial, "bus: SIGSTOP", 1)


async def half_open(context: Context) -> Outcome:
    """Connections to the bus stand and carry nothing, and nobody is told."""
    async with nats_server(context.folder / "half-open-bus") as bus, meddling(bus.port) as between:
        options = ("--nats", between.url)
        async with _trial(context, "half-open", options=options) as (trial, launched):
            launched.bus = bus.url
            await launched.start()
            async with trial.loading():
                for _ in range(1 if context.quick else 3):
                    await asyncio.sleep(_BEFORE)
                    between.lose()
                    await asyncio.sleep(_LOST_FOR)
            return await _outcome(trial, "bus: half-open connections", 1 if context.quick else 3)


async def text_store_locked(context: Context) -> Outcome:
    """Another process holds SQLite's write lock for longer than anybody waits for it."""
    async with _trial(context, "text-locked") as (trial, launched):
        await launched.start()
        async with trial.loading():
            await asyncio.sleep(_BEFORE)
            with _locked(launched.settings.sqlite_path):
                await asyncio.sleep(_LONGER_THAN_BUSY)
            await asyncio.sleep(_BEFORE)
        return await _outcome(trial, "text store: locked by another process", 1)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def passing_trouble(row: str, trouble: str, seconds: float) -> Row:
    """Something fails for so many seconds under load."""

    async def run(context: Context) -> Outcome:
        async with _trial(context, trouble) as (trial, launched):
            switch = trial.folder / "trouble"
            await launched.start("--trouble", f"{trouble}:{switch}")
            async with trial.loading():
                await asyncio.sleep(_BEFORE)
                switch.touch()
                await asyncio.sleep(seconds / 3 if context.quick else seconds)
                switch.unlink()
                await asyncio.sleep(_BEFORE)
            return await _outcome(trial, row, 1)

    return run


def lasting_trouble(row: str, trouble: str) -> Row:
    """Something goes wrong all the time while a load is carried out."""

    async def run(context: Context) -> Outcome:
        steps = 200 if context.quick else 3_000
        async with _trial(context, trouble) as (trial, launched):
            (switch := trial.folder / "trouble").touch()
            await launched.start("--trouble", f"{trouble}:{switch}")
            await trial.load(steps=steps, publishers=4, lanes=12)
            switch.unlink()
            return await _outcome(trial, row, steps)

    return run


async def disk_full(context: Context) -> Outcome:
    """The disk of the data folder is full for some seconds: nothing more is taken, and it goes on by itself."""
    folder = context.folder / "disk-full"
    with _small_disk(folder / "data"):
        environment = {"MEMORYBUS_TURNS_MAX_BYTES": _RESERVED}  # the bus keeps room for as much as it may hold
        async with _trial(context, "disk-full", environment=environment) as (trial, launched):
            await launched.start()
            async with trial.loading():
                await asyncio.sleep(_BEFORE)
                ballast = launched.data / "ballast"
                _fill(ballast)
                await asyncio.sleep(_FULL_FOR)
                ballast.unlink()
                await asyncio.sleep(_BEFORE)
            return await _outcome(trial, "disk full", 1)


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if mount else None
    if done is None or done.returncode:
        why = done.stderr.strip() if done else "there is no mount"
        raise CannotRun(f"a small disk cannot be mounted here: {why}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(path: Path) -> None:
    """Take every byte that is left."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 65_536)


ROWS: dict[str, Row] = {
    **{f"kill-{group.replace(' ', '-')}": kill_row(group) for group in GROUPS},
    "kill-extracting": killed_while_extracting,
    "kill-anywhere": killed_everywhere,
    "bus-killed": bus_killed,
    "bus-stopped": bus_stopped,
    "half-open": half_open,
    "disk-full": disk_full,
    "text-store-locked": text_store_locked,
    "text-store-fails": passing_trouble("text store: errors for 10 s", "text-store-fails", _AWAY),
    "vector-store-fails": passing_trouble("vector store: errors for 10 s", "vector-store-fails", _AWAY),
    "twice": lasting_trouble("every handler run twice", "everything-twice"),
    "reordered": lasting_trouble("messages reordered", "messages-reordered"),
    "acks-lost": lasting_trouble("a third of the acks lost", "acknowledgements-lost"),
}
"""By name."""
