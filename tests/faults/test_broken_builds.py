"""For each promise a build that breaks it: the checker reports it, and says nothing of the same run unbroken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faults.breaking import findings_of, same_run
from tests.faults.findings import Findings
from tests.faults.mutations import MUTATIONS
from tests.sizes import LONG

SEED = 11
AT_ONCE = 4
"""Most of a run is waiting: for redelivery, and for the files to be swept."""

SHOWN = tuple(MUTATIONS) if LONG else tuple({its.finding: name for name, its in reversed(MUTATIONS.items())}.values())
"""All of them in a long run, otherwise the first for each finding."""

UNBROKEN = tuple(dict.fromkeys(same_run(name) for name in SHOWN))
"""One mutation of each kind of run."""

pytestmark = [
    pytest.mark.timeout(400),
    # Clients of a bus that is killed leave connections open, and are collected whenever that may be.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, bool], Findings]:
    """What the checker found, by mutation and whether it was switched on."""
    print(f"seed {SEED}")
    wanted = [*((name, True) for name in SHOWN), *((name, False) for name in UNBROKEN)]
    return asyncio.run(_all(wanted, tmp_path_factory.mktemp("broken")))


async def _all(wanted: list[tuple[str, bool]], folder: Path) -> dict[tuple[str, bool], Findings]:
    found: dict[tuple[str, bool], Findings] = {}
    todo = iter(wanted)

    async def lane() -> None:
        for name, broken in todo:
            place = folder / f"{name}-{broken}"
            place.mkdir()
            found[name, broken] = await findings_of(name, broken=broken, folder=place, seed=SEED)

    async with asyncio.TaskGroup() as lanes:
        for _ in range(AT_ONCE):
            lanes.create_task(lane())
    return found


@pytest.mark.parametrize("name", SHOWN)
def test_a_build_that_breaks_a_promise_is_reported(name: str, runs: Mapping[tuple[str, bool], Findings]) -> None:
    findings = runs[name, True]
    assert findings.count(MUTATIONS[name].finding), (
        f"without {MUTATIONS[name].leaves_out} only this was found: {findings}"
    )


@pytest.mark.parametrize("name", UNBROKEN)
def test_the_same_run_without_the_breakage_is_clean(name: str, runs: Mapping[tuple[str, bool], Findings]) -> None:
    findings = runs[name, False]
    assert findings.clean, str(findings)
    assert findings.acknowledged > (0 if MUTATIONS[name].is_midst else 100)
