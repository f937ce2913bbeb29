"""Runs a broken build, or the same without the breakage, under the fault that shows the difference."""

from __future__ import annotations

from pathlib import Path

from tests.faults.erasures import Midst
from tests.faults.findings import Findings
from tests.faults.kills import until_killed
from tests.faults.loads import Load
from tests.faults.mutations import MUTATIONS
from tests.faults.process import Launched
from tests.faults.rows_erase import killed_once
from tests.faults.trial import Trial

_USERS = ("ann", "żółw", "*", "x y")
_STEPS = 60
_PATIENCE = 60.0  # seconds until a point is passed: others may keep the machine busy
_SWEEP = 25.0
_SLOW_SWEEP = 150.0
"""Compacting that takes seconds on a busy machine is not repeated for twenty times as long."""


async def findings_of(name: str, *, broken: bool, folder: Path, seed: int) -> Findings:
    """What the checker finds after a load under the mutation's fault, with or without the mutation itself."""
    mutation = MUTATIONS[name]
    faults = ["--mutation", name] if broken else []
    if mutation.trouble:
        (switch := folder / "trouble").touch()
        faults += ["--trouble", f"{mutation.trouble}:{switch}"]
    launched = Launched(folder)
    if mutation.is_midst:
        return await _erased_in_the_midst(launched, mutation.kill, *faults)
    load = Load(seed, users=_USERS, kinds=mutation.load)
    trial = Trial(launched, folder, load, sweep=_SWEEP if broken else _SLOW_SWEEP)
    try:
        if mutation.kill:
            reached = await until_killed(trial, launched, mutation.kill, 5, *faults, patience=_PATIENCE)
            assert reached, "it was never killed"
        await launched.start(*faults)
        for _ in range(2):
            await trial.load(steps=_STEPS)
            await trial.recover()
        return await trial.verdict()
    finally:
        await trial.close()


async def _erased_in_the_midst(launched: Launched, point: str, *faults: str) -> Findings:
    findings, midst = Findings(), Midst(_USERS[0])
    try:
        assert await killed_once(launched, midst, f"{point}:1", findings, *faults, is_marked=True), (
            "it was never killed"
        )
    finally:
        await launched.stop()
    findings.acknowledged = len(midst.acknowledged)
    return findings


def same_run(name: str) -> str:
    """The first mutation that is shown by the same load under the same fault: without them the runs are the same."""
    return next(other for other in MUTATIONS if _run_of(other) == _run_of(name))


def _run_of(name: str) -> tuple[object, ...]:
    mutation = MUTATIONS[name]
    return mutation.load, mutation.kill, mutation.trouble, mutation.is_midst
