"""A proxy before a nats-server that says things of its own to its clients, cuts them off, or lets none in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

COMPLAINTS = (
    "Maximum Payload Violation",
    "Maximum Connections Exceeded",
    "Maximum Subscriptions Exceeded",
    "Slow Consumer",
    "Authorization Violation",
    "Authentication Expired",
    "User Authentication Revoked",
    "Stale Connection",
    "Parser Error",
    "Invalid Subject",
    'Permissions Violation for Publish to "memory.v1.turns.ann"',
    'Permissions Violation for Subscription to "_INBOX.x.y" using queue "z"',
    "Secure Connection - TLS Required",
    "Server Shutdown",
    "Something that nobody has ever heard of",
)
"""What a nats-server may say in `-ERR '…'`, and something that none says."""

GIBBERISH = (
    b"-ERR \r\n",
    b"-ERR without quotes\r\n",
    b"-ERR '\xff\xfe'\r\n",
    b"INFO {broken\r\n",
    b"MSG x 1\r\n",
    b"\x00\x01\x02\r\n",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
)
"""What no nats-server says where a client listens."""


def complaint(words: str) -> bytes:
    """The bytes by which a server complains."""
    return f"-ERR '{words}'\r\n".encode()


class Meddler:
    """Forwards between whoever connects and one port of this machine, as long as it wants nothing else.

    `greeting` is what new connections get in place of a server, before they are cut off; None: the server.
    """

    def __init__(self, port: int) -> None:
        self.port = 0
        self.greeting: bytes | None = None
        self.refused = 0
        self._target = port
        self._clients: set[asyncio.StreamWriter] = set()
        self._deaf: set[asyncio.StreamWriter] = set()
        self._stalled: set[asyncio.StreamWriter] = set()
        self._cut = asyncio.Event()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    async def say(self, said: bytes, *, and_cut: bool = False) -> None:
        """Say this to everybody who is connected, and end their connections, or leave them."""
        for client in list(self._clients):
            with suppress(OSError):
                client.write(said)
                await client.drain()
            if and_cut:
                client.close()

    def abort(self) -> None:
        """Cut everybody off without a word."""
        self._cut.set()
        for client in list(self._clients):
            client.transport.abort()

    def lose(self) -> None:
        """From now on nothing passes through the connections that stand, and neither side is told."""
        self._deaf |= self._clients

    def stall(self) -> None:
        """From now on nothing is read from the connections that stand: what is written there fills the buffers."""
        self._cut.clear()
        self._stalled |= self._clients

    async def connected(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with suppress(OSError, ExceptionGroup):
            if self.greeting is not None:
                self.refused += 1
                client.write(self.greeting)
                await client.drain()
                client.close()
                return
            there, server = await asyncio.open_connection("127.0.0.1", self._target)
            self._clients.add(client)
            try:
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._forward(reader, server, client))
                    ways.create_task(self._forward(there, client, client))
            finally:
                self._clients.discard(client)
                client.close()
                server.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if client in self._stalled:
                    await self._cut.wait()
                if client not in self._deaf:
                    writer.write(data)
                    await writer.drain()
        writer.close()


@asynccontextmanager
async def meddling(port: int) -> AsyncIterator[Meddler]:
    """A meddler before this port, for as long as the block lasts."""
    meddler = Meddler(port)
    server = await asyncio.start_server(meddler.connected, "127.0.0.1", 0)
    meddler.port = server.sockets[0].getsockname()[1]
    try:
        yield meddler
    finally:
        server.close()
        meddler.abort()
