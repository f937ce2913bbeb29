"""The quick part of `scripts/faults`: memorybus is killed, its bus and stores fail, and every promise is kept."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.kills import GROUPS, points
from tests.faults.loads import Load
from tests.faults.process import Launched
from tests.faults.rows import CannotRun, Context
from tests.faults.rows_all import QUICK, ROWS
from tests.faults.trial import Outcome, Trial

SEED = int(os.environ.get("MEMORYBUS_TEST_SEED", "20261"))

pytestmark = [
    pytest.mark.timeout(300),
    # Clients of a bus that is killed leave connections open, and are collected whenever that may be.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Have what was left open collected here, and not within the next test of this process."""
    yield
    gc.collect()


@pytest.mark.parametrize("name", QUICK)
async def test_no_promise_is_broken_by_a_row_of_the_matrix(name: str, tmp_path: Path) -> None:
    print(f"seed {SEED}: the same again with MEMORYBUS_TEST_SEED={SEED}")
    try:
        outcome: Outcome = await ROWS[name](Context(tmp_path, SEED, quick=True))
    except CannotRun as error:
        pytest.skip(f"{name}: {error}")
    assert outcome.good, str(outcome.findings)
    assert outcome.runs >= 1
    assert len(outcome.unreached) <= outcome.runs // 2  # a slow machine may not come to every point in time


async def test_every_effect_of_a_load_is_a_point_at_which_the_matrix_kills(tmp_path: Path) -> None:
    passed = await asyncio.wait_for(_points_passed(tmp_path), 120)
    known = {point for group in GROUPS for point in points(group)}
    assert not sorted({point for point in passed if not point.startswith("background.")} - known)


async def _points_passed(folder: Path) -> Iterator[str]:
    launched = Launched(folder)
    trial = Trial(launched, folder, Load(SEED))
    survey = folder / "points"
    try:
        await launched.start("--survey", str(survey))
        await trial.load(steps=200)
        await trial.recover()
    finally:
        await trial.close()
    return iter(survey.read_text().split())
