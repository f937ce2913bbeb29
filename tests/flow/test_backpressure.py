"""What is slow delays only what needs it, and what it holds up is bounded and named."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from nats.js.errors import APIError

from contracts import subjects
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import until_digested, up_process
from services.runtime import Running, running
from services.shared.client import MemoryClient, memory_client
from tests.apps.test_embed_one_text import CURSED, serving
from tests.flow.conftest import light
from tests.polling import eventually
from tests.servers.answering import Reply
from tests.servers.embeddings import EmbeddingServer, embedding_server

COUNT = 300


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
async def instance(tmp_path: Path, embeddings: EmbeddingServer) -> AsyncIterator[Running]:
    asked = {"embedder": "http", "embedder_url": embeddings.url, "embedder_model": "small"}
    async with running(light(tmp_path / "data", **asked)) as started:
        yield started


def a_turn(number: int) -> Turn:
    return Turn(user_id="ann", role="user", text=f"parcel number {number} is on its way", turn_id=f"t{number}")


async def found(client: MemoryClient, number: int) -> set[str]:
    request = RetrieveRequest(user_id="ann", query=f"parcel number {number}", limit=3)
    return {item.text for item in (await client.retrieve(request, patience=10.0)).items}


async def test_a_slow_embedder_delays_only_vectors(client: MemoryClient, embeddings: EmbeddingServer) -> None:
    await client.publish(a_turn(0))
    await eventually(client.status, lambda status: status.vectors == 1)
    embeddings.pause = 1.0
    await client.publish_all(a_turn(number) for number in range(1, COUNT))
    status = await eventually(client.status, lambda seen: seen.entries == COUNT)
    assert status.vectors < COUNT  # words are there, meaning is not yet
    assert a_turn(COUNT - 1).text in await found(client, COUNT - 1)
    embeddings.pause = 0.0
    await eventually(client.status, lambda seen: seen.vectors == COUNT and seen.pending == 0)


async def test_a_stage_that_waits_is_named_and_goes_on_by_itself(
    client: MemoryClient, embeddings: EmbeddingServer, instance: Running
) -> None:
    await client.publish(a_turn(0))
    await eventually(client.status, lambda status: status.vectors == 1)
    embeddings.key = "changed"

    async def problems() -> list[str]:
        async with httpx.AsyncClient(verify=False) as http:
            named: list[str] = (await http.get(f"{instance.http}/readyz")).json()["problems"]
            return named

    await client.publish(a_turn(1))
    (problem,) = await eventually(problems, bool)
    assert problem.startswith("embed: waits for")
    assert a_turn(1).text in await found(client, 1)
    embeddings.key = None
    await eventually(client.status, lambda status: status.vectors == 2 and status.pending == 0)
    assert await eventually(problems, lambda named: not named) == []


async def test_a_full_bus_refuses_and_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    settings = light(tmp_path / "data", turns_max_bytes=200_000, sync="interval")
    async with running(settings, only=("gateway",)) as bus_only, memory_client(bus_only.nats) as client:
        kept = await until_refused(client)
        assert 0 < kept < COUNT
    async with running(settings) as everything, memory_client(everything.nats) as client:
        await eventually(client.status, lambda status: status.turns == status.entries == kept)
        await client.publish(a_turn(COUNT))


async def until_refused(client: MemoryClient) -> int:
    """Publish without patience until the bus takes no more; how many it has acknowledged."""
    for number in range(COUNT):
        turn = a_turn(number).model_copy(update={"text": f"{number} {'x' * 5000}"})
        try:
            await client.bus.js.publish(subjects.turns("ann"), turn.model_dump_json().encode())
        except APIError as error:
            if error.description != "maximum bytes exceeded":
                raise
            return number
    raise AssertionError("the bus took everything")


WITHIN = 45.0  # some 15 s where nothing else runs


async def test_a_text_that_the_embedder_does_not_take_holds_up_no_others_nor_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the whole program: the server hangs over the text, and later says to come back in an hour."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    released = threading.Event()

    def trouble(texts: list[str]) -> Reply:
        released.wait(120)
        return Reply(429, {}, {"Retry-After": "3600"})

    with serving(trouble) as server:
        settings = {"MEMORYBUS_EMBEDDER_URL": server.url, "MEMORYBUS_EMBEDDER_MODEL": "m"}
        options = ("--ner", "none", "--embedder", "http")
        async with up_process(tmp_path, options, environment=settings) as up, memory_client(up.nats) as client:
            await _say(client, "ann", f"My {CURSED} hurts.")
            await _say(client, "ben", "I have a boat.")
            await _until_found_by_meaning(client, "ben", "boat?")
        released.set()
        async with up_process(tmp_path, options, environment=settings) as up, memory_client(up.nats) as client:
            await _say(client, "zoe", "I have a cat.")
            await _until_found_by_meaning(client, "zoe", "cat?")
            await until_digested(client, 3)
            assert (await client.status("ann")).unembeddable == 1
            asked = await client.retrieve(RetrieveRequest(user_id="ann", query=f"{CURSED}?"))
            assert asked.degraded == ("semantic",)
            assert [item.embedding_state for item in asked.items] == ["error"]
            assert not (await client.retrieve(RetrieveRequest(user_id="ben", query="boat?"))).degraded


async def _say(client: MemoryClient, user: str, text: str) -> None:
    await client.publish(Turn(user_id=user, role="user", text=text, conversation_id="c"))


async def _until_found_by_meaning(client: MemoryClient, user: str, query: str) -> None:
    await asyncio.wait_for(until_digested(client, 1, user_id=user), WITHIN)
    (item,) = (await client.retrieve(RetrieveRequest(user_id=user, query=query))).items
    assert item.embedding_state == "ready"
