"""Where a program is recorded: its home, an invented project, and a model on loopback that says "Noted."."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

from services.gateway.proxy.dialects import DIALECTS
from services.gateway.proxy.dialects.events import event
from tests.gateway.proxy.backend import ModelServer, Seen, answer, begin, chunk

_RULES = "# Project\n\nUse tabs. I am Olaf Brandt, the maintainer, and I live in Tromsø.\n"
_FILES = {"AGENTS.md": _RULES, "CLAUDE.md": _RULES, "app.py": 'def greet():\n\treturn "hello"\n'}
_SECRET = ("authorization", "x-api-key", "cookie")
_MODELS: Any = {"object": "list", "data": [{"id": "m-1", "object": "model", "created": 1, "owned_by": "me"}]}
_NO_TOKENS = re.compile(rb'("(?:input|output|total)_tokens"):0')


@dataclass(slots=True)
class Stage:
    """Where a program runs: the folder of them all, its home and project, and the model that it asks."""

    root: Path
    program: str
    model: ModelServer
    case: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    written: int = 0

    @property
    def home(self) -> Path:
        return self.root / "home" / self.program

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        return kept | {"HOME": str(self.home), "NO_COLOR": "1"} | self.extra

    def prepare(self) -> None:
        rmtree(self.home, ignore_errors=True)
        self.project.mkdir(parents=True)
        for name, text in _FILES.items():
            (self.project / name).write_text(text)

    def configure(self, path: str, text: str) -> None:
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(text)

    async def run(self, case: str, *command: str, said: str = "") -> None:
        """Run a command to its end; what was said goes to its standard input."""
        self.case = case
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.project,
            env=self.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(process.communicate(said.encode()), 120)
        except TimeoutError:
            process.kill()

    async def type(self, case: str, *command: str, said: str) -> None:
        """Type something into a program that wants a terminal, and end it some seconds later."""
        self.case = case
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.project, env=self.env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.set_blocking(ours, False)
        asyncio.get_running_loop().add_reader(ours, lambda: os.read(ours, 65536))
        for text in (said, "\r"):
            await asyncio.sleep(5)
            os.write(ours, text.encode())
        await asyncio.sleep(8)
        asyncio.get_running_loop().remove_reader(ours)
        process.kill()
        await process.wait()

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        """What the model says to anything; who counts tokens or asks for the models is answered, too."""
        dialect = DIALECTS.get(seen.path)
        self.write(seen)
        if dialect is None:
            body = {"input_tokens": 100} if seen.path.endswith("count_tokens") else _MODELS
            await answer(writer, json.dumps(body).encode())
            return
        asked = dialect.read(seen.json)
        if self.case == "tool" and not asked.answering_tools:
            await _read_app(writer)
            return
        if not asked.stream:
            await answer(writer, json.dumps(dialect.spoken("Noted.", asked, id="1", created=1)).encode())
            return
        await begin(writer)
        for part in dialect.spoken_stream("Noted.", asked, id="1", created=1):
            await chunk(writer, _NO_TOKENS.sub(rb"\1:9000", part))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def write(self, seen: Seen) -> None:
        """Write a request down, with its case and its place in what the program sent."""
        if seen.method != "POST":
            return
        self.written += 1
        headers = {name: "…" if name in _SECRET else value for name, value in seen.headers.items()}
        kept = {"program": self.program, "path": seen.target, "headers": headers, "body": seen.json}
        text = json.dumps(kept, ensure_ascii=False, indent=1).replace(str(self.project), "/home/someone/project")
        path = self.root / "raw" / f"{self.program}-{self.written:02}-{self.case}.json"
        path.write_text(text.replace(str(self.home), "/home/someone"))


async def _read_app(writer: asyncio.StreamWriter) -> None:
    """Have Claude Code read a file."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    path = {"type": "input_json_delta", "partial_json": '{"file_path": "app.py"}'}
    usage = {"input_tokens": 9000, "output_tokens": 9}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [], "usage": usage}
    events: list[tuple[str, Any]] = [
        ("message_start", {"message": {**message, "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": path}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": usage}),
        ("message_stop", {}),
    ]
    await begin(writer)
    for name, data in events:
        await chunk(writer, event({"type": name, **data}, name))
    writer.write(b"0\r\n\r\n")
    await writer.drain()
