"""Whatever the OpenAPI document allows, and much that it does not, is answered as it says, and never with 5xx."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from services.runtime import Running
from tests.sizes import LONG, sized

CASES, OPERATIONS = sized(3000), 24
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)
ERASE, LIVE = "/v1/memory/erase", "/v1/memory/live"


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_PER_MINUTE", "QUERIES_PER_MINUTE"):
        monkeypatch.setenv(f"MEMORYBUS_GATEWAY_{name}", "0")


async def generated(instance: Running, folder: Path, *options: str) -> int:
    """How many cases were made and answered as they must be."""
    phases = "examples,coverage,fuzzing" if LONG else "examples,fuzzing"
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{instance.http}/openapi.json"]
    fixed = ("--no-shrink", "--continue-on-failure", "--generation-database", "none", "--request-timeout", "40")
    process = await asyncio.create_subprocess_exec(
        *command,
        *("--checks", ",".join(CHECKS), "--phases", phases, "--workers", "2", *fixed, *options),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    assert "Unresolvable" not in output
    found = re.search(r"([\d,]+) generated", output)
    assert found is not None, output
    return int(found[1].replace(",", ""))


@pytest.mark.timeout(1800)
async def test_nothing_that_is_asked_breaks_the_document(instance: Running, tmp_path: Path) -> None:
    """Erasing is asked alone: while it is under way, whatever else this user asks is rightly told to wait."""
    each = str(1 + CASES // OPERATIONS)
    many = await generated(instance, tmp_path, "-n", each, "--exclude-path", LIVE, "--exclude-path", ERASE)
    assert many + await generated(instance, tmp_path, "-n", each, "--include-path", ERASE) >= CASES * 2 // 3
