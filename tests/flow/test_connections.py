"""Who opens connections and says nothing on them troubles nobody."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from faststream.asgi import AsgiResponse, get

from contracts.ports import Unavailable
from contracts.v1.commands import EraseRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import up_process
from services.shared import descriptors, http
from services.shared.client import memory_client
from services.shared.http import HttpServer, listen
from services.shared.site import Site
from tests.polling import digested

LIGHT = ("--embedder", "none", "--ner", "none")
HALF_OPEN = 2000
FEW = 512
_HALF_A_BODY = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
BEGINNINGS = (
    b"",
    b"G",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
    b"POST /v1/memory/entries HTTP/1.1\r\n" + _HALF_A_BODY,
)


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors.raise_limit()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@asynccontextmanager
async def half_open(port: int, count: int) -> AsyncIterator[list[socket.socket]]:
    """So many connections that began a request, or did not, and say no more."""
    loop = asyncio.get_running_loop()
    opened: list[socket.socket] = []
    try:
        for number in range(count):
            each = socket.socket()
            each.setblocking(False)
            opened.append(each)
            with suppress(OSError):
                await loop.sock_connect(each, ("127.0.0.1", port))
                await loop.sock_sendall(each, BEGINNINGS[number % len(BEGINNINGS)])
        yield opened
    finally:
        for each in opened:
            each.close()


@pytest.fixture
def few_files(tmp_path: Path) -> Path:
    """A Python that may open few files, and cannot raise its limit."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nulimit -n {FEW}\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.usefixtures("many_files", "as_users_start_it")
async def test_half_open_connections_take_nothing_from_others(
    tmp_path: Path, few_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(few_files))
    async with (
        up_process(tmp_path / "data", LIGHT) as up,
        memory_client(up.nats) as client,
        half_open(urlsplit(up.http).port or 0, HALF_OPEN),
        httpx.AsyncClient(trust_env=False, verify=False) as pages,
    ):
        for _ in range(3):
            assert (await pages.get(f"{up.http}/healthz", timeout=5)).status_code == 200
        said = [Turn(user_id="ann", role="user", text=f"I keep {n} jars of jam.") for n in range(20)]
        await client.publish_all(said)
        await digested(client, turns=20)
        request = RetrieveRequest(user_id="ann", query="jam", min_score=0.0)
        assert (await client.retrieve(request, patience=5)).items
        receipt = (await client.erase(EraseRequest(user_id="ann"))).receipt
        assert not any(receipt.left.values())
        assert open_files(up.pid) < http.MOST_CONNECTIONS + 150


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@get
async def long(scope: Any) -> AsgiResponse:
    return AsgiResponse(b"x" * 2**25, 200)


async def broken(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 500, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})
    raise RuntimeError("as Starlette tells a server of an error that it answered")


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    listening = listen("127.0.0.1", 0)
    server = HttpServer(Site([("/long", long), ("/broken", broken)], host="127.0.0.1", named=""), listening)
    await server.start()
    yield listening.getsockname()[1]
    await server.stop()
    listening.close()


UNFINISHED = (b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n")


async def test_who_does_not_finish_a_request_in_time_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.3)

    async def begin(port: int, sent: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 10)
        writer.close()

    async with served() as port:
        await asyncio.gather(*(begin(port, sent) for sent in UNFINISHED))


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then, until the connection is cut."""
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def test_a_drop_now_and_then_keeps_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.5)
    async with served() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(drip(writer), 5)
        writer.close()


REFUSED = {
    b"PUT /long HTTP/1.1": b"HTTP/1.1 405 ",
    b"POST /none HTTP/1.1": b"HTTP/1.1 404 ",
    b"POST /none HTTP/1.1\r\nConnection: close": b"HTTP/1.1 404 ",
    b"POST /none HTTP/1.0": b"HTTP/1.1 404 ",
    b"what is this\r\n\r\n": b"HTTP/1.1 400 ",
}


async def test_an_answer_arrives_though_nobody_read_the_rest_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LINGER_SECONDS", 1.5)

    async def ask(port: int, asked: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"%s\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n" % asked)
        await asyncio.sleep(0.1)
        for _ in range(10):
            writer.write(b"x" * 100)
            await asyncio.sleep(0.02)
        answer = await asyncio.wait_for(reader.read(), 5)
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(drip(writer), 5)
        writer.close()
        return answer

    async with served() as port:
        answers = await asyncio.gather(*(ask(port, asked) for asked in REFUSED))
    for said, answer in zip(REFUSED.values(), answers, strict=True):
        assert answer.startswith(said)
        assert answer.lower().count(b"\r\nconnection: close\r\n") == 1, "nothing more may be asked here"


async def test_after_an_error_that_was_answered_more_is_answered_on_the_same_connection() -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(b"GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            assert answer.startswith(b"HTTP/1.1 500 ")
        writer.close()


async def test_who_reads_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.5)
    async with served() as port:
        loop, asking = asyncio.get_running_loop(), socket.socket()
        asking.setblocking(False)
        await loop.sock_connect(asking, ("127.0.0.1", port))
        await loop.sock_sendall(asking, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")

        async def cut_off() -> None:
            while True:
                await asyncio.sleep(0.1)
                await loop.sock_sendall(asking, b"x")

        with asking, pytest.raises(ConnectionError):
            await asyncio.wait_for(cut_off(), 5)


def test_when_no_more_files_can_be_opened_the_cause_is_named(tmp_path: Path) -> None:
    held = []

    def open_many() -> None:
        with descriptors.named_when_exhausted():
            for _ in range(1000):
                held.append((tmp_path / "file").open("w"))

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files(os.getpid()) + 10, hard))
    try:
        with pytest.raises(Unavailable, match=r"too many open files.*ulimit -n"):
            open_many()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held:
            file.close()


def test_other_failures_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), descriptors.named_when_exhausted():
        (tmp_path / "nothing").open()
