"""What is asked over HTTP: by which name, of which page, with how long a body; and what every answer carries."""

from __future__ import annotations

import asyncio
import re
import socket
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import httpx
from faststream.asgi import AsgiResponse, get

from services.gateway import static
from services.gateway.app import pages
from services.shared.http import HttpServer, listen
from services.shared.site import MOST_BODY, Site


@get
async def well(scope: Any) -> AsgiResponse:
    return AsgiResponse(b"well", 200)


@get
async def broken(scope: Any) -> AsgiResponse:
    raise ValueError("s3cretMARKER")


@asynccontextmanager
async def served(named: str = "", host: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    site = Site([("/healthz", well), ("/broken", broken), *pages()], host=host, named=named)
    listening = listen("127.0.0.1", 0)
    server = HttpServer(site, listening)
    await server.start()
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http:
        yield http
    await server.stop()
    listening.close()


async def status(http: httpx.AsyncClient, host: str) -> int:
    return (await http.get("/healthz", headers={"Host": host})).status_code


OWN = ["localhost", "localhost:1", "LOCALHOST:8400", "me.localhost", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8400"]
ADDRESSES = ["10.1.2.3:8400", "[fe80::1]:8400", "192.0.2.1"]
STRANGE = [
    "evil.example", "evil.example:8400", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost",
    "", "localhost:port", "localhost:8400:1", "user@localhost", "[::1", "::1]", "127.0.0.1,evil.example",
    "0x7f.1", "gateway", "*",
]  # fmt: skip


async def test_whoever_calls_by_an_address_or_localhost_is_answered() -> None:
    async with served() as http:
        assert {host: await status(http, host) for host in OWN + ADDRESSES} == dict.fromkeys(OWN + ADDRESSES, 200)


async def test_another_name_that_leads_here_is_refused_in_plain_words() -> None:
    async with served() as http:
        for host in STRANGE:
            answer = await http.get("/healthz", headers={"Host": host})
            assert answer.status_code == 421, host
            assert "MEMORYBUS_HTTP_HOSTS" in answer.text
            assert answer.text.isascii()
            assert host in ("", "*", "gateway") or host not in answer.text


async def test_names_that_are_given_are_answered() -> None:
    async with served("gateway, Memory.example ,") as http:
        assert [await status(http, host) for host in ("gateway:8400", "memory.EXAMPLE.", "localhost")] == [200] * 3
        assert await status(http, "evil.example") == 421
    async with served("*") as http:
        assert await status(http, "evil.example") == 200
    async with served(host="gateway.internal") as http:
        assert await status(http, "gateway.internal:8400") == 200


async def test_what_may_still_come_while_it_starts_is_not_said_to_be_missing() -> None:
    starting = True
    site = Site([("/healthz", well)], host="127.0.0.1", named="", is_starting=lambda: starting)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url="http://127.0.0.1") as http:
        assert (await http.get("/healthz")).status_code == 200
        early = await http.post("/v1/memory/turns", content=b"x" * (MOST_BODY + 1))
        assert (early.status_code, early.headers["retry-after"]) == (503, "1")
        starting = False
        assert (await http.get("/v1/memory/turns")).status_code == 404


async def asking(http: httpx.AsyncClient, sent: bytes) -> httpx.Response:
    """What comes back for these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
    writer.write(sent)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    status, *fields = head.decode().split("\r\n")
    headers = [(name, value) for name, value in (field.split(": ", 1) for field in fields)]
    return httpx.Response(int(status.split()[1]), headers=headers, content=body)


async def test_every_answer_carries_the_headers_that_protect_it() -> None:
    async with served() as http:
        answers = {
            "page": await http.get("/"),
            "document": await http.get("/asyncapi.json"),
            "health": await http.get("/healthz"),
            "head": await http.head("/healthz"),
            "nothing there": await http.get("/nothing"),
            "another name": await http.get("/healthz", headers={"Host": "evil.example"}),
            "another method": await http.post("/healthz"),
            "too long": await http.post("/healthz", content=b"x" * (MOST_BODY + 1)),
            "broken": await http.get("/broken"),
        }
        answers["no http"] = await asking(http, b"nonsense\r\n\r\n")
    statuses = [answer.status_code for answer in answers.values()]
    assert statuses == [200, 200, 200, 200, 404, 421, 405, 413, 500, 400]
    for name, answer in answers.items():
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy, name
        assert "frame-ancestors 'none'" in policy, name
        assert answer.headers["x-content-type-options"] == "nosniff", name
        assert answer.headers["referrer-policy"] == "no-referrer", name
        assert answer.headers["cache-control"] == "no-store", name
        assert len(answer.headers.get_list("content-security-policy")) == 1, name
        assert "access-control-allow-origin" not in answer.headers, name
        assert "server" not in answer.headers, name
        assert "s3cretMARKER" not in answer.text, name


async def test_the_page_shows_in_its_own_style_and_nothing_else_runs() -> None:
    async with served() as http:
        answer = await http.get("/asyncapi")
    (style,) = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{allowed}'" in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "style=" not in answer.text


async def test_the_page_of_users_runs_its_own_files_and_nothing_else() -> None:
    async with served() as http:
        page = await http.get("/")
        named = set(re.findall(r'(?:src|href)="(/[^"]+)"', page.text))
        scripts = {f"/page/{path.name}" for path in static.FOLDER.glob("*.js")}
        answers = {path: await http.get(path) for path in named | scripts}
    assert "/page/main.js" in named
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 200)
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    for text in (page.text, *(answer.text for answer in answers.values())):
        addresses = {url for url in re.findall(r"https?://[\w./-]+", text) if url != "http://www.w3.org/2000/svg"}
        assert addresses == set(), "no request leaves the host"
        assert (
            re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|<style| style=", text) is None
        )
    assert sum(len(answer.content) for answer in answers.values()) < 150_000


async def test_a_page_that_is_not_there_says_which_ones_are() -> None:
    async with served() as http:
        answer = await http.get("/v1/memory/<script>")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert "script" not in answer.text
    for path in ("/healthz", "/asyncapi", "/asyncapi.json"):
        assert path in answer.text


async def test_a_body_of_unknown_length_is_not_read_for_ever() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(1000):
            read += 65_536
            yield b"x" * 65_536

    async with served() as http:
        try:
            answer = await http.post("/healthz", content=endless())
        except httpx.HTTPError:
            pass  # hung up on
        else:
            assert answer.status_code in (405, 413)
        assert await status(http, "localhost") == 200
    assert read < 1000 * 65_536


def test_answers_in_several_parts_do_not_wait_for_each_other() -> None:
    """Else whoever keeps a connection waits 40 ms for the second part, until their system acknowledges the first."""
    with listen("127.0.0.1", 0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
