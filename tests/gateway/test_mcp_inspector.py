"""Every tool by the protocol's own inspector, in its command line mode, over both transports; where it is found.

`npm install node@22 @modelcontextprotocol/inspector` in some folder brings it, and the Node that it wants; the test
takes what `PATH` leads to: `PATH=FOLDER/node_modules/.bin:$PATH scripts/test tests/gateway/test_mcp_inspector.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from services.gateway.mcp_tools import TOOLS
from services.runtime import Running

ROOT = Path(__file__).resolve().parents[2]
NODE = (22, 19)
Inspect = Callable[..., Awaitable[dict[str, Any]]]


def missing() -> str | None:
    """What it takes to run the inspector, where that is not there."""
    if not shutil.which("mcp-inspector"):
        return "the inspector of MCP is missing (npm install node@22 @modelcontextprotocol/inspector)"
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    is_new = tuple(map(int, node.strip().removeprefix("v").split(".")[:2])) >= NODE
    return None if is_new else f"the inspector of MCP wants Node {NODE[0]}.{NODE[1]} or newer, here is {node.strip()}"


WHY_NOT = missing()
pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]


@pytest.fixture(params=["http", "stdio"])
def inspect(request: pytest.FixtureRequest, instance: Running) -> Inspect:
    """Runs one method; what the inspector printed, whatever code it ended with."""
    by_http = [f"{instance.http}/mcp", "--transport", "http", "--header", "Memory-User: ann"]
    by_stdio = [sys.executable, "-m", "services.cli", "mcp", "--user", "ann", "--nats", instance.nats]
    where = by_http if request.param == "http" else by_stdio

    at_once = asyncio.Semaphore(2)

    async def run(method: str, *options: str) -> dict[str, Any]:
        async with at_once:
            printed, failed = await started(*where, "--connect-timeout", "60000", "--method", method, *options)
        try:
            found = json.loads(printed)
        except ValueError:
            raise AssertionError(f"{method} {options}: {failed.decode()}") from None
        assert isinstance(found, dict)
        return found

    return run


async def started(*options: str) -> tuple[bytes, bytes]:
    """What the inspector says, to both of its outputs."""
    process = await asyncio.create_subprocess_exec(
        *("mcp-inspector", "--cli", *options),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "MEMORYBUS_LOG_LEVEL": "error"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await process.communicate()


async def test_every_tool_is_listed_and_called(inspect: Inspect) -> None:
    async def call(name: str, **arguments: object) -> Any:
        given = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        return await inspect("tools/call", "--tool-name", name, *given)

    assert set(TOOLS) == {"add", "search", "get", "why", "list_themes", "summary", "update", "delete"}
    listed, added = await asyncio.gather(
        inspect("tools/list"), call("add", type="fact", content="My locker has the code 4007.", theme="work")
    )
    assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
    item = added["structuredContent"]["id"]
    called = await asyncio.gather(
        call("search", query="locker"),
        call("get", item_id=item),
        call("why", item_id=item, query="locker"),
        call("list_themes"),
        call("summary"),
        call("update", item_id=item, tags='["door"]'),
    )
    deleted = await call("delete", item_id=item)
    assert [one["isError"] for one in (*called, deleted)] == [False] * 7
    wrong, resources, prompts = await asyncio.gather(
        call("search", query="x" * 9000), inspect("resources/list"), inspect("prompts/list")
    )
    assert wrong["isError"], "a mistake is told by the tool"
    assert "query: " in wrong["content"][0]["text"]
    assert "memory://themes" in [one["uri"] for one in resources["resources"]]
    assert [one["name"] for one in prompts["prompts"]] == ["memory"]
