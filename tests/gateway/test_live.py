"""The pipeline as it is watched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from contracts import subjects
from services.gateway import live
from services.runtime import Running
from services.shared.client import MemoryClient
from tests.polling import eventually


async def events(http: httpx.AsyncClient) -> AsyncGenerator[dict[str, Any]]:
    async with http.stream("GET", "/live") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line:
                yield json.loads(line.removeprefix("data: "))


async def test_what_waits_and_what_is_dead_is_told_as_it_happens(http: httpx.AsyncClient, client: MemoryClient) -> None:
    async with aclosing(events(http)) as seen:
        first = await anext(seen)
        assert (first["ok"], first["dead_letters"], set(first["backlog"])) == (
            True,
            0,
            {one.service for one in subjects.CONSUMERS},
        )
        await client.bus.publish("memory.v1.turns.ann", b"no turn", message_id=None, stream=subjects.TURNS_STREAM.name)
        async with asyncio.timeout(10):
            while (found := await anext(seen))["dead_letters"] == 0:
                pass
        assert all(seconds >= 0 for seconds in found["lag_seconds"].values())
        assert found["entries"] == 0


async def test_a_stream_outlives_the_time_that_a_request_has(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.shared.http.REQUEST_SECONDS", 1.5)
    monkeypatch.setattr("services.shared.http.ANSWER_SECONDS", 1.5)
    monkeypatch.setattr(live, "EVERY", 0.1)
    async with aclosing(events(http)) as seen:
        for _ in range(30):
            await anext(seen)


async def test_who_goes_is_not_looked_for_and_too_many_are_told_so(
    instance: Running, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_WATCHERS", 2)
    monkeypatch.setattr(live, "EVERY", 0.1)
    async with aclosing(events(http)) as one, aclosing(events(http)) as two:
        await anext(one)
        await anext(two)
        assert (await http.get("/live")).status_code == 503

    async def again() -> int:
        async with http.stream("GET", "/live") as answer:
            return answer.status_code

    await eventually(again, lambda status: status == 200)
