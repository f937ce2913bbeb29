"""One text that the embedding server does not take, through the whole program: the others' turns have their vectors."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import until_digested, up_process
from services.shared.client import MemoryClient, memory_client
from tests.apps.test_embed_one_text import CURSED, serving
from tests.servers.answering import Reply

WITHIN = 45.0  # some 15 s where nothing else runs


async def test_other_users_have_vectors_soon_and_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server hangs over the text, and after the restart says to come back in an hour."""
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
