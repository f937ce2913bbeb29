"""Bytes that no well-behaved client sends, written to the socket of the bus: nobody stops reading because of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from contracts.v1.turns import Turn
from services.runtime import Running
from services.shared.client import MemoryClient
from tests.polling import eventually

PLAIN = b"NATS/1.0\r\n\r\n"
TURNS, RETRIEVE = b"memory.v1.turns.ann", b"memory.v1.retrieve.ann"


@pytest.mark.parametrize(
    ("subject", "header"),
    [
        (TURNS, b"JUNK\r\n\r\n"),
        (TURNS, b"N"),
        (TURNS, b"NATS/1.0 \xff\xfe\xfd\r\n\r\n"),
        (TURNS, b"NATS/1.0 503\r\n\r\n"),
        (TURNS, b"NATS/1.0\r\nX: \xff\r\n\xfe: x\r\nnothing\r\n\r\n"),
        (TURNS, b"NATS/1.0\r\nNats-Pin-Id: stolen\r\n\r\n"),
        (b"memory.v1.turns.\xff\xfe", PLAIN),
        (RETRIEVE, b"JUNK\r\n\r\n"),
        (RETRIEVE, b"NATS/1.0 \xff\xfe\xfd\r\n\r\n"),
        (b"memory.v1.retrieve.\xff\xfe", PLAIN),
    ],
    ids=repr,
)
async def test_a_turn_after_hostile_bytes_is_digested_as_ever(
    instance: Running, client: MemoryClient, subject: bytes, header: bytes
) -> None:
    async with socket_of(instance.nats) as (reader, writer):
        writer.write(message(subject, header, b'{"user_id": "ann", "role": "user", "text": "I am odd.", "query": "x"}'))
        writer.write(b"PING\r\n")
        assert await reader.readline() == b"PONG\r\n"

    await client.publish(Turn(user_id="bob", role="user", text="I am as ever.", turn_id="t1"))

    await eventually(lambda: client.status("bob", patience=20.0), lambda status: status.turns == 1)
    await eventually(client.backlog, lambda backlog: backlog.total == 0)
    was_turn = subject.startswith(b"memory.v1.turns.")
    handled = (await client.status("ann")).turns + (await client.backlog()).dead_letters
    assert handled == (1 if was_turn else 0)


@asynccontextmanager
async def socket_of(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the bus on which anything may be written."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    await reader.readline()
    who = {"user": address.username, "pass": address.password}
    told = json.dumps({"verbose": False, "pedantic": False, "headers": True, **who})
    writer.write(f"CONNECT {told}\r\n".encode())
    yield reader, writer
    writer.close()
    await writer.wait_closed()


def message(subject: bytes, header: bytes, body: bytes) -> bytes:
    """What the protocol of the bus makes of a message with headers, whatever they are."""
    return b"HPUB %s _INBOX.nobody %d %d\r\n%s%s\r\n" % (subject, len(header), len(header) + len(body), header, body)
