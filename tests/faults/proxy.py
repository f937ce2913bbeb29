"""A TCP proxy that can stop forwarding without closing anything: the half-open connections of a broken network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Forwards between whoever connects and one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._target = port
        self._lost: set[asyncio.StreamWriter] = set()
        self._open: set[asyncio.StreamWriter] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection, both ways, until either side closes it."""
        with suppress(OSError):
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
            self._open |= {writer, there_writer}
            try:
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._forward(reader, there_writer))
                    ways.create_task(self._forward(there_reader, writer))
            finally:
                self._open -= {writer, there_writer}
                for each in (writer, there_writer):
                    each.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if writer not in self._lost:
                    writer.write(data)
                    await writer.drain()
            writer.close()

    def lose(self) -> None:
        """From now on nothing passes through the connections that stand, and neither side is told."""
        self._lost |= self._open


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy to a port of this machine, for as long as the block lasts."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for writer in list(proxy._open):
            writer.close()
