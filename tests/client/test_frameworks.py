"""The modules for agent frameworks, tried with the newest of their packages in an environment of their own."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from services.bench.process import up_process

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "frameworks"
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
MUST = "MEMORYBUS_TEST_FRAMEWORKS"
"""Set where they have to be there, as in the checks of a change: without them the test fails, and is not skipped."""

NO_LIMITS = {"MEMORYBUS_GATEWAY_QUERIES_PER_MINUTE": "0", "MEMORYBUS_GATEWAY_REQUESTS_PER_MINUTE": "0"}


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the frameworks."""
    made = subprocess.run([ROOT / "scripts" / "setup", "frameworks"], capture_output=True, text=True, check=False)
    if made.returncode and os.environ.get(MUST):
        pytest.fail(f"the agent frameworks could not be installed: {made.stderr[-300:]}")
    if made.returncode:
        pytest.skip(f"the agent frameworks cannot be installed here: {made.stderr[-300:]}")
    return PYTHON


@pytest.mark.timeout(600)
async def test_every_module_works_with_its_framework(python: Path, tmp_path: Path) -> None:
    options = ("--ner", "none", "--embedder", "none")
    async with up_process(tmp_path / "data", options, environment=NO_LIMITS) as up:
        tests = await asyncio.create_subprocess_exec(
            *(python, "-m", "pytest", "-c", TESTS / "pytest.ini", TESTS),
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MEMORYBUS_TEST_URLS": f"{up.http} {up.nats}"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await tests.communicate()
    assert tests.returncode == 0, said.decode()
