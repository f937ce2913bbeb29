"""A chat model that does what a test tells it to, right or wrong: an OpenAI-compatible server on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

Manner = Literal["well", "slow", "dead", "broken", "busy", "refusing", "endless", "no JSON", "no chat", "compressed"]

_BODIES: dict[Manner, tuple[int, bytes]] = {
    "broken": (500, b"my secret is MARKER"),
    "busy": (429, b"{}"),
    "refusing": (401, b"MARKER"),
    "no chat": (200, b'{"MARKER": 1}'),
    "no JSON": (200, b"[" * 60_000),
}


@dataclass
class ScriptedModel:
    """What a test sees of it, and may change while it runs: how it answers, and the claims it reads in a turn."""

    url: str = ""
    manner: Manner = "well"
    claims: dict[str, list[Any]] = field(default_factory=dict)
    reads: Callable[[str], list[Any]] | None = None
    sums_up: Callable[[list[dict[str, Any]]], list[Any]] = field(default=lambda turns: [])
    prose: str | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    @property
    def turns(self) -> list[str]:
        """The turns that it was shown, in order."""
        return [given["turn"] for given in self._given() if "turn" in given]

    def _given(self) -> list[dict[str, Any]]:
        return [json.loads(body["messages"][-1]["content"]) for body in self.asked]

    def content(self) -> str:
        if self.prose is not None:
            return self.prose
        given = self._given()[-1]
        if "turns" in given:
            return json.dumps({"sentences": self.sums_up(given["turns"])})
        turn = given.get("turn", "")
        return json.dumps({"claims": self.reads(turn) if self.reads else self.claims.get(turn, [])})

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
                given = {name.lower(): value for name, value in headers.items()}
                self.asked.append(json.loads(await reader.readexactly(int(given["content-length"]))))
                self.keys.add(given.get("authorization"))
                await self._reply(writer)
        writer.close()

    async def _reply(self, writer: asyncio.StreamWriter) -> None:
        if self.manner == "dead":
            writer.transport.abort()
            raise ConnectionResetError
        if self.manner == "slow":
            await asyncio.Event().wait()
        if self.manner == "endless":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n")
            for _ in range(160):
                writer.write(b'"' * 65_536)
                await writer.drain()
            return
        good = json.dumps({"choices": [{"message": {"content": self.content()}}]}).encode()
        status, body = _BODIES.get(self.manner, (200, good))
        more = "Content-Encoding: gzip\r\n" if self.manner == "compressed" else ""
        writer.write(f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()


@asynccontextmanager
async def scripted_model() -> AsyncIterator[ScriptedModel]:
    """Answers until the block ends."""
    model = ScriptedModel()
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(model.answer(reader, writer))
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await task
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
