"""Messages around the size that a bus takes, on every way there: told of or taken, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx
import nats
import pytest
import pytest_asyncio
from memorybus_client import AsyncMemory, MemorybusError

from contracts import flow, subjects
from contracts.sizes import message_size
from contracts.v1.commands import CreateRequest, GetRequest
from contracts.v1.entries import EntryAccepted, EntryProposed, EntryRef
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import LoggedTurn, Turn
from services.runtime import Running, running
from services.shared.bus.connection import connect
from services.shared.bus.fairness import written
from services.shared.bus.nats_patches import PatchedNatsClient
from services.shared.client import MemoryClient, memory_client
from services.shared.errors import RequestFailed, TooLarge
from tests.flow.conftest import light
from tests.polling import eventually
from tests.servers.nats_cluster import ServerProcess, nats_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

MOST = 96 * 1024
AROUND = (-3000, -120, -60, -30, -1, 0, 1, 500, 60_000)
"""Bytes of a body more or less than the bus takes; its headers take some more."""

HEADERS: tuple[dict[str, str] | None, ...] = (
    None,
    {},
    {"Nats-Msg-Id": "ann/default/t1"},
    {"Name": "  spaces around  ", " Other ": "x"},
    {"Name": "ä€😀", "": "a name that is none", "Empty": ""},
    {"Lines": "one\r\ntwo\nthree"},
    {f"H{number}": "x" * number for number in range(60)},
)


class Ways(NamedTuple):
    """How programs reach a memorybus."""

    bus: MemoryClient
    http: httpx.AsyncClient
    client: AsyncMemory
    client_http: AsyncMemory


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with nats_server(tmp_path_factory.mktemp("nats"), f"max_payload: {MOST}") as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    given = {"nats_url": server.url, "text_store": "sqlite", "sync": "interval"}
    async with running(light(tmp_path_factory.mktemp("up"), **given)) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ways(up: Running, server: ServerProcess) -> AsyncIterator[Ways]:
    async with (
        memory_client(server.url) as bus,
        httpx.AsyncClient(base_url=up.http, trust_env=False, timeout=30) as http,
        AsyncMemory(server.url, user="me") as client,
        AsyncMemory(up.http) as client_http,
    ):
        yield Ways(bus, http, client, client_http)


def filled(fields: dict[str, Any], size: int) -> dict[str, Any]:
    """The fields with sources so long that their JSON has this many bytes."""
    marks: list[str] = []
    while (left := size - len(json.dumps(fields | {"source_ids": marks}, separators=(",", ":")))) > 0:
        marks.append("x" * max(0, min(left - 3, 4000)))
    return fields | {"source_ids": marks[:64]}


def a_turn(size: int, **more: Any) -> dict[str, Any]:
    said = {"role": "user", "text": "The lamp is in the attic.", "turn_id": f"t{size}"} | more
    return filled(said, size - len(',"user_id":"me"'))


def saved(thing: str, size: int) -> dict[str, Any]:
    return filled({"text": f"The {thing} {size} is in the attic."}, size)


async def told(asking: Awaitable[httpx.Response]) -> None:
    """Take what was taken; what was not must be said to be so for good."""
    answer = await asking
    if answer.status_code >= 300:
        problem = answer.json()
        assert answer.status_code in (413, 422), problem
        assert not problem["retryable"]
        assert "bytes" in problem["detail"]
        raise TooLarge(problem["detail"])


async def many_over_the_bus(ways: Ways, size: int) -> None:
    turns = [Turn(user_id="me", **a_turn(size, turn_id=f"{n}t{size}")) for n in range(3)]
    try:
        await ways.bus.publish_all(turns)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def asked_with_a_long_id(ways: Ways, size: int) -> None:
    """The reply repeats what names the request: the bus takes this, and not that."""
    asked = GetRequest(user_id="me", id="0" * 36, correlation_id="x" * (size - 120))
    try:
        await ways.bus.get(asked)
    except RequestFailed as error:
        if error.info.code != "not_found":
            raise


def straight_to_the_bus(ways: Ways, size: int) -> Awaitable[None]:
    body = json.dumps({"user_id": "me"} | a_turn(size), separators=(",", ":")).encode()
    return ways.bus.nats.publish(subjects.turns("me"), body)


Publish = Callable[[Ways, int], Awaitable[object]]
TURNS, ENTRIES = "/v1/memory/turns", "/v1/memory/entries"
NAMES = {"speaker": "ä" * 256, "space": "😀" * 100, "conversation_id": "c" * 256, "correlation_id": "x" * 256}
COUNTED = flow.USER_STATUS.request
EVERY_WAY: dict[str, Publish] = {
    "over http": lambda ways, size: told(ways.http.post(TURNS, json=a_turn(size))),
    "over http, incognito": lambda ways, size: told(ways.http.post(TURNS, json=a_turn(size, incognito=True))),
    "over http, with names": lambda ways, size: told(
        ways.http.post(TURNS, json=a_turn(size, tags=["y" * 4096] * 3, **NAMES))
    ),
    "saved over http": lambda ways, size: told(ways.http.post(ENTRIES, json=saved("lamp", size))),
    "over the bus": lambda ways, size: ways.bus.publish(Turn(user_id="me", **a_turn(size))),
    "over the bus, incognito": lambda ways, size: ways.bus.publish(Turn(user_id="me", **a_turn(size)), incognito=True),
    "many over the bus": many_over_the_bus,
    "saved over the bus": lambda ways, size: ways.bus.create(
        CreateRequest(user_id="me", **saved("rake", size)), patience=10
    ),
    "asked with a long id": asked_with_a_long_id,
    "counted with a long id": lambda ways, size: ways.bus.ask(
        flow.USER_STATUS, COUNTED(user_id="me", correlation_id="x" * (size - 60)), patience=5
    ),
    "through the client": lambda ways, size: ways.client.publish(**a_turn(size)),
    "through the client, incognito": lambda ways, size: ways.client.publish(**a_turn(size), incognito=True),
    "saved through the client": lambda ways, size: ways.client.remember(**saved("saw", size)),
    "through the client over http": lambda ways, size: ways.client_http.publish(**a_turn(size)),
    "straight to the bus": straight_to_the_bus,
    "no turn at all": lambda ways, size: ways.bus.nats.publish(subjects.turns("me"), b"{" + b"x" * (size - 1)),
    "no event at all": lambda ways, size: ways.bus.nats.publish(subjects.ENTRY_ACCEPTED, b"{" + b"\x01" * (size - 1)),
}


async def is_well(up: Running, ways: Ways, word: str) -> None:
    """A small turn is taken and found within ten seconds, more on a busy machine, and nobody lost a connection."""
    said = {"role": "user", "text": f"My {word} is in the cellar.", "turn_id": word, "conversation_id": word}
    answer = await ways.http.post("/v1/memory/turns", json=said)
    assert answer.status_code == 202, answer.text
    asked = RetrieveRequest(user_id="me", query=word, min_score=0.0)
    await eventually(lambda: ways.bus.retrieve(asked), lambda reply: word in reply.context, within=20)
    assert (await ways.http.get("/readyz")).status_code == 200
    assert up.host.client.stats["reconnects"] == 0


async def outcome(publishing: Awaitable[object]) -> RequestFailed | MemorybusError | None:
    """What is told to who publishes; None where it is taken."""
    try:
        await publishing
    except (RequestFailed, MemorybusError) as error:
        return error
    return None


@pytest.mark.parametrize("way", EVERY_WAY)
async def test_a_message_around_the_limit_is_taken_or_told_of_and_stops_nobody(
    up: Running, ways: Ways, way: str
) -> None:
    taken = []
    for more in AROUND:
        error = await outcome(EVERY_WAY[way](ways, MOST + more))
        if error is None:
            taken.append(more)
            continue
        assert not (error.retryable if isinstance(error, MemorybusError) else error.info.retryable), error
        assert "bytes" in str(error) or "larger than the bus takes" in str(error)
    assert AROUND[0] in taken
    assert AROUND[-1] not in taken
    assert taken == list(AROUND[: len(taken)]), "what is larger than what is not taken is not taken either"
    await is_well(up, ways, "".join(filter(str.isalpha, way)))


@pytest.mark.parametrize(
    ("field", "value"), [("tags", ["x" * 4097]), ("source_ids", ["x"] * 65), ("speaker", "x" * 257)]
)
@pytest.mark.parametrize("place", [TURNS, ENTRIES])
async def test_a_field_that_is_too_long_is_named(ways: Ways, place: str, field: str, value: object) -> None:
    body = {"text": "My lamp is in the attic.", field: value} | ({"role": "user"} if place == TURNS else {})
    answer = await ways.http.post(place, json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].startswith(field)


async def test_what_older_versions_logged_is_still_read() -> None:
    old = {"user_id": "a", "role": "user", "text": "x", "turn_id": "t", "session_id": "s", "tags": ["x" * 9000]}
    assert LoggedTurn.model_validate(old | {"created_at": "2026-02-01T10:00:00Z"}).tags == ("x" * 9000,)


@pytest.mark.parametrize("headers", HEADERS, ids=lambda one: repr(one)[:40])
async def test_a_size_is_judged_as_the_server_judges_it(server: ServerProcess, headers: dict[str, str] | None) -> None:
    fits = b"x" * (MOST - message_size(b"", headers))
    client: PatchedNatsClient = await connect(server.url, name="test")
    try:
        heard = await client.subscribe("size")
        await client.publish("size", fits, headers=headers)
        assert (await heard.next_msg(timeout=10)).data == fits
        with pytest.raises(TooLarge, match=f"{MOST + 1:,} bytes"):
            await client.publish("size", fits + b"x", headers=headers)
        with pytest.raises(TooLarge):
            await client.request("size", fits + b"x", headers=headers, timeout=10)
        await client.flush()
        assert client.stats["reconnects"] == 0
        assert not client._resp_map
    finally:
        await client.close()


async def test_the_server_takes_no_byte_more(server: ServerProcess) -> None:
    headers = {"Nats-Msg-Id": "ann/default/t1", "Name": " ä€😀 "}
    over = b"x" * (MOST - message_size(b"", headers) + 1)
    said: list[str] = []

    async def note(error: Exception) -> None:
        said.append(str(error))

    async def closed() -> None:
        said.append("closed")

    client = await nats.connect(server.url, error_cb=note, closed_cb=closed)
    await client.publish("size", over, headers=headers)
    await eventually(lambda: asyncio.sleep(0, said), lambda said: "closed" in said)
    assert client.is_closed


def an_event(entries: int, user: str) -> EntryProposed:
    refs = [EntryRef(user_id=user, id=f"{number:036}") for number in range(entries)]
    return EntryProposed.of(refs, at=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("user", ["ann", "😀" * 512, "\x01" * 512])
@pytest.mark.parametrize("entries", [0, 1, 256])
async def test_an_event_that_is_too_large_goes_as_several(user: str, entries: int) -> None:
    event = an_event(entries, user)
    parts = list(written(event, 20_000))
    assert all(len(body) <= 20_000 for _, body in parts)
    assert tuple(ref for part, _ in parts for ref in part.entries) == event.entries
    assert len({part.event_id for part, _ in parts}) == len(parts)
    assert [part.event_id for part, _ in parts] == [part.event_id for part, _ in written(event, 20_000)]
    assert all(EntryProposed.model_validate_json(body) == part for part, body in parts)


async def test_events_of_users_with_the_longest_names_reach_the_next_stage(ways: Ways) -> None:
    event = an_event(32, "\x01" * 512)
    await ways.bus.bus.publish_events([event, EntryAccepted.of(event.entries, at=event.occurred_at)])
