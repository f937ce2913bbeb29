"""Turns split into parts: one reader at a time for each, another when it is gone, and nothing left behind."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.msg import Msg

from contracts import subjects
from contracts.subjects import Consumer
from contracts.v1.entries import EntryEvent, EntryProposed, EntryRef
from contracts.v1.turns import Turn
from services.ingest.turns_stream import PartitionBalancer, fair_share
from services.shared.bus.connection import connect
from services.shared.bus.declarations import declared_consumer
from services.shared.bus.fairness import load_of_event
from services.shared.bus.provisioning import ProvisioningError, provision
from services.shared.bus.pull import PullConsumer
from services.shared.bus.streams import Bus, JetStream
from services.shared.bus.worker import Stage, Worker, read_json
from services.shared.settings import Settings
from services.shared.tasks import end
from tests.polling import eventually
from tests.servers.nats_cluster import ServerProcess, nats_server

PARTS = 3
SETTINGS = Settings(turns_partitions=PARTS)
TURNS = subjects.TURNS_STREAM.name
COUNTER = itertools.count()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    async with nats_server(tmp_path / "bus") as started:
        yield started


@asynccontextmanager
async def connection(server: ServerProcess) -> AsyncIterator[Bus]:
    client = await connect(server.url, name="test")
    try:
        yield Bus(client)
    finally:
        await client.close()


@pytest.fixture
async def bus(server: ServerProcess) -> AsyncIterator[Bus]:
    async with connection(server) as connected:
        await provision(connected.js, SETTINGS)
        yield connected


@pytest.fixture
async def second(server: ServerProcess) -> AsyncIterator[Bus]:
    async with connection(server) as connected:
        yield connected


def turn(user: str, number: int) -> Turn:
    return Turn(user_id=user, role="user", text=f"Number {number}.", turn_id=f"{user}-{number}")


async def a_part_with_turns(bus: Bus) -> Consumer:
    """Publish a turn of one user; the consumer of the part it fell into."""
    await bus.publish_turn(turn("ann", 0))
    for consumer in subjects.ingest_consumers(PARTS):
        if await bus.backlog(consumer):
            return consumer
    raise AssertionError("the turn is in no part")


async def read(reader: PullConsumer, count: int) -> list[Msg]:
    """Take so many messages and acknowledge them."""
    taken: list[Msg] = []
    while len(taken) < count:
        for msg in await reader.next_batch():
            taken.append(msg)
            await msg.ack()
    return taken


async def test_all_turns_of_a_user_are_in_one_part_and_known_by_their_public_subject(bus: Bus) -> None:
    users = [f"user {n}" for n in range(12)]
    for number in range(3):
        for user in users:
            await bus.publish_turn(turn(user, number))
    kept = [await bus.js.get_msg(TURNS, seq) for seq in range(1, 37)]
    parts = {user: {str(m.subject) for m in kept if json.loads(m.data or b"")["user_id"] == user} for user in users}
    assert all(len(subjects_of_user) == 1 for subjects_of_user in parts.values())
    assert len({next(iter(one)).split(".")[3] for one in parts.values()}) == PARTS
    assert {user: subjects.published_as(next(iter(one))) for user, one in parts.items()} == {
        user: subjects.turns(user) for user in users
    }


async def test_what_one_part_has_done_is_dropped_and_the_others_keep_theirs(bus: Bus) -> None:
    for number in range(30):
        await bus.publish_turn(turn(f"u{number}", 0))
    first, *others = subjects.ingest_consumers(PARTS)
    waiting = await bus.backlog(first)
    assert 0 < waiting < 30
    reader = PullConsumer(bus.client, first, max_batch=100)
    await reader.start()
    await read(reader, waiting)
    await eventually(lambda: bus.purge_acked(first), bool)

    assert (await bus.js.stream_info(TURNS)).state.messages == 30 - waiting
    assert sum([await bus.backlog(other) for other in others]) == 30 - waiting


async def test_one_reader_has_a_part_to_itself_until_it_gives_way(bus: Bus, second: Bus) -> None:
    part = await a_part_with_turns(bus)
    owner, standby = PullConsumer(bus.client, part, max_batch=10), PullConsumer(second.client, part, max_batch=10)
    await owner.start()
    await read(owner, 1)
    await standby.start()
    for number in range(1, 30):
        await bus.publish_turn(turn("ann", number))
    await read(owner, 29)
    assert (owner.is_pinned, standby.is_pinned, standby.held) == (True, False, [])

    await owner.unpin()
    await owner.stop()
    await bus.publish_turn(turn("ann", 30))
    (taken_over,) = await read(standby, 1)
    assert json.loads(taken_over.data)["turn_id"] == "ann-30"
    assert standby.is_pinned


async def test_another_reader_takes_over_from_one_that_is_gone(bus: Bus, second: Bus) -> None:
    part = await a_part_with_turns(bus)
    quick = {**declared_consumer(part), "priority_timeout": 1_000_000_000, "ack_wait": 500_000_000}
    await JetStream(bus.js).make_consumer(TURNS, quick)
    gone, standby = PullConsumer(second.client, part, max_batch=10), PullConsumer(bus.client, part, max_batch=10)
    await gone.start()
    unfinished = await gone.next_batch()
    await second.client.close()
    await standby.start()

    (taken_over,) = await read(standby, 1)
    assert taken_over.data == unfinished[0].data
    assert taken_over.metadata.num_delivered == 2


async def test_a_reader_that_lost_its_pin_asks_for_a_new_one(bus: Bus) -> None:
    part = await a_part_with_turns(bus)
    reader = PullConsumer(bus.client, part, max_batch=10)
    await reader.start()
    await read(reader, 1)
    body = json.dumps({"group": part.group}).encode()
    await bus.client.request(f"$JS.API.CONSUMER.UNPIN.{TURNS}.{part.name}", body)  # as an operator would
    for number in range(1, 4):
        await bus.publish_turn(turn("ann", number))
    assert len(await read(reader, 3)) == 3
    assert reader.is_pinned


async def test_a_reader_waits_for_a_consumer_that_is_gone_without_asking_all_the_time(bus: Bus) -> None:
    part = subjects.ingest_consumers(PARTS)[0]
    await bus.js.delete_consumer(TURNS, part.name)
    reader = PullConsumer(bus.client, part, max_batch=10)
    sent = bus.client.stats["out_msgs"]
    await reader.start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await reader.next_batch()
    assert 1 < bus.client.stats["out_msgs"] - sent < 10


async def test_replicas_end_up_with_their_fair_share(bus: Bus, second: Bus) -> None:
    stages = [Stage(one, Turn, read_json(Turn), _nothing) for one in subjects.ingest_consumers(PARTS)]
    one = [Worker(stage, bus) for stage in stages]
    other = [Worker(stage, second) for stage in stages]
    balancers = [PartitionBalancer(bus, lambda: one, every=0.2), PartitionBalancer(second, lambda: other, every=0.2)]
    tasks = [asyncio.create_task(each.run()) for each in balancers]
    for worker in (*one, *other):
        await worker.start()

    async def pinned() -> tuple[int, int]:
        for number in range(10):
            await bus.publish_turn(turn(f"u{number}", next(COUNTER)))
        return sum(worker.is_pinned for worker in one), sum(worker.is_pinned for worker in other)

    await eventually(pinned, lambda shares: sorted(shares) == [1, 2])
    await end(tasks)
    for worker in (*one, *other):
        await worker.stop()


async def _nothing(turns: Sequence[Turn]) -> list[EntryEvent]:
    return []


@given(st.integers(1, 256), st.integers(0, 50))
def test_fair_shares_cover_all_parts_with_at_most_one_more_than_needed(parts: int, readers: int) -> None:
    share = fair_share(parts, readers)
    assert share * max(1, readers) >= parts
    assert (share - 1) * max(1, readers) < parts


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 2), (3, 1)])
async def test_turns_are_split_anew_when_none_is_there_and_refused_while_some_are(
    server: ServerProcess, before: int, after: int
) -> None:
    async with connection(server) as bus:
        await provision(bus.js, Settings(turns_partitions=before))
        await bus.publish_turn(turn("ann", 0))
        with pytest.raises(ProvisioningError, match=rf"split into {before}, {after} are wanted, and 1 turns are still"):
            await provision(bus.js, Settings(turns_partitions=after))
        await bus.publish_turn(turn("ann", 1))  # refused, nothing has changed: publishing goes on
        assert (await bus.backlogs())["ingest"] == 2

        await bus.js.purge_stream(TURNS)
        await provision(bus.js, Settings(turns_partitions=after))
        await bus.publish_turn(turn("ann", 2))
        names = {info.name for info in await bus.js.consumers_info(TURNS)}
        assert names == {one.name for one in subjects.ingest_consumers(after)}
        assert (await bus.partitions(), (await bus.backlogs())["ingest"]) == (after, 1)


async def test_a_turn_that_slips_in_while_the_parts_change_is_kept_where_it_is_read(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([0, 5])

    async def messages(self: JetStream, name: str) -> int:
        return next(seen)

    monkeypatch.setattr(JetStream, "messages", messages)
    with pytest.raises(ProvisioningError, match="5 turns are still there"):
        await provision(bus.js, Settings(turns_partitions=2))
    await bus.publish_turn(turn("ann", 0))
    assert (await bus.partitions(), (await bus.backlogs())["ingest"]) == (PARTS, 1)


async def test_who_comes_behind_a_flood_of_events_is_in_the_next_batch(bus: Bus) -> None:
    for number in range(40):
        flood = [EntryRef(user_id="flood", id=f"{number}-{entry}") for entry in range(64)]
        await bus.publish_events([EntryProposed.of(flood, at=datetime.now(UTC))])
    await bus.publish_events([EntryProposed.of([EntryRef(user_id="ann", id="ann's")], at=datetime.now(UTC))])

    reader = PullConsumer(bus.client, subjects.DEDUPE, max_batch=64, window=200, load_of=load_of_event)
    await reader.start()
    await eventually(lambda: asyncio.sleep(0, len(reader.held)), lambda held: held == 81)
    first = [load_of_event(msg).lane for msg in await reader.next_batch()]
    assert first == ["flood", "ann"]
