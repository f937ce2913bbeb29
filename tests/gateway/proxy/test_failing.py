"""The chat proxy when something fails: the model, the bus, the memory, or how it was set up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.gateway.proxy.backend import Backends
from services.gateway.proxy.settings import ProxySettings
from services.runtime import running
from services.shared.http import listen
from services.shared.settings import Settings, UnusableSetting
from tests.gateway.proxy.backend import ModelServer, Seen, begin, saying

BODY: Any = {"model": "m-1", "messages": [{"role": "user", "content": "I live in Graz."}]}


@pytest.fixture
def light(tmp_path: Path) -> Settings:
    kinds: Any = {"ner": "none", "embedder": "none", "sync": "interval", "log_level": "error"}
    return Settings(data=tmp_path / "data", nats_port=0, http_port=0, **kinds)


async def post(url: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
        return await http.post(f"{url}/v1/chat/completions", json=BODY)


async def test_without_a_model_it_says_what_to_set(light: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYBUS_OPENAI_BASE_URL", raising=False)
    async with running(light) as up:
        answer = await post(up.http)
    assert answer.status_code == 404
    assert "MEMORYBUS_OPENAI_BASE_URL" in answer.json()["error"]["message"]


@pytest.mark.parametrize("address", ["localhost:1234", "ftp://x/v1", "http://", "http://x/v1?a=1"])
def test_an_address_that_is_none_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(UnusableSetting, match="MEMORYBUS_OPENAI_BASE_URL"):
        Backends.of(ProxySettings(openai_base_url=address))


async def test_a_model_that_hangs_or_is_not_there_is_told_of_in_time(
    light: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if b"later" in seen.body:
            await begin(writer)
        await asyncio.sleep(60)

    model = ModelServer(hangs)
    await model.start()
    monkeypatch.setenv("MEMORYBUS_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("MEMORYBUS_PROXY_TIMEOUT_SECONDS", "1")
    async with running(light) as up:
        answer = await post(up.http)
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "backend_timeout")
        assert "MEMORYBUS_PROXY_TIMEOUT_SECONDS" in answer.text
        assert answer.headers["memory-conversation"]
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
            with pytest.raises(httpx.RemoteProtocolError):
                await http.post(f"{up.http}/v1/chat/completions", json=BODY | {"later": True})
        await model.stop()
        answer = await post(up.http)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "backend_unavailable")
        assert "_BASE_URL" in answer.text
        assert answer.headers["memory-conversation"]


async def test_an_address_that_leads_back_is_noticed(light: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    free = listen("127.0.0.1", 0)
    port = free.getsockname()[1]
    free.close()
    settings = light.model_copy(update={"http_port": port})
    monkeypatch.setenv("MEMORYBUS_OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    async with running(settings) as up:
        answer = await post(up.http)
    assert (answer.status_code, answer.json()["error"]["code"]) == (508, "proxy_loop")


async def test_with_the_memory_away_the_chat_goes_on_and_says_so(
    light: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelServer(saying(lambda seen: "Fine."))
    await model.start()
    monkeypatch.setenv("MEMORYBUS_OPENAI_BASE_URL", model.url)
    async with running(light) as up:
        retrieve = up.host.client
        await retrieve.close()
        started = asyncio.get_running_loop().time()
        answer = await post(up.http)
        assert asyncio.get_running_loop().time() - started < 5
        assert answer.json()["choices"][0]["message"]["content"] == "Fine."
        assert answer.headers["memory-degraded"] == "unavailable"
    await model.stop()
