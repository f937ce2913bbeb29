"""A model server that does what a test tells it, to the byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from services.gateway.proxy.dialects import DIALECTS

Json = Any


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the model server got it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def said(self) -> str:
        """All that the model is told, as one text."""
        return json.dumps(self.json.get("messages") or self.json.get("input"), ensure_ascii=False)


Script = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class ModelServer:
    """Listens on loopback. `script` writes the answer; a client that goes away is counted in `left`."""

    script: Script
    seen: list[Seen] = field(default_factory=list)
    left: int = 0
    url: str = ""
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}/v1"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while not reader.at_eof():
                seen = await _request(reader)
                self.seen.append(seen)
                answering = asyncio.ensure_future(self.script(seen, writer))
                watching = asyncio.ensure_future(reader.read(1))
                await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    self.left += 1
                    answering.cancel()
                    break
                answering.result()
                writer.close()
                break
        writer.close()


async def _request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.strip().split("\r\n")
    method, target, _ = line.split(" ")
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body)


async def answer(
    writer: asyncio.StreamWriter, body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = ""
) -> None:
    """A whole answer."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nx-request-id: req-1\r\n{more}"
    writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
    await writer.drain()


async def begin(writer: asyncio.StreamWriter, kind: str = "text/event-stream") -> None:
    """The head of an answer of many chunks."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\nx-request-id: req-1\r\n"
    writer.write(f"{head}connection: close\r\n\r\n".encode())
    await writer.drain()


async def chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One chunk."""
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()


def every_api(text: str, *, calls_tools: bool = True) -> Script:
    """A model that says one thing in each of the three APIs, calls a tool where it is given one, and lists itself."""

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        dialect = DIALECTS.get(seen.path)
        if dialect is None:
            await saying(lambda seen: text)(seen, writer)
        elif calls_tools and dialect.name == "chat" and seen.json.get("tools"):
            await _calling_a_tool(seen, writer)
        elif seen.json.get("stream"):
            await begin(writer)
            for part in dialect.spoken_stream(text, dialect.read(seen.json), id="1", created=1):
                await chunk(writer, part)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            body = dialect.spoken(text, dialect.read(seen.json), id="1", created=1)
            await answer(writer, json.dumps(body).encode())

    return script


async def _calling_a_tool(seen: Seen, writer: asyncio.StreamWriter) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Graz"}'}}
    if not seen.json.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
        body = completion("chat.completion") | {"choices": [choice | {"finish_reason": "tool_calls"}]}
        await answer(writer, json.dumps(body).encode())
        return
    await begin(writer)
    await chunk(writer, event({"tool_calls": [{"index": 0, **call}]}) + event({}, "tool_calls") + b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def saying(says: Callable[[Seen], str]) -> Script:
    """A model that speaks chat completions, whole or as a stream of words."""

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if not seen.path.endswith("/chat/completions"):
            await answer(writer, b'{"object":"list","data":[{"id":"m-1","object":"model"}]}')
            return
        text = says(seen)
        if not seen.json.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            await answer(writer, json.dumps(completion("chat.completion") | {"choices": [choice]}).encode())
            return
        await begin(writer)
        for word in text.split(" "):
            await chunk(writer, event({"content": f"{word} "}))
        await chunk(writer, event({}, "stop") + b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return script


def completion(kind: str) -> dict[str, Json]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "m-1"}


def event(delta: Json, reason: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps(completion('chat.completion.chunk') | {'choices': [choice]})}\n\n".encode()
