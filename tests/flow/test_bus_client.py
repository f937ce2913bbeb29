"""The connection to the bus, seen from the other end of the socket: what is said in which order, and after what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError

from services.shared.bus.connection import connect

INFO = b'INFO {"server_id": "x", "version": "2.12.0", "proto": 1, "headers": true, "max_payload": 1048576}\r\n'


@dataclass(slots=True)
class Ear:
    """A server that notes what a client says, and answers its pings unless it sulks."""

    said: list[bytes] = field(default_factory=list)
    sulks: bool = False
    unanswered: int = 0
    writer: asyncio.StreamWriter | None = None

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hold one connection until its other end closes it."""
        self.writer = writer
        writer.write(INFO)
        while line := await reader.readline():
            self.said.append(line.strip())
            if line == b"PING\r\n":
                self.unanswered += 1
                self.answer()
        writer.close()

    def answer(self) -> None:
        """Answer every ping that is due, if in the mood."""
        assert self.writer is not None
        if not self.sulks:
            self.writer.write(b"PONG\r\n" * self.unanswered)
            self.unanswered = 0


@asynccontextmanager
async def heard() -> AsyncIterator[tuple[Ear, Client]]:
    """A client, and who hears it."""
    ear = Ear()
    server = await asyncio.start_server(ear.listen, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    client = await connect(f"nats://{host}:{port}", name="test")
    try:
        yield ear, client
    finally:
        await client.close()
        server.close()


async def ignore(_: Msg) -> None:
    """Do nothing with a message."""


async def test_a_subscription_that_drains_is_given_up_before_the_ping_that_says_all_has_come() -> None:
    async with heard() as (ear, client):
        subscription = await client.subscribe("question", cb=ignore)
        await client.flush()
        ear.said.clear()
        await subscription.drain()  # type: ignore[no-untyped-call]
    assert ear.said[:2] == [b"UNSUB 1", b"PING"]


async def test_a_flush_comes_after_what_was_published() -> None:
    async with heard() as (ear, client):
        ear.said.clear()
        await client.publish("fact", b"one")
        await client.flush()
    assert ear.said == [b"PUB fact  3", b"one", b"PING"]


async def test_an_answer_to_a_flush_nobody_waits_for_any_more_does_no_harm() -> None:
    heard_of: list[bytes] = []

    async def note(msg: Msg) -> None:
        heard_of.append(msg.data)

    async with heard() as (ear, client):
        await client.subscribe("fact", cb=note)
        await client.flush()
        ear.sulks = True
        with pytest.raises(NatsTimeoutError):
            await client.flush(timeout=0.1)  # type: ignore[arg-type]
        ear.sulks = False
        ear.answer()
        assert ear.writer is not None
        ear.writer.write(b"MSG fact 1 3\r\ntwo\r\n")
        await client.flush()
        await asyncio.sleep(0)
    assert heard_of == [b"two"]
