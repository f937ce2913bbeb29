"""Provisioning on a real server: shown before it is done, done once, repeated without effect, left to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig

from contracts import subjects
from services.shared.bus.connection import connect
from services.shared.bus.provisioning import ProvisioningError, plan, provision, restore_counts
from services.shared.bus.streams import JetStream
from services.shared.settings import Settings
from tests.servers.nats_cluster import nats_server

_READERS = {f"{one.stream}/{one.name}" for one in subjects.declared_consumers(1)}
DECLARED = {stream.name for stream in subjects.STREAMS} | _READERS


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStreamContext]:
    async with nats_server(tmp_path / "bus") as server:
        client = await connect(server.url, name="test")
        yield client.jetstream()
        await client.close()


async def actions(js: JetStreamContext, settings: Settings) -> dict[str, str]:
    return {change.name: change.action for change in await plan(js, settings)}


async def test_a_plan_changes_nothing_and_what_it_shows_is_done_once(js: JetStreamContext) -> None:
    assert await actions(js, Settings()) == dict.fromkeys(DECLARED, "create")
    assert await js.streams_info() == []
    first, again = await provision(js, Settings()), await provision(js, Settings())
    assert ({change.action for change in first}, {change.action for change in again}) == ({"create"}, {"keep"})


async def test_what_differs_is_shown_from_and_to_and_made_as_declared(js: JetStreamContext) -> None:
    await provision(js, Settings(turns_max_bytes=10_000_000))
    bus = JetStream(js)
    slow = {**(await bus.consumer("MEMORY_EVENTS", "dedupe") or {}), "ack_wait": 99_000_000_000}
    await bus.make_consumer("MEMORY_EVENTS", slow)
    wanted = Settings(turns_max_bytes=20_000_000)

    shown = {change.name: str(change) for change in await plan(js, wanted) if change.action == "update"}
    await provision(js, wanted)

    assert shown["MEMORY_TURNS"] == "update stream MEMORY_TURNS (max_bytes 10000000 → 20000000)"
    assert shown["MEMORY_EVENTS/dedupe"] == (
        "update consumer MEMORY_EVENTS/dedupe (ack_wait 99000000000 → 10000000000)"
    )
    assert set((await actions(js, wanted)).values()) == {"keep"}


async def test_a_limit_that_should_not_be_there_is_found_and_what_an_operator_added_stays(js: JetStreamContext) -> None:
    await provision(js, Settings())
    bus = JetStream(js)
    held = await bus.stream("MEMORY_TURNS") or {}
    await bus.change_stream({**held, "max_age": 60_000_000_000, "duplicate_window": 60_000_000_000, "description": "x"})
    (change,) = [change for change in await plan(js, Settings()) if change.action != "keep"]
    await provision(js, Settings())
    after = await bus.stream("MEMORY_TURNS") or {}
    assert {field.name for field in change.fields} == {"max_age", "duplicate_window"}
    assert (after["max_age"], after["description"]) == (0, "x")


async def test_what_cannot_be_changed_is_refused_with_the_reason(js: JetStreamContext) -> None:
    await js.add_stream(StreamConfig(name="MEMORY_TURNS", subjects=["memory.v1.turns.*"], storage=StorageType.MEMORY))
    with pytest.raises(ProvisioningError, match="storage"):
        await provision(js, Settings())


async def test_more_copies_than_servers_are_refused_in_words(js: JetStreamContext) -> None:
    with pytest.raises(ProvisioningError, match=r"refused what is declared: .*replicas"):
        await provision(js, Settings(nats_replicas=3))


async def test_a_bus_that_does_not_keep_streams_is_named_as_the_cause(tmp_path: Path) -> None:
    async with nats_server(tmp_path / "bus", "jetstream: disabled\n") as server:
        client = await connect(server.url, name="test")
        with pytest.raises(ProvisioningError, match="is JetStream on"):
            await provision(client.jetstream(), Settings(), patience=0.1)
        await client.close()


async def test_left_to_others_it_waits_until_they_have_done_it(js: JetStreamContext) -> None:
    waiting = asyncio.create_task(provision(js, Settings(provision=False)))
    await asyncio.sleep(0)
    await provision(js, Settings())
    assert await waiting == []


async def test_left_to_others_counts_that_went_with_the_servers_are_not_waited_for_and_made_anew(
    js: JetStreamContext,
) -> None:
    await provision(js, Settings())
    await js.delete_stream("MEMORY_LIMITS")
    assert await provision(js, Settings(provision=False), patience=0.1) == []
    assert [await restore_counts(js, Settings()) for _ in range(2)] == [True, False]
    assert set((await actions(js, Settings())).values()) == {"keep"}


async def test_left_to_others_it_says_what_it_waits_for_and_the_command_that_helps(
    js: JetStreamContext, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[str] = []
    absent = Settings(provision=False, nats_url="nats://ann:s3cret@bus-1:4222,bus-2:4222")
    with pytest.raises(ProvisioningError) as caught:
        await provision(js, absent, patience=0.1, waiting=waits.append)
    (logged,) = [record for record in caplog.records if record.message == "waiting_for_provisioning"]
    for said in (str(caught.value), *waits, logged.__dict__["missing"]):
        assert "create stream MEMORY_TURNS; create stream MEMORY_EVENTS" in said
        assert "s3cret" not in said
    assert len(waits) == 1
    assert "memorybus provision --nats nats://bus-1:4222,bus-2:4222" in str(caught.value)
    assert await js.streams_info() == []


async def test_left_to_others_what_differs_is_not_waited_for(js: JetStreamContext) -> None:
    await provision(js, Settings())
    with pytest.raises(ProvisioningError, match=r"update stream MEMORY_TURNS .*subject_transform"):
        await asyncio.wait_for(provision(js, Settings(provision=False, turns_partitions=4), patience=0.1), 2)
