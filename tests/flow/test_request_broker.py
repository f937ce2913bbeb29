"""What surrounds the handler of a request: its room, its deadline, its stop, its headers."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from contracts import flow, subjects
from contracts.v1.commands import StatusReply, StatusRequest
from services.shared.bus import requests
from services.shared.bus.connection import connect
from services.shared.bus.requests import Answered, RequestBroker, RequestHandler
from services.shared.client import MemoryClient
from services.shared.errors import Rejected, RequestFailed
from tests.flow.conftest import bus_in

Handle = Callable[[StatusRequest], Awaitable[StatusReply]]
COUNTED = StatusReply(turns=1, entries=1, inactive=0, merged=0, refused=0, vectors=1, pending=0)


@dataclass
class Bus:
    """A service that answers one kind of request, and somebody who asks."""

    service: Client
    caller: Client

    async def answering(
        self,
        handle: Handle,
        *,
        at_once: int = 1000,
        heard: Callable[[Answered], None] = lambda _: None,
        goes_first: bool = False,
    ) -> RequestBroker:
        broker = RequestBroker(self.service, heard)
        broker.answer("curate", RequestHandler(flow.STATUS, handle, at_once, goes_first=goes_first))
        await broker.start()
        return broker

    async def ask(self, headers: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
        sent = json.dumps(body).encode()
        answer = await self.caller.request(subjects.STATUS, sent, timeout=10, headers=headers)
        reply: dict[str, Any] = json.loads(answer.data)
        return reply


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(bus_in(tmp_path / "nats"))
        clients = [await connect(server.url, name=name) for name in ("service", "caller")]
        for client in clients:
            stack.push_async_callback(client.close)
        yield Bus(*clients)


def code(reply: dict[str, Any]) -> str:
    return "ok" if reply["ok"] else reply["error"]["code"]


@pytest.mark.parametrize("entries", [3, -1])
async def test_who_asks_in_the_same_process_hears_the_same_and_is_accounted_for_alike(bus: Bus, entries: int) -> None:
    async def handle(_: StatusRequest) -> StatusReply:
        if entries < 0:
            raise Rejected("refused", "not today")
        return COUNTED.model_copy(update={"entries": entries})

    heard: list[Answered] = []
    broker = await bus.answering(handle, heard=heard.append)
    across = MemoryClient(bus.caller)
    beside = MemoryClient(bus.caller, lambda answer: broker.handled[answer.name].answer_here)
    said = [await outcome(client.ask(flow.STATUS, StatusRequest(), patience=2.0)) for client in (across, beside)]
    assert said[0] == said[1]
    assert [(one.outcome, one.reply, one.credential) for one in heard[:1]] * 2 == [
        (one.outcome, one.reply, one.credential) for one in heard
    ]
    await broker.stop()
    assert broker.handled == {}


async def outcome(asked: Awaitable[bytes]) -> bytes | str:
    """The reply, or the error in words."""
    try:
        return await asked
    except RequestFailed as error:
        return str(error)


async def test_a_request_within_a_request_has_a_deadline_of_its_own(bus: Bus) -> None:
    left: list[float] = []

    async def handle(_: StatusRequest) -> StatusReply:
        if not left:
            left.append(0.0)
            await broker.handled[flow.STATUS.name].answer_here(StatusRequest(), 60.0, None)
        left.append(requests.time_left())
        return COUNTED

    broker = await bus.answering(handle)
    assert code(await bus.ask()) == "ok"
    assert left[1] > 50 > left[2]


async def test_who_finds_no_room_is_told_at_once(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_MOST_WAITING", 3)
    go_on = asyncio.Event()

    async def handle(_: StatusRequest) -> StatusReply:
        await go_on.wait()
        return COUNTED

    await bus.answering(handle, at_once=1)
    asked = [asyncio.create_task(bus.ask()) for _ in range(10)]
    for answered in itertools.islice(asyncio.as_completed(asked), 7):
        await answered
    go_on.set()
    replies = await asyncio.gather(*asked)
    assert sorted(map(code, replies)) == ["ok"] * 3 + ["overloaded"] * 7
    assert code(await bus.ask()) == "ok"


async def test_what_was_heard_before_a_stop_is_answered_and_nothing_later(bus: Bus) -> None:
    heard = 0

    async def handle(_: StatusRequest) -> StatusReply:
        nonlocal heard
        heard += 1
        await asyncio.sleep(0.05)
        return COUNTED

    broker = await bus.answering(handle, at_once=20)
    asked = [asyncio.create_task(bus.ask()) for _ in range(100)]
    await asyncio.sleep(0)
    await bus.caller.flush()
    await broker.stop()
    assert [code(reply) for reply in await asyncio.gather(*asked)] == ["ok"] * 100
    with pytest.raises(Exception, match="no responders"):
        await bus.ask()
    assert heard == 100


async def test_one_that_does_not_end_is_answered_at_the_deadline(bus: Bus) -> None:
    ended = asyncio.Event()

    async def handle(_: StatusRequest) -> StatusReply:
        for _attempt in range(3):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue
        ended.set()
        return COUNTED

    await bus.answering(handle)
    began = time.time()
    reply = await bus.ask({subjects.DEADLINE_HEADER: str(int((began + 0.3) * 1000))}, correlation_id="c1")
    assert code(reply) == "deadline_exceeded"
    assert time.time() - began < 1.5
    await asyncio.wait_for(ended.wait(), 10)


async def test_batches_wait_for_a_request_that_goes_first_and_not_for_ever(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_GIVES_WAY", 0.3)
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(_: StatusRequest) -> StatusReply:
        begun.set()
        await may_end.wait()
        return COUNTED

    broker = await bus.answering(slow, goes_first=True)
    await asyncio.wait_for(broker.give_way(), 0.1)
    asking = asyncio.create_task(bus.ask())
    await begun.wait()
    started = time.monotonic()
    await broker.give_way()
    assert time.monotonic() - started >= 0.29, "as long as it may"

    waiting = asyncio.create_task(broker.give_way())
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(asking, waiting)
    await asyncio.wait_for(broker.give_way(), 0.1)
    await broker.stop()


async def test_headers_of_a_request_do_not_come_back(bus: Bus) -> None:
    """Else a caller could make a reply larger than the bus takes, which ends the connection of the service."""

    async def handle(_: StatusRequest) -> StatusReply:
        return COUNTED

    await bus.answering(handle)
    long = {"correlation_id": "x" * (bus.caller.max_payload - 1000), "content-type": "text/plain", "reply_to": "x"}
    answer = await bus.caller.request(subjects.STATUS, b"{}", timeout=10, headers=long)
    assert json.loads(answer.data)["ok"]
    assert answer.headers == {"content-type": "application/json"}
    assert bus.service.stats["reconnects"] == 0
