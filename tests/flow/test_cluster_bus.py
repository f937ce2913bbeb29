"""A bus of three servers, one of which dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.commands import ListRequest
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared.client import MemoryClient, memory_client
from tests.flow.conftest import light
from tests.polling import digested, eventually
from tests.servers.nats_cluster import nats_cluster

TURNS = 300


def turns() -> list[Turn]:
    texts = {n: f"Number {n} is what I remember." for n in range(TURNS)}
    return [Turn(user_id=f"u{n % 7}", role="user", text=text, turn_id=f"t{n}") for n, text in texts.items()]


@asynccontextmanager
async def three_clients(url: str) -> AsyncIterator[list[MemoryClient]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(memory_client(url)) for _ in range(3)]


async def test_nothing_acknowledged_is_lost_when_a_server_of_three_is_killed(tmp_path: Path) -> None:
    async with nats_cluster(tmp_path / "bus") as cluster:
        settings = light(tmp_path / "data", nats_url=cluster.url, nats_replicas=3, turns_partitions=3)
        async with running(settings), three_clients(cluster.url) as clients:
            acknowledged: set[str] = set()

            async def publish(client: MemoryClient, mine: list[Turn]) -> None:
                for turn in mine:
                    await client.publish(turn)
                    acknowledged.add(str(turn.turn_id))

            async def count() -> int:
                return len(acknowledged)

            async with asyncio.TaskGroup() as publishers:
                for number, client in enumerate(clients):
                    publishers.create_task(publish(client, turns()[number::3]))
                await eventually(count, lambda so_far: so_far >= TURNS // 5)
                killed = await _leader(clients[0])
                await cluster.kill(killed)
            assert len(acknowledged) == TURNS

            await digested(clients[0], turns=TURNS)
            await eventually(lambda: _waiting(clients[0]), lambda waiting: waiting == 0)
            status, dead = await clients[0].status(), (await clients[0].backlog()).dead_letters
            logged = [turn_id for n in range(7) for turn_id in await _turn_ids(clients[0], f"u{n}")]
            await cluster.restart(killed)
            await eventually(lambda: _current_copies(clients[0]), lambda copies: copies == 3)
    assert (status.turns, status.entries + status.merged, dead) == (TURNS, TURNS, 0)
    assert set(logged) == acknowledged


async def _leader(client: MemoryClient) -> int:
    info = await client.bus.js.stream_info(subjects.TURNS_STREAM.name)
    assert info.cluster is not None
    assert info.cluster.leader is not None
    return int(info.cluster.leader.removeprefix("n"))


async def _waiting(client: MemoryClient) -> int | None:
    """The backlog; None while the servers that are left choose who speaks for a stream."""
    with suppress(Unavailable):
        return (await client.backlog()).total
    return None


async def _current_copies(client: MemoryClient) -> int:
    info = await client.bus.js.stream_info(subjects.TURNS_STREAM.name)
    assert info.cluster is not None
    return 1 + sum(bool(peer.current) for peer in info.cluster.replicas or [])


async def _turn_ids(client: MemoryClient, user: str) -> list[str]:
    return [str(entry.turn_id) for entry in (await client.list(ListRequest(user_id=user, limit=500))).items]
