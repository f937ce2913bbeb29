"""Ready means warm: what the first question would wait for has been done once by then, and nothing of it is kept."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from contracts.envelope import Message
from contracts.errors import Unavailable
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared import app
from services.shared.client import memory_client
from services.shared.settings import Settings
from services.shared.stores.edge import EdgeVectorStore
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeEmbedder
from tests.polling import digested, eventually

NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """The embedder of every start."""
    one = FakeEmbedder()

    async def opened(*_: Any, **__: Any) -> FakeEmbedder:
        return one

    monkeypatch.setattr(app, "open_embedder", opened)
    return one


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the stores were searched, and something made ready that asks a model."""
    counted: Counter[str] = Counter()

    def counting(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def count(*args: Any, **named: Any) -> Any:
            counted[name] += 1
            return work(*args, **named)

        return count

    monkeypatch.setattr(SqliteTextStore, "search", counting("words", SqliteTextStore.search))
    monkeypatch.setattr(EdgeVectorStore, "search", counting("meaning", EdgeVectorStore.search))
    monkeypatch.setattr(httpx, "AsyncClient", counting("model", httpx.AsyncClient))
    return counted


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, nats_url=None, nats_port=0, http_port=0, ner="none", sync="interval")


def incomplete(message: type[Message] = Message) -> list[str]:
    kinds = message.__subclasses__()
    here = [kind.__qualname__ for kind in kinds if not kind.__pydantic_complete__]
    return [*here, *(name for kind in kinds for name in incomplete(kind))]


async def test_before_it_is_ready_everything_that_answers_has_worked_once_over_an_empty_folder_and_a_full_one(
    settings: Settings,
    embedder: FakeEmbedder,
    done: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MEMORYBUS_OPENAI_BASE_URL", NOWHERE)
    async with running(settings) as up, memory_client(up.nats) as client:
        assert (len(embedder.asked), done["words"], done["model"]) == (1, 1, 1)
        assert done["meaning"] >= 1
        assert incomplete() == []
        await client.publish_all([Turn(user_id="ann", role="user", text="My flight to Lisbon leaves on 3 May.")])
        await digested(client, turns=1)
    embedder.asked.clear()
    done.clear()
    async with running(settings) as up, memory_client(up.nats) as client:
        assert (len(embedder.asked), done["words"], done["model"]) == (1, 1, 1)
        assert done["meaning"] >= 1
        status = await client.status()
    assert (status.turns, status.entries, status.vectors) == (1, 1, 1)
    assert "not_rehearsed" not in [record.message for record in caplog.records]
    files = [file for file in settings.data.rglob("*") if file.is_file()]
    assert [file for file in files if b"rehearsal-" in file.read_bytes()] == []


async def test_without_a_model_behind_the_proxy_nothing_is_made_ready_for_it(
    settings: Settings, embedder: FakeEmbedder, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORYBUS_OPENAI_BASE_URL", raising=False)
    async with running(settings):
        assert (len(embedder.asked), done["model"]) == (1, 0)


async def test_a_start_is_ready_though_what_it_tries_fails_or_hangs(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    async def hangs(*_: Any) -> None:
        raise TimeoutError

    embedder.fails = Unavailable("the model is away")
    monkeypatch.setattr(SqliteTextStore, "search", hangs)
    async with running(settings) as up, httpx.AsyncClient(trust_env=False) as http:
        ready = await eventually(lambda: http.get(f"{up.http}/readyz"), lambda answer: answer.status_code == 200)
    assert ready.json() == {"ok": True, "problems": []}
    assert "not_rehearsed" in [record.message for record in caplog.records]
