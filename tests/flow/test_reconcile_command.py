"""Stores that went apart on real engines: `memorybus reconcile` says what differs, and with --fix they agree again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from contracts.ports import VectorPoint
from contracts.v1.commands import ListRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.cli.reconcile import reconcile
from services.runtime import Running
from services.shared.client import MemoryClient, memory_client
from tests.flow.conftest import on_sqlite, typed
from tests.polling import answered, digested

SAID = ["I ordered the blue Spanish tiles.", "The train to Ghent leaves at nine.", "I live in Porto."]


pytestmark = on_sqlite


@pytest.fixture
async def client(instance: Running) -> AsyncIterator[MemoryClient]:
    async with memory_client(instance.nats) as connected:
        for number, text in enumerate(SAID):
            await connected.publish(Turn(user_id="ann", role="user", text=text, turn_id=f"t{number}"))
        await digested(connected, turns=len(SAID))
        yield connected


async def compared(instance: Running, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Compare as it is typed: exit code and what was printed."""
    result = await typed(reconcile, "--nats", instance.nats, "--json", *arguments)
    return result.exit_code, json.loads(result.stdout)


def differing(printed: dict[str, Any], part: str = "differences") -> dict[str, int]:
    return {kind: count for kind, count in printed[part].items() if count}


async def a_stray_vector(instance: Running, like: Entry) -> str:
    """Put a vector into the store whose entry nobody has; its id."""
    vectors = await instance.host.vector_store()
    assert vectors is not None
    stray = like.model_copy(update={"id": str(uuid4())})
    await vectors.upsert([VectorPoint(stray, np.eye(1, 384, dtype=np.float32)[0])])
    return stray.id


async def test_what_went_apart_is_found_put_right_and_found_no_more(instance: Running, client: MemoryClient) -> None:
    assert await compared(instance) == (0, {
        "looked_at": {"log": 3, "entries": 3, "vectors": 3},
        "differences": {"undecided": 0, "without_entry": 0, "without_vector": 0, "without_reason": 0, "near_copy": 0},
        "examples": [],
        "ok": True,
    })  # fmt: skip
    tiles = next(one for one in (await client.list(ListRequest(user_id="ann"))).items if "tiles" in one.text)
    vectors = await instance.host.vector_store()
    assert vectors is not None
    await vectors.remove([tiles.id])
    stray = await a_stray_vector(instance, tiles)

    code, printed = await compared(instance)
    assert (code, differing(printed)) == (1, {"without_vector": 1, "without_reason": 1})
    assert {one["id"] for one in printed["examples"]} == {tiles.id, stray}
    code, printed = await compared(instance, "--fix")
    assert (code, differing(printed), differing(printed, "left")) == (0, {"without_vector": 1, "without_reason": 1}, {})

    assert (await compared(instance))[0] == 0
    found = await answered(client, RetrieveRequest(user_id="ann", query="renovating the washroom", min_score=0.0))
    assert found.items[0].signals.semantic
    assert (await client.status()).vectors == len(SAID)
