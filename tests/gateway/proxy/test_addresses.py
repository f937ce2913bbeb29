"""The operator's key goes to the model that is set up and nowhere else, whatever path is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import product

import httpx
import pytest

from services.gateway.keys import KeyStore, new_key
from services.gateway.proxy.backend import Backends
from services.gateway.proxy.refusals import Refusal, plain_path
from services.gateway.proxy.settings import ProxySettings
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer
from tests.gateway.proxy.conftest import Place

KEY = "sk-of-the-operator"
_HEADS = ("/v1%2Fmodels", "/v1%2fmodels", "/v1/models", "/v1/", "/v1", "/v1/%2e%2e", "/v1%5Cmodels", "/v1/models%09")
_TAILS = r"""%2F@{}/ @{}/x /@{}/ :x@{}/ //{}/x %2F%2F{}/x \{}\x %5C{} %252F@{} /%40{}/x #@{}/ ?@{}/ ;@{} /..;/@{}
    %0d%0aHost:%20{} %00@{} /http://{}/ /http:%2F%2F{} .{}/x :80@{} %E2%80%A4@{} %ef%bc%8f{} /x%20HTTP/1.1%0d%0a@{}
    /..%2f..%2f@{} %C0%AF@{}""".split()


@pytest.fixture(scope="module")
def environment(base: str) -> dict[str, str]:
    return {"MEMORYBUS_GATEWAY_AUTH": "true", "MEMORYBUS_OPENAI_API_KEY": KEY}


@pytest.fixture(scope="module", params=["", "/v1"])
def base(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where below its address the model is; `ModelServer.url` ends with it."""
    whole = ModelServer.start

    async def start(server: ModelServer) -> None:
        await whole(server)
        server.url = server.url.removesuffix("/v1") + str(request.param)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelServer, "start", start)
        yield str(request.param)


@pytest.fixture
async def other() -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that is not the model, and what it was sent."""
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(65536))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield "{}:{}".format(*server.sockets[0].getsockname()), seen


async def _status(place: str, target: str, key: str) -> int:
    host, port = place.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode("latin-1"))
    try:
        line = await asyncio.wait_for(reader.readline(), 20)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return int(line.split()[1])


async def test_no_path_leads_the_operators_key_elsewhere(
    place: Place, client: MemoryClient, model: ModelServer, other: tuple[str, list[bytes]], base: str
) -> None:
    token, key = new_key("ann", lasts=None)
    await KeyStore(client.bus).put(key)
    elsewhere, seen = other
    targets = [head + tail.format(elsewhere) for head, tail in product(_HEADS, _TAILS)]
    assert len(targets) >= 200
    statuses = {target: await _status(place.http, target, token) for target in targets}
    assert seen == []
    assert not {target: status for target, status in statuses.items() if status >= 500}
    assert {one.target.partition("?")[0] for one in model.seen} <= {f"{base}/models", f"{base}/models/"}
    assert await _status(place.http, "/v1/models/meta/llama-3.1:8b?limit=2", token) == 200
    assert model.seen[-1].target == f"{base}/models/meta/llama-3.1:8b?limit=2"
    assert model.seen[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/chat/completions", "/chat/completions"),
        (b"/chat/completions/", "/chat/completions"),
        (b"/%63hat/completions", "/chat/completions"),
        (b"/models/a:b~c+d", "/models/a:b~c+d"),
        (b"/models/%C3%BCber", "/models/über"),
        (b"", ""),
        (b"/", ""),
    ],
)
def test_a_path_that_every_server_reads_alike_is_plain(raw: bytes, path: str) -> None:
    assert plain_path(raw, is_shared=True) == path


@pytest.mark.parametrize(
    "raw",
    """/chat%09/completions /chat/completions%00 //chat/completions /chat//completions /./chat /chat/%2e%2e/x /chat%2Fx
    /chat\\x /chat%5cx /chat;x/y /a@b /a%40b /a%25b /a?b /a%3fb /a%23b /%ff /...  /a%0ab /a%7fb /a%c2%85b /a|b /a%22b
    /a%E2%80%A8b /a%E2%80%AEb /a%EF%BC%8Fb /a<b""".split(),
)
def test_a_path_that_servers_may_read_differently_is_refused(raw: str) -> None:
    with pytest.raises(Refusal) as refused:
        plain_path(raw.encode(), is_shared=True)
    assert refused.value.status == 404


def test_with_ones_own_key_a_slash_in_the_name_of_a_model_may_be_encoded() -> None:
    assert plain_path(b"/models/org%2Fm%201", is_shared=False) == "/models/org/m 1"
    for raw in (b"%2Fmodels", b"/models%2F..%2Fx", b"/models%2F@x", b"/models%252Fx"):
        with pytest.raises(Refusal):
            plain_path(raw, is_shared=False)


@pytest.mark.parametrize("address", ["http://m:1", "http://m:1/", "http://u:p@m:1/v1", "https://m/api/v1/"])
@pytest.mark.parametrize("path", ["", "/models", "@other/x", ":2/x", "//other/x", "/\\other"])
def test_an_address_stays_at_its_server(address: str, path: str) -> None:
    openai = Backends.of(ProxySettings(openai_base_url=address)).openai
    assert openai is not None
    with suppress(httpx.InvalidURL):
        made = openai.address(path.encode(), b"q=@other")
        assert (made.scheme, made.netloc, made.userinfo) == (openai.url.scheme, openai.url.netloc, openai.url.userinfo)
