"""Recorded and fuzzed requests: through the proxy all get and are asked the same as directly, byte for byte."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.proxy.backend import ModelServer, Seen
from tests.gateway.proxy.conftest import Place
from tests.sizes import LONG

REQUESTS = 500 if LONG else 80
PATHS = ("/chat/completions", "/responses", "/messages", "/embeddings", "/models", "/models/m-1", "/files/a%2Fb")
ADDED = {"memory-conversation", "memory-degraded"}
SITE = {
    "content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy",
    "cross-origin-resource-policy", "cache-control",
}  # fmt: skip
HOP = {"date", "connection", "transfer-encoding", "keep-alive"}
STATUSES = ("200 OK", "200 OK", "200 OK", "201 Created", "307 Temporary Redirect", "400 Bad Request", "429 Too Many",
            "500 Internal Server Error", "529 Overloaded")  # fmt: skip


class Fuzz:
    """Requests and answers that are made up, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        kinds: list[Callable[[], Any]] = [
            lambda: None,
            lambda: self._random.random() < 0.5,
            lambda: self._random.randint(-(10**20), 10**20),
            lambda: self._random.random() * 10 ** self._random.randint(-20, 20),
            self.text,
        ]
        if depth < 3:
            kinds += [
                lambda: [self.value(depth + 1) for _ in range(self._random.randint(0, 4))],
                lambda: {self.text(): self.value(depth + 1) for _ in range(self._random.randint(0, 4))},
            ]
        return self._random.choice(kinds)()

    def text(self) -> str:
        signs = 'ab {}[]"\\\n\t\x00é漢😀\ud800<>&/ 0data: '
        return "".join(self._random.choice(signs) for _ in range(self._random.randint(0, 12)))

    def body(self) -> bytes:
        """Mostly a request that is one, with fields that nobody knows; sometimes anything."""
        if self._random.random() < 0.1:
            return self._random.randbytes(self._random.randint(0, 200))
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
        content: Any = self._random.choice([self.text(), [{"type": "text", "text": self.text()}, image], self.value()])
        messages = [{"role": self._random.choice(["user", "system", "tool", "x"]), "content": content}]
        body: Any = {"model": "m-1", "messages": messages, "input": messages, "stream": self._random.random() < 0.5}
        body |= {f"x{self.text()}": self.value() for _ in range(3)}
        return json.dumps(body, indent=self._random.choice([None, 1])).encode()

    def answer(self) -> tuple[bytes, bytes]:
        """The head and the chunks of an answer; some of them are garbage, or end too early."""
        status, broken = self._random.choice(STATUSES), self._random.random() < 0.15
        chunks = [self._random.choice([self.body(), b"data: {}\n\n", b"data: [DONE]\n\n", b"event: x\r\n"])
                  for _ in range(self._random.randint(0, 5))]  # fmt: skip
        kind = self._random.choice(["application/json", "text/event-stream", "text/event-stream; charset=utf-8"])
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nX-Request-Id: {self._random.random()}\r\n"
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: close\r\nLocation: /elsewhere\r\n"
        )
        if self._random.random() < 0.5:
            whole = b"".join(chunks)
            return f"{head}Content-Length: {len(whole) + broken}\r\n\r\n".encode(), whole
        framed = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks if one)
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode(), framed + (b"" if broken else b"0\r\n\r\n")


@dataclass(frozen=True, slots=True)
class Sent:
    """One request, by the path below the base address."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def recorded() -> list[Sent]:
    """What clients of today send; recorded.jsonl has them, as record.py wrote them down."""
    lines = Path(__file__).with_name("recorded.jsonl").read_text().split("\n")
    asked = [json.loads(line) for line in lines if line]
    return [
        Sent(one["method"], one["target"].removeprefix("/v1"), one["headers"], one["body"].encode()) for one in asked
    ]


def fuzzed(number: int) -> Sent:
    """A request that is made up."""
    path = PATHS[number % len(PATHS)]
    return Sent("GET" if "models" in path else "POST", f"{path}?q=%20{number}", {"accept": "*/*"}, Fuzz(number).body())


async def told(url: str, sent: Sent, headers: dict[str, str]) -> tuple[Any, ...]:
    """What a client sees of the answer to a request."""
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
        asking = http.build_request(
            sent.method, f"{url}{sent.path}", content=sent.body or None, headers=sent.headers | headers
        )
        answer = await http.send(asking, stream=True)
        got, whole = b"", True
        try:
            async for chunk in answer.aiter_raw():
                got += chunk
        except httpx.RemoteProtocolError:
            whole = False
        await answer.aclose()
    fields = sorted((name, value) for name, value in answer.headers.multi_items() if name not in HOP | ADDED | SITE)
    return answer.status_code, fields, got, whole


async def test_requests_and_answers_pass_as_they_are(place: Place, model: ModelServer) -> None:
    number = 0

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        for part in Fuzz(10_000 + number).answer():
            writer.write(part)
            await writer.drain()

    model.script = script
    own = {"user-agent": "fuzz", "accept-encoding": "identity", "x-own": "1"}
    known = recorded()
    assert len(known) > 30, "what clients send is a part of it"
    for number in range(REQUESTS):
        model.seen.clear()
        sent = known[number] if number < len(known) else fuzzed(number)
        # Of a user without memories nothing is put in, as of one who is incognito.
        more = {"memory-user": f"u{number}"} if number < len(known) else {"memory-incognito": "true"}
        direct = await told(model.url, sent, own)
        through = await told(f"{place.http}/v1", sent, own | more)
        assert through == direct, sent
        first, second = model.seen
        assert (second.method, second.target, second.body) == (first.method, first.target, first.body)
        leave = {"host", "via", "connection"}
        assert {n: v for n, v in second.headers.items() if n not in leave} == {
            n: v for n, v in first.headers.items() if n not in leave
        }
