"""Whatever a server of the bus says, or does to a connection: it stands again, and hears what it heard before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from memorybus_client import AsyncMemory, Memory
from nats.aio.msg import Msg

from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running, running
from services.shared import health
from services.shared.bus import nats_patches
from services.shared.bus.connection import connect
from services.shared.bus.nats_patches import PatchedNatsClient
from services.shared.client import MemoryClient, memory_client
from services.shared.health import deaf
from tests.flow.conftest import light
from tests.polling import eventually
from tests.servers.meddler import COMPLAINTS, GIBBERISH, Meddler, complaint, meddling
from tests.servers.nats_cluster import ServerProcess, nats_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFUSALS = (
    complaint("Authorization Violation"),
    complaint("Maximum Connections Exceeded"),
    complaint("Attempted To Connect To Route Port"),
    b'INFO {"server_id": "x", "version": "2.12.0", "proto": 1, "headers": true}\r\n' + complaint("Stale Connection"),
    b'INFO {"max_payload": 1048576}\r\n',
    b'INFO {"max_payload": 1048576}\r\nPING\r\n',
    b"INFO []\r\n",
    b"INFO {broken\r\n",
    b"INFO " + b"x" * 200_000 + b"\r\n",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\xff\xfe\r\n",
    b"",
)
"""What new connections get from a server that lets nobody in, or from what is none."""

HARSH = ("Maximum Payload Violation", "Slow Consumer", "User Authentication Expired", "Something new")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with nats_server(tmp_path_factory.mktemp("nats")) as started:
        yield started


@asynccontextmanager
async def meddled(server: ServerProcess) -> AsyncIterator[tuple[PatchedNatsClient, Meddler]]:
    """A connection, and who stands between it and the server."""
    async with meddling(server.port) as between:
        client = await connect(between.url, name="test")
        yield client, between
        await client.close()


@pytest_asyncio.fixture(loop_scope="module")
async def pair(server: ServerProcess) -> AsyncIterator[tuple[PatchedNatsClient, Meddler]]:
    async with meddled(server) as pair:
        yield pair


@pytest.fixture
def client(pair: tuple[PatchedNatsClient, Meddler]) -> PatchedNatsClient:
    return pair[0]


@pytest.fixture
def meddler(pair: tuple[PatchedNatsClient, Meddler]) -> Meddler:
    return pair[1]


async def hears(client: PatchedNatsClient, heard: list[bytes]) -> None:
    """Wait until what is published arrives, on a subscription that was made before."""

    async def arrives() -> bool:
        heard.clear()
        await client.publish("fact", b"again")
        await asyncio.sleep(0.05)
        return bool(heard)

    await eventually(arrives, bool, within=20)
    assert deaf(client) == []
    assert client.away_since is None


async def listening(client: PatchedNatsClient) -> list[bytes]:
    heard: list[bytes] = []

    async def note(msg: Msg) -> None:
        heard.append(msg.data)

    await client.subscribe("fact", cb=note)
    await hears(client, heard)
    return heard


async def each(saying: Sequence[bytes], trial: Callable[[bytes], Awaitable[None]]) -> None:
    """Try with each of these at the same time; who fails is told by what was said."""
    failed = await asyncio.gather(*map(trial, saying), return_exceptions=True)
    assert {said: error for said, error in zip(saying, failed, strict=True) if error} == {}


@pytest.mark.parametrize("and_cut", [True, False], ids=["cut", "left"])
async def test_whatever_a_server_says_the_connection_hears_again(server: ServerProcess, and_cut: bool) -> None:
    async def trial(said: bytes) -> None:
        async with meddled(server) as (client, meddler):
            heard = await listening(client)
            await meddler.say(said, and_cut=and_cut)
            await asyncio.sleep(0.02)
            await hears(client, heard)

    await each([*map(complaint, COMPLAINTS), *GIBBERISH], trial)


async def test_a_server_that_lets_nobody_in_for_a_while_is_asked_again(server: ServerProcess) -> None:
    async def trial(greeting: bytes) -> None:
        async with meddled(server) as (client, meddler):
            heard = await listening(client)
            meddler.greeting = greeting
            meddler.abort()
            await eventually(lambda: asyncio.sleep(0, meddler.refused), lambda times: times >= 2, within=30)
            assert client.away_since is not None
            assert deaf(client) == []
            meddler.greeting = None
            await hears(client, heard)

    await each(REFUSALS, trial)


async def test_a_connection_that_is_cut_a_hundred_times_stands_again(
    client: PatchedNatsClient, meddler: Meddler
) -> None:
    heard = await listening(client)
    for _ in range(100):
        meddler.abort()
        await asyncio.sleep(0.01)
    await hears(client, heard)


@pytest.mark.parametrize("way", ["nothing passes through it", "nobody reads it"])
async def test_a_connection_that_is_of_no_use_is_given_up(
    client: PatchedNatsClient, meddler: Meddler, way: str
) -> None:
    client.options["ping_interval"] = 0.1
    heard = await listening(client)
    meddler.abort()
    await hears(client, heard)
    if way == "nobody reads it":
        meddler.stall()
        await fill(client)
    else:
        meddler.lose()
    await hears(client, heard)


async def fill(client: PatchedNatsClient) -> None:
    """Write until nobody takes more."""
    with suppress(TimeoutError):
        for _ in range(500):
            async with asyncio.timeout(0.5):
                await client.publish("elsewhere", b"x" * 60_000)


async def test_a_connection_that_nobody_reads_can_be_closed(client: PatchedNatsClient, meddler: Meddler) -> None:
    meddler.stall()
    await fill(client)
    await asyncio.wait_for(client.close(), 10)
    assert client.is_closed


async def test_a_server_that_refuses_is_asked_less_often_each_time(
    client: PatchedNatsClient, meddler: Meddler, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited_after: list[int] = []

    def at_once(refusals: int, **_: float) -> float:
        waited_after.append(refusals)
        return 0.0

    monkeypatch.setattr(nats_patches, "backoff_seconds", at_once)
    meddler.greeting = complaint("Authorization Violation")
    meddler.abort()
    await eventually(lambda: asyncio.sleep(0, len(waited_after)), lambda times: times >= 4)
    assert waited_after[:4] == [1, 2, 3, 4]


async def test_a_connection_that_does_not_come_back_is_no_life_and_neither_is_one_that_was_closed(
    client: PatchedNatsClient, meddler: Meddler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_REFUSED_TOO_LONG", 0.5)
    meddler.greeting = complaint("User Authentication Expired")
    meddler.abort()
    (told,) = await eventually(lambda: asyncio.sleep(0, deaf(client)), bool)
    assert "lets this process in no more" in told
    monkeypatch.setattr(nats_patches, "_FORGOTTEN_AFTER", 0.0)
    assert deaf(client) == [], "a bus that is not there is no reason to start anew"
    monkeypatch.undo()
    meddler.greeting = None
    await eventually(lambda: asyncio.sleep(0, client.is_connected), bool)
    assert deaf(client) == []
    await client._close(client.CLOSED)
    assert deaf(client) == ["bus: the connection is closed for good"]


async def test_a_server_that_takes_less_from_now_on_is_believed(client: PatchedNatsClient, meddler: Meddler) -> None:
    await meddler.say(b'INFO {"max_payload": 1000}\r\n')
    await eventually(lambda: asyncio.sleep(0, client.max_payload), lambda most: most == 1000)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def before(server: ServerProcess) -> AsyncIterator[Meddler]:
    """The meddler that stands before a whole memorybus."""
    async with meddling(server.port) as between:
        yield between


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(before: Meddler, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    given = {"nats_url": before.url, "text_store": "sqlite", "sync": "interval"}
    async with running(light(tmp_path_factory.mktemp("up"), **given)) as started:
        yield started


async def is_well(up: Running, client: MemoryClient, user: str, word: str) -> None:
    """A small turn is taken and found, and the process ready, within ten seconds; more on a busy machine."""

    async def found() -> bool:
        await client.publish(Turn(user_id=user, role="user", text=f"My {word} is in the cellar.", turn_id=word))
        asked = RetrieveRequest(user_id=user, query=word, min_score=0.0)
        return word in (await client.retrieve(asked, patience=2.0)).context

    await eventually(found, bool, within=20)
    async with httpx.AsyncClient(trust_env=False) as http:
        await eventually(lambda: http.get(f"{up.http}/readyz"), lambda answer: answer.status_code == 200, within=20)
        assert (await http.get(f"{up.http}/healthz")).status_code == 200


@pytest.mark.parametrize("and_cut", [True, False], ids=["cut", "left"])
@pytest.mark.parametrize("words", HARSH)
async def test_a_whole_memorybus_goes_on_after_a_complaint(
    up: Running, before: Meddler, server: ServerProcess, words: str, and_cut: bool
) -> None:
    async with memory_client(server.url) as client:
        await before.say(complaint(words), and_cut=and_cut)
        await is_well(up, client, "ann", f"rake{HARSH.index(words)}{and_cut}".lower())


@pytest.mark.parametrize("and_cut", [True, False], ids=["cut", "left"])
async def test_a_client_goes_on_after_a_complaint(up: Running, server: ServerProcess, and_cut: bool) -> None:
    async def trial(said: bytes) -> None:
        async with meddling(server.port) as between, AsyncMemory(between.url, user="bob") as memory:
            await memory.remember("I keep bees.")
            await between.say(said, and_cut=and_cut)
            assert (await memory.recall("bees")).items
            await memory.publish("I keep hens, too.")

    await each([*map(complaint, HARSH), b"-ERR \r\n", b"INFO {broken\r\n"], trial)


async def test_a_blocking_client_goes_on_after_a_complaint(up: Running, server: ServerProcess) -> None:
    async with meddling(server.port) as between:

        def call() -> None:
            with Memory(between.url, user="bob") as memory:
                memory.remember("I keep bees.")
                asyncio.run_coroutine_threadsafe(between.say(complaint("Slow Consumer")), loop).result()
                assert memory.recall("bees").items

        loop = asyncio.get_running_loop()
        await asyncio.to_thread(call)


async def test_a_process_whose_connection_is_closed_for_good_ends_and_says_so(
    tmp_path: Path, server: ServerProcess
) -> None:
    settings = light(tmp_path / "data", nats_url=server.url, text_store="sqlite")
    with pytest.raises(Exception, match="closed for good: this process ends"):  # noqa: PT012
        async with running(settings, ["ingest"]) as started:
            ending = asyncio.create_task(started.host.until_deaf())
            await started.host.client._close(started.host.client.CLOSED)
            async with httpx.AsyncClient(trust_env=False) as http:
                assert (await http.get(f"{started.http}/healthz")).status_code == 503
                assert (await http.get(f"{started.http}/readyz")).status_code == 503
            await asyncio.wait_for(ending, 20)
