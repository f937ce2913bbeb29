"""`memorybus mcp`: the memory of one user for an assistant that speaks MCP over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from contracts.errors import Unavailable
from contracts.flow import Answer, R
from contracts.paths import VERB_OF
from services.cli.common import DataOption, NatsOption, UserOption, nats_url, run, settings_from
from services.gateway.mcp_http import require_sdk
from services.shared.client import MemoryClient, memory_client
from services.shared.instance import FolderInUse, NotRunning
from services.shared.logs import configure_logging
from services.shared.tasks import end

_STARTS = 30.0  # seconds that another memorybus may take to start
_AGAIN = 0.2

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
        async with _Reach(data, nats) as reach:
            serving = asyncio.create_task(_serve(reach, user))
            await asyncio.wait({serving})
            serving.result()
    except asyncio.CancelledError:
        os._exit(0)  # nothing else ends the thread that waits for standard input


async def _serve(reach: _Reach, user: str) -> None:
    from mcp.server.stdio import stdio_server

    from services.gateway.mcp_server import server

    async with stdio_server() as (reading, writing):
        serving = server(lambda _: _asked(reach, user))
        await serving.run(reading, writing, serving.create_initialization_options())


def _asked(reach: _Reach, user: str) -> Any:
    async def ask(answer: Answer[Any, R], **fields: Any) -> R:
        body = answer.request.model_validate({"user_id": user} | fields)
        memory = await reach.memory()
        return await memory.request(answer, body, patience=VERB_OF[answer.subject].patience)

    return ask


class _Reach:
    """The way to the memorybus that runs, or to one that is started here; found anew where that has ended.

    Several assistants work in one folder: whose command started the memorybus there ends it when it leaves, and then
    the next that is asked starts another one.
    """

    def __init__(self, data: Path | None, nats: str | None) -> None:
        self._data, self._nats = data, nats
        self._url = ""
        self._is_own = False
        self._memory: asyncio.Future[MemoryClient] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> _Reach:
        """Find or start it.

        Raises:
            NotRunning: there is none, and no folder is named to start one in.
            FolderUnusable, BusNotStarted, Unavailable, UnusableSetting: it could not be started, or reached.
        """
        self._keeping = asyncio.create_task(self._keep())
        await self._memory
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._keeping is not None
        await end([self._keeping])

    async def memory(self) -> MemoryClient:
        """The client of the memorybus that runs now.

        Raises:
            Unavailable: none does, and none can be started; it says what to do.
        """
        if self._memory.done() and not self._is_there():
            self._memory = asyncio.get_running_loop().create_future()
            self._lost.set()
        try:
            return await asyncio.shield(self._memory)
        except Exception as error:
            raise Unavailable(str(error)) from error

    def _is_there(self) -> bool:
        if self._is_own or self._memory.exception() is not None:
            return self._is_own
        try:
            return nats_url(self._data, self._nats) == self._url
        except NotRunning:
            return False

    async def _keep(self) -> None:
        """Hold the way open, and open another one whenever it is lost."""
        while True:
            self._lost.clear()
            try:
                async with self._bus() as self._url, memory_client(self._url) as client:
                    self._memory.set_result(client)
                    await self._lost.wait()
            except Exception as error:
                if self._memory.done():
                    raise
                self._memory.set_exception(error)
                await self._lost.wait()

    @asynccontextmanager
    async def _bus(self) -> AsyncIterator[str]:
        """Where the bus is: that of the running memorybus, or of one that is started here."""
        started = time.monotonic()
        while True:
            try:
                url = nats_url(self._data, self._nats)
            except NotRunning:
                if self._data is None:
                    raise
            else:
                self._is_own = False
                yield url
                return
            try:
                async with self._running() as url:
                    yield url
                    return
            except FolderInUse as error:  # another one is starting there, for another assistant
                if time.monotonic() - started > _STARTS:
                    raise NotRunning(f"{error}; it has been starting for long, or is no memorybus") from None
            await asyncio.sleep(_AGAIN)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[str]:
        from services.runtime import running

        configure_logging("warning")
        async with running(settings_from(data=self._data, nats_port=0, http_port=0)) as instance:
            self._is_own = True
            try:
                yield instance.nats
            finally:
                self._is_own = False
