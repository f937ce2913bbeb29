"""An embedding server may be slow, wrong or hostile; the embedder says what to do about it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.ports import EmbeddingIdentity, TextRefused, Unavailable
from services.shared.embedders import EmbedderMisconfigured, open_embedder
from services.shared.embedders.http import ATTEMPTS, HttpEmbedder
from tests.servers.answering import Post, Reply, answering

DIMENSIONS = 3

Answer = tuple[int, Any]
Responder = Callable[[list[str]], Answer]


def direction(text: str) -> list[float]:
    """A vector that tells texts apart, not of unit length."""
    return [float(len(text)), 1.0, float(text.count("e"))]


def rows(texts: list[str]) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": i, "embedding": direction(text)} for i, text in enumerate(texts)]


def well(texts: list[str]) -> Answer:
    return 200, {"object": "list", "data": rows(texts), "usage": {"total_tokens": 1}}


@dataclass
class FakeServer:
    """An embeddings endpoint whose answers a test decides; the first ones come from `script`."""

    answer: Responder = well
    script: list[Responder] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    retry_after: str | None = None
    url: str = ""

    def respond(self, post: Post) -> Reply:
        self.asked.append(post.body)
        self.keys.append(post.credential)
        status, content = (self.script.pop(0) if self.script else self.answer)(post.body["input"])
        headers = {"Retry-After": self.retry_after} if self.retry_after and status == 429 else {}
        return Reply(status, content, headers)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    fake = FakeServer()

    with answering(fake.respond) as address:
        fake.url = f"{address}/v1"
        yield fake


async def opened(server: FakeServer, **options: Any) -> HttpEmbedder:
    return await HttpEmbedder.open(server.url, "some-model", **{"most_wait": 0.01, "answer_within": 5.0, **options})


def unit(text: str) -> np.ndarray:
    along = np.array(direction(text))
    length: np.ndarray = along / np.linalg.norm(along)
    return length


async def test_texts_become_unit_vectors_in_their_order(server: FakeServer) -> None:
    embedder = await opened(server, batch=2)
    texts = ["a", "eel", "seventeen", "", "tree"]
    assert await embedder.embed(texts) == pytest.approx(np.array([unit(text) for text in texts]), abs=1e-6)
    assert [body["input"] for body in server.asked[1:]] == [texts[0:2], texts[2:4], texts[4:]]
    assert {body["model"] for body in server.asked} == {"some-model"}
    await embedder.close()


async def test_the_dimensions_are_learned_from_the_server(server: FakeServer) -> None:
    embedder = await opened(server)
    assert embedder.identity == EmbeddingIdentity("http", "some-model", DIMENSIONS)
    assert (await embedder.embed([])).shape == (0, DIMENSIONS)
    await embedder.close()


async def test_the_key_is_sent_as_bearer(server: FakeServer) -> None:
    await (await opened(server, api_key="s3cret")).close()
    await (await opened(server)).close()
    assert server.keys == ["Bearer s3cret", None]


async def test_answers_in_another_order_are_put_right(server: FakeServer) -> None:
    embedder = await opened(server)
    server.answer = lambda texts: (200, {"data": rows(texts)[::-1]})
    assert await embedder.embed(["a", "eel"]) == pytest.approx(np.array([unit("a"), unit("eel")]), abs=1e-6)
    assert len(server.asked) == 2  # one to learn the dimensions
    await embedder.close()


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_that_fails_now_and_then_is_asked_again(server: FakeServer, status: int) -> None:
    server.script = [lambda _: (status, {"error": "busy"})] * (ATTEMPTS - 1)
    embedder = await opened(server)
    server.script = [lambda _: (status, b"<html>busy</html>")] * (ATTEMPTS - 1)
    assert (await embedder.embed(["a"])).shape == (1, DIMENSIONS)
    await embedder.close()


async def test_a_server_that_always_fails_is_unavailable(server: FakeServer) -> None:
    embedder = await opened(server)
    server.answer = lambda _: (503, {"error": "loading the model"})
    with pytest.raises(Unavailable, match=rf"{ATTEMPTS} attempts: HTTP 503$"):
        await embedder.embed(["a"])
    assert len([one for one in server.asked if one["input"] == ["a"]]) == ATTEMPTS
    await embedder.close()


async def test_the_pause_that_the_server_asks_for_is_kept(server: FakeServer) -> None:
    embedder = await opened(server, most_wait=0.3)
    server.retry_after = "1"  # more than the longest pause
    server.script = [lambda _: (429, {})]
    started = time.monotonic()
    await embedder.embed(["a"])
    assert time.monotonic() - started >= 0.3
    await embedder.close()


async def test_a_server_that_does_not_answer_in_time_is_unavailable(server: FakeServer) -> None:
    embedder = await opened(server, answer_within=0.05)
    released = threading.Event()

    def late(texts: list[str]) -> Answer:
        released.wait(5)
        return well(texts)

    server.answer = late
    with pytest.raises(Unavailable, match=r"no answer within 0\.05 s"):
        await embedder.embed(["a"])
    released.set()
    await embedder.close()


async def test_no_server_at_all_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="ConnectError"):
        await HttpEmbedder.open("http://127.0.0.1:1/v1", "m", most_wait=0.01)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "MEMORYBUS_EMBEDDER_API_KEY"),
        (403, "MEMORYBUS_EMBEDDER_API_KEY"),
        (404, "MEMORYBUS_EMBEDDER_MODEL"),
        (400, "MEMORYBUS_EMBEDDER_MODEL"),
        (405, "MEMORYBUS_EMBEDDER_URL"),
        (302, "MEMORYBUS_EMBEDDER_URL"),
    ],
)
async def test_a_wrong_setting_is_named_at_once(server: FakeServer, status: int, advice: str) -> None:
    server.answer = lambda _: (status, {"error": {"message": "no such thing"}})
    with pytest.raises(EmbedderMisconfigured, match=rf"HTTP {status}.*{advice}") as raised:
        await opened(server)
    assert "no such thing" not in str(raised.value), "what a server says may be what a user said"
    assert len(server.asked) == 1


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/v1", "http://x:port/v1", "", "file:///etc/passwd"])
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_EMBEDDER_URL"):
        await HttpEmbedder.open(url, "m", most_wait=0.01)


async def test_a_key_that_is_no_header_is_refused(server: FakeServer) -> None:
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_EMBEDDER_API_KEY"):
        await opened(server, api_key="schlüssel-日")


def _nan(texts: list[str]) -> Answer:
    return 200, {"data": [{"index": i, "embedding": [1.0, float("nan"), 2.0]} for i in range(len(texts))]}


BAD_ANSWERS: dict[str, Responder] = {
    "too few": lambda texts: (200, {"data": rows(texts)[:-1]}),
    "too many": lambda texts: (200, {"data": rows([*texts, "more"])}),
    "twice the same index": lambda texts: (200, {"data": [{"index": 1, "embedding": [1, 2, 3]}] * len(texts)}),
    "not a number": _nan,
    "infinite": lambda texts: (200, {"data": [{"index": i, "embedding": [1e400, 1, 1]} for i in range(len(texts))]}),
    "zero": lambda texts: (200, {"data": [{"index": i, "embedding": [0, 0, 0]} for i in range(len(texts))]}),
    "no numbers": lambda texts: (200, {"data": [{"index": i, "embedding": "AAAA"} for i in range(len(texts))]}),
    "no dimensions": lambda texts: (200, {"data": [{"index": i, "embedding": []} for i in range(len(texts))]}),
    "other dimensions": lambda texts: (200, {"data": [{"index": i, "embedding": [1, 2]} for i in range(len(texts))]}),
    "no JSON": lambda _: (200, b"<html>welcome</html>"),
    "other JSON": lambda _: (200, {"embedding": [1, 2, 3]}),
    "nested deeply": lambda _: (200, b"[" * 100_000),
    "huge": lambda texts: (200, json.dumps(well(texts)[1]).encode() + b" " * 9_000_000),
}


@pytest.mark.parametrize("bad", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
async def test_an_answer_that_is_no_embedding_is_not_believed(server: FakeServer, bad: Responder) -> None:
    embedder = await opened(server)
    server.answer = lambda texts: bad(texts) if "b" in texts else well(texts)
    with pytest.raises(TextRefused):
        await embedder.embed(["a", "b"])
    server.answer = bad
    with pytest.raises(Unavailable):
        await embedder.embed(["a", "b"])
    server.answer = well
    assert (await embedder.embed(["a"])).shape == (1, DIMENSIONS)
    await embedder.close()


async def test_a_server_that_is_no_embedder_is_named_when_it_is_opened(server: FakeServer) -> None:
    server.answer = lambda _: (200, {"hello": "world"})
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_EMBEDDER_URL"):
        await opened(server)


async def test_one_bad_text_does_not_take_its_batch_with_it(server: FakeServer) -> None:
    embedder = await opened(server)
    server.answer = lambda texts: _nan(texts) if "cursed" in texts else well(texts)
    with pytest.raises(TextRefused, match="not finite"):
        await embedder.embed(["a", "b", "cursed", "d"])
    assert ["cursed"] in [body["input"] for body in server.asked]
    await embedder.close()


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_text_that_is_too_long_for_the_model_is_shortened(server: FakeServer, status: int) -> None:
    embedder = await opened(server)

    def short_ones(texts: list[str]) -> Answer:
        return well(texts) if max(map(len, texts)) <= 1000 else (status, {"error": "context length exceeded"})

    server.answer = short_ones
    vectors = await embedder.embed(["a", "e" * 3000])
    assert vectors == pytest.approx(np.array([unit("a"), unit("e" * 750)]), abs=1e-6)
    await embedder.close()


async def test_a_short_text_that_is_refused_is_not_tried_forever(server: FakeServer) -> None:
    embedder = await opened(server)
    server.answer = lambda texts: (400, {"error": "I do not like it"}) if "xx" in texts[0] else well(texts)
    with pytest.raises(TextRefused, match=r"refused a text: HTTP 400$"):
        await embedder.embed(["x" * 600])
    assert len(server.asked) < 12
    await embedder.close()


async def test_hostile_text_is_sent_as_valid_text_of_bounded_length(server: FakeServer) -> None:
    embedder = await opened(server)
    await embedder.embed(["\ud800" + "x" * 1_000_000])
    sent = server.asked[-1]["input"][0]
    assert len(sent) <= 32_768
    sent.encode()
    await embedder.close()


async def test_the_factory_asks_for_a_model(server: FakeServer, tmp_path: Path) -> None:
    with pytest.raises(EmbedderMisconfigured, match="MEMORYBUS_EMBEDDER_MODEL"):
        await open_embedder("http", cache_dir=tmp_path, base_url=server.url)
    embedder = await open_embedder("http", cache_dir=tmp_path, base_url=server.url, model="m", api_key="k")
    assert embedder is not None
    assert embedder.identity == EmbeddingIdentity("http", "m", DIMENSIONS)
    await embedder.close()
