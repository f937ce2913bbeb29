"""Whatever the OpenAPI document allows, and much that it does not, is answered as it says, and never with 5xx."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.paths import VERBS
from services.runtime import Running
from services.shared.settings import Settings
from tests.servers.opensearch import server_url
from tests.sizes import LONG
from tests.stores.opensearch_openers import a_prefix

ENGINES = ("sqlite", "opensearch") if LONG else ("sqlite",)
CASES, PHASES = (3000, "examples,coverage,fuzzing") if LONG else (100, "examples,fuzzing")
EACH = 1 + CASES // len(VERBS)
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)
LIVE = "/v1/memory/live"
ERASED_ALONE = """
[[operations]]
include-path = "/v1/memory/erase"
headers = { Memory-User = "erased" }
"""
"""Erasing is asked for a user of its own: while it is under way, whatever else is asked for that user is rightly told
to wait."""


@pytest.fixture(params=ENGINES)
def settings(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Settings]:
    if request.param == "sqlite":
        yield settings
        return
    url, whence = server_url()
    if url is None:
        pytest.skip(whence)
    with a_prefix(url) as prefix:
        there = {"text_store": request.param, "opensearch_url": url, "opensearch_prefix": prefix}
        yield settings.model_copy(update=there)


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_PER_MINUTE", "QUERIES_PER_MINUTE"):
        monkeypatch.setenv(f"MEMORYBUS_GATEWAY_{name}", "0")


async def generated(instance: Running, folder: Path) -> int:
    """How many cases were made and answered as they must be."""
    (folder / "schemathesis.toml").write_text(ERASED_ALONE)
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{instance.http}/openapi.json"]
    fixed = ("--no-shrink", "--continue-on-failure", "--generation-database", "none", "--request-timeout", "40")
    process = await asyncio.create_subprocess_exec(
        *(*command, "--checks", ",".join(CHECKS), "--phases", PHASES, "--workers", "2", *fixed),
        *("-n", str(EACH), "--exclude-path", LIVE),
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


@pytest.mark.timeout(1800 if LONG else 300)
async def test_nothing_that_is_asked_breaks_the_document(instance: Running, tmp_path: Path) -> None:
    cases = await generated(instance, tmp_path)
    print(f"\n{cases} cases")
    assert cases >= CASES
