"""`memorybus mcp`: the memory of one user for an assistant that speaks MCP over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from contracts.flow import Answer, R
from contracts.paths import VERB_OF
from services.cli.common import DataOption, NatsOption, UserOption, nats_url, run, settings_from
from services.gateway.mcp_http import require_sdk
from services.shared.client import MemoryClient, memory_client
from services.shared.instance import FolderInUse, NotRunning
from services.shared.logs import configure_logging

EPILOG = """Examples:\n
  memorybus mcp --user me\n
  memorybus mcp --user me --data ./memory\n
  memorybus mcp --user me --nats nats://127.0.0.1:4222
"""


def mcp(user: UserOption, data: DataOption = None, nats: NatsOption = None) -> None:
    """Serve memory over MCP on standard input and output, to an assistant that starts this command.

    It uses the memorybus that runs. Where none runs and --data names a folder, it starts one there for itself.
    """
    run(_until_stopped(user, data, nats))


async def _until_stopped(user: str, data: Path | None, nats: str | None) -> None:
    """Serve until standard input ends, or a signal says so, which ends a memorybus that was started here as well."""
    require_sdk()
    main = asyncio.current_task()
    assert main is not None
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, main.cancel)
    try:
        async with _bus(data, nats) as url, memory_client(url) as memory:
            serving = asyncio.create_task(_serve(memory, user))
            await asyncio.wait({serving})
            serving.result()
    except asyncio.CancelledError:
        os._exit(0)  # nothing else ends the thread that waits for standard input


async def _serve(memory: MemoryClient, user: str) -> None:
    from mcp.server.stdio import stdio_server

    from services.gateway.mcp_server import server

    async with stdio_server() as (reading, writing):
        serving = server(lambda _: _asked(memory, user))
        await serving.run(reading, writing, serving.create_initialization_options())


def _asked(memory: MemoryClient, user: str) -> Any:
    async def ask(answer: Answer[Any, R], **fields: Any) -> R:
        body = answer.request.model_validate({"user_id": user} | fields)
        return await memory.request(answer, body, patience=VERB_OF[answer.subject].patience)

    return ask


@asynccontextmanager
async def _bus(data: Path | None, nats: str | None) -> AsyncIterator[str]:
    """Where the bus is: that of the running memorybus, or of one that is started here and ends with this command."""
    try:
        url = nats_url(data, nats)
    except NotRunning:
        if data is None:
            raise
    else:
        yield url
        return
    from services.runtime import running

    configure_logging("warning")
    try:
        async with running(settings_from(data=data, nats_port=0, http_port=0)) as instance:
            yield instance.nats
    except FolderInUse as error:
        raise NotRunning(f"{error}; it is starting or not a memorybus") from None
