"""A server on the loopback interface that is well until a test says otherwise: then it is away, hangs, echoes what it
gets, or answers without measure. It forwards to a real server while it is well, if there is one."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, Literal

Mode = Literal[
    "well", "away", "hanging", "echo-400", "echo-401", "echo-500", "echo-200", "echo-raw", "echo-head", "echo-nats",
    "endless", "too-long", "bomb", "drip", "drip-head", "deep-200", "deep-500", "redirect",
]  # fmt: skip

ECHOES: tuple[Mode, ...] = ("echo-400", "echo-401", "echo-500", "echo-200", "echo-raw", "echo-head")
MEASURELESS: tuple[Mode, ...] = ("endless", "too-long", "bomb", "drip", "drip-head", "deep-200", "deep-500", "redirect")

_CHUNK = b"[" * 2**20
_CHUNKS = 64


@cache
def _bomb() -> bytes:
    return gzip.compress(b" " * 2**26)


def echoed(heard: bytes) -> bytes:
    """JSON that says what was heard wherever a client may look for a reason."""
    said = heard.decode(errors="replace")
    reason: Any = {"type": said, "reason": said, "message": said}
    reason |= {"root_cause": [dict(reason)], "caused_by": dict(reason)}
    return json.dumps(
        {"error": reason, "status": {"error": said}, "message": said, "result": said, said: said}
    ).encode()


class Fickle:
    """Counts what it was sent and what it could send."""

    def __init__(self, upstream: tuple[str, int] | None = None) -> None:
        self.port = 0
        self.mode: Mode = "well"
        self.heard: list[bytes] = []
        self.sent = 0
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def become(self, mode: Mode) -> None:
        """From now on, also for those who are connected: they are cut off."""
        self.mode = mode
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        if mode != "away":
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        await self.become("away")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            if self.mode == "well":
                await self._forward(reader, writer)
            elif self.mode == "echo-raw":
                while data := await reader.read(65_536):
                    self.heard.append(data)
                    await self._send(writer, data)
            elif self.mode == "echo-nats":
                await self._send(writer, b'INFO {"max_payload":1048576,"headers":true,"version":"2.15.1"}\r\n')
                while line := await reader.readline():
                    self.heard.append(line)
                    await self._send(writer, b"-ERR '" + line.strip() + b"'\r\n")
            else:
                while await self._answer(await self._request(reader), writer):
                    pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # it had enough
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._upstream is not None, "nobody is behind this server"
        there, out = await asyncio.open_connection(*self._upstream)

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while data := await source.read(65_536):
                    target.write(data)
                    await target.drain()
            target.close()

        await asyncio.gather(pump(reader, out), pump(there, writer))

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:] if b":" in line)
        heard = head + await reader.readexactly(int(fields.get(b"content-length", b"0")))
        self.heard.append(heard)
        return heard

    async def _answer(self, heard: bytes, writer: asyncio.StreamWriter) -> bool:
        if self.mode == "hanging":
            await asyncio.sleep(600)
        if self.mode.startswith("echo-") and self.mode != "echo-head":
            status = int(self.mode.removeprefix("echo-"))
            await self._send(writer, _head(status, length=len(body := echoed(heard))) + body)
            return True
        await getattr(self, "_" + self.mode.replace("-", "_"))(heard, writer)
        return False

    async def _echo_head(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        said = heard.replace(b"\r\n", b" ")
        await self._send(
            writer, b"HTTP/1.1 599 " + said + b"\r\nWarning: 299 x " + said + b"\r\nbad " + said + b"\r\n\r\n"
        )

    async def _endless(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, _head(200, extra="Transfer-Encoding: chunked"))
        for _ in range(_CHUNKS):
            await self._send(writer, b"%x\r\n%s\r\n" % (len(_CHUNK), _CHUNK))

    async def _too_long(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, _head(200, length=_CHUNKS * len(_CHUNK)))
        for _ in range(_CHUNKS):
            await self._send(writer, _CHUNK)

    async def _bomb(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        packed = _bomb()
        await self._send(writer, _head(200, length=len(packed), extra="Content-Encoding: gzip") + packed)

    async def _drip(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, _head(200, length=2**20))
        while True:
            await self._send(writer, b" ")
            await asyncio.sleep(0.02)

    async def _drip_head(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            await self._send(writer, b"x")
            await asyncio.sleep(0.02)

    async def _deep_200(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        body = b'{"error":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        await self._send(writer, _head(int(self.mode[-3:]), length=len(body)) + body)

    _deep_500 = _deep_200

    async def _redirect(self, heard: bytes, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, _head(307, length=0, extra=f"Location: http://{self.netloc}/elsewhere"))

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)


def _head(status: int, *, length: int | None = None, extra: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json"]
    lines += [f"Content-Length: {length}"] if length is not None else []
    return "\r\n".join([*lines, *([extra] if extra else []), "", ""]).encode()


@asynccontextmanager
async def fickle(mode: Mode, upstream: tuple[str, int] | None = None) -> AsyncIterator[Fickle]:
    """Such a server for as long as the block lasts."""
    server = Fickle(upstream)
    await server.become(mode)
    try:
        yield server
    finally:
        await server.close()
