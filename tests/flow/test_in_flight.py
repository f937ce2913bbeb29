"""What a user said and the bus still holds, on a real server: found, counted, and removed to the last byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import subjects
from contracts.ports import NO_TRACES, InFlightCounts, Traces, TurnKey, Unavailable
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import EntryProposed, EntryRef
from contracts.v1.turns import Turn, derived_turn_id, entry_id
from services.shared.bus.connection import connect
from services.shared.bus.in_flight import NatsInFlight, has_trace, turn_in
from services.shared.bus.provisioning import provision
from services.shared.bus.streams import Bus
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import fingerprint
from services.shared.settings import Settings
from tests.flow.raw import a_marker, holding, until_gone
from tests.letters import a_letter
from tests.polling import eventually
from tests.servers.nats_cluster import nats_server

TURNS, DEAD = subjects.TURNS_STREAM.name, subjects.DEAD_STREAM.name
ANN, BOB = "ann b.", "bob"  # one that no subject token can hold as it is, one that is a token


@dataclass(frozen=True, slots=True)
class Held:
    """A provisioned bus that nobody reads, and its folder."""

    bus: Bus
    in_flight: NatsInFlight
    folder: Path

    async def said(self, user: str, text: str, **fields: Any) -> Turn:
        turn = Turn(user_id=user, role="user", text=text, **{"turn_id": f"t-{uuid4().hex[:8]}", **fields})
        await self.bus.publish_turn(turn)
        return turn

    async def raw(self, user: str, body: bytes) -> None:
        await self.bus.publish(subjects.turns(user), body, message_id=uuid4().hex, stream=TURNS)

    async def died(self, letter: DeadLetter | bytes) -> None:
        body = letter if isinstance(letter, bytes) else letter.model_dump_json().encode()
        await self.bus.js.publish(subjects.dead("ingest"), body, stream=DEAD)

    async def messages(self, stream: str) -> int:
        return (await self.bus.js.stream_info(stream)).state.messages


@pytest.fixture(params=[1, 3], ids=["whole", "split"])
async def held(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Held]:
    async with nats_server(tmp_path / "bus") as server:
        client = await connect(server.url, name="test")
        bus = Bus(client)
        await provision(bus.js, Settings(turns_partitions=request.param))
        yield Held(bus, NatsInFlight(bus), tmp_path)
        await client.close()


def dead_turn(turn: Turn) -> DeadLetter:
    return a_letter(turn.model_dump_json(exclude_none=True).encode(), subject=subjects.turns(turn.user_id))


async def test_all_of_a_user_goes_to_the_last_byte_while_others_stay(held: Held) -> None:
    marker = a_marker()
    for number in range(3):
        await held.said(BOB, f"Number {number} is fine.")
        await held.said(ANN, f"The key lies under pot {number}, {marker}.")
    await held.raw(ANN, f'{{"half a {marker}'.encode())
    await held.died(dead_turn(Turn(user_id=ANN, role="user", text=marker)))
    await held.died(dead_turn(Turn(user_id=BOB, role="user", text="Fine.")))
    await eventually(lambda: asyncio.to_thread(holding, held.folder, marker), lambda found: sum(found.values()) >= 5)

    assert await held.in_flight.count(ANN, None) == InFlightCounts(4, 1)
    assert await held.in_flight.drop(ANN, None) == InFlightCounts(4, 1)
    await until_gone(held.folder, marker)
    assert await held.in_flight.count(ANN, None) == await held.in_flight.drop(ANN, None) == InFlightCounts(0, 0)
    assert await held.in_flight.count(BOB, None) == InFlightCounts(3, 1)
    assert not await held.in_flight.is_drained()


async def test_what_was_logged_and_purged_beside_others_is_gone_once_the_bus_is_drained(held: Held) -> None:
    marker = a_marker()
    await held.said(ANN, marker)
    await held.said(BOB, "Fine.")
    await held.bus.js.purge_stream(TURNS, seq=2)
    assert not await held.in_flight.is_drained()
    await held.bus.js.purge_stream(TURNS)
    assert await held.in_flight.is_drained()
    await until_gone(held.folder, marker)


async def test_while_events_of_others_wait_the_bus_is_not_drained(held: Held) -> None:
    ref = EntryRef(user_id=BOB, id=entry_id(BOB, "default", "t1"))
    await held.bus.publish_events([EntryProposed.of([ref], at=datetime.now(UTC))])
    assert not await held.in_flight.is_drained()
    await held.bus.js.purge_stream(subjects.EVENTS_STREAM.name)
    assert await held.in_flight.is_drained()


async def test_of_some_turns_only_those_go_and_a_derived_id_is_as_good_as_a_given_one(held: Held) -> None:
    given_id = await held.said(ANN, "One.")
    derived = await held.said(ANN, "Two.", turn_id=None)
    other = await held.said(ANN, "Three.")
    foreign = await held.said(BOB, "Four.", turn_id=given_id.turn_id)
    await held.said(ANN, "The same id in another space.", turn_id=given_id.turn_id, space="work")
    await held.raw(ANN, b"{")
    await held.died(dead_turn(given_id))
    await held.died(dead_turn(other))
    await held.died(a_letter(b"\xff\x00", subject=subjects.turns(ANN)))
    await held.died(json.dumps({"subject": subjects.turns(ANN), "not": "ours"}).encode())
    event = json.dumps({"entries": [{"user_id": ANN, "id": given_id.turn_id}]}).encode()
    await held.died(a_letter(event, subject=subjects.ENTRY_ACCEPTED))

    some = {("default", given_id.turn_id or ""), ("default", derived_turn_id(derived))}
    assert await held.in_flight.count(ANN, some) == await held.in_flight.drop(ANN, some) == InFlightCounts(2, 1)
    assert await held.in_flight.count(ANN, some) == InFlightCounts(0, 0)
    assert await held.in_flight.count(BOB, {("default", foreign.turn_id or "")}) == InFlightCounts(1, 0)
    assert await held.in_flight.count(ANN, None) == InFlightCounts(3, 3)
    assert (await held.messages(TURNS), await held.messages(DEAD)) == (4, 4)


async def test_no_turns_means_none_not_all(held: Held) -> None:
    await held.said(ANN, "One.")
    assert await held.in_flight.drop(ANN, []) == InFlightCounts(0, 0)
    assert await held.in_flight.count(ANN, None) == InFlightCounts(1, 0)


@pytest.mark.parametrize("name", ["*", ">", "an*", "bo", "bob.x", "~Ym9i"])
async def test_a_name_that_could_be_a_pattern_means_one_user(held: Held, name: str) -> None:
    await held.said(BOB, "Fine.")
    await held.said(name, "Not fine.")
    assert await held.in_flight.drop(name, None) == InFlightCounts(1, 0)
    assert await held.in_flight.count(BOB, None) == InFlightCounts(1, 0)


async def test_two_who_erase_the_same_user_at_once_remove_everything_once(held: Held) -> None:
    for number in range(20):
        await held.said(ANN, f"Number {number}.")
        await held.died(dead_turn(Turn(user_id=ANN, role="user", text=f"Number {number}.")))
    both = await asyncio.gather(held.in_flight.drop(ANN, None), held.in_flight.drop(ANN, None))
    assert [sum(one) for one in zip(*both, strict=True)] == [20, 20]
    assert await held.in_flight.count(ANN, None) == InFlightCounts(0, 0)


async def test_who_goes_on_publishing_does_not_keep_us_looking(held: Held) -> None:
    looking = True

    async def publish() -> None:
        while looking:
            await held.said(ANN, "Once more.")

    publishing = asyncio.create_task(publish())
    try:
        await asyncio.wait_for(held.in_flight.drop(ANN, None), 20)
    finally:
        looking = False
        await publishing


async def test_what_was_removed_or_purged_is_known_to_be_gone(held: Held) -> None:
    for number in range(5):
        await held.said("bob", f"number {number}")
    assert await held.bus.missing_from_stream(TURNS, range(1, 6)) == set()
    await held.bus.js.delete_msg(TURNS, 3)
    await held.bus.js.purge_stream(TURNS, seq=2)
    assert await held.bus.missing_from_stream(TURNS, range(1, 6)) == {1, 3}
    await held.bus.js.purge_stream(TURNS)
    assert await held.bus.missing_from_stream(TURNS, range(1, 6)) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("wrong", "gone"),
    [((range(4, 4), frozenset()), {1}), ((range(1, 4), frozenset({2, 3})), set())],
    ids=["all", "the last"],
)
async def test_what_the_bus_counts_as_gone_for_a_moment_while_it_purges_is_there(
    held: Held, monkeypatch: pytest.MonkeyPatch, wrong: tuple[range, frozenset[int]], gone: set[int]
) -> None:
    for number in range(3):
        await held.said("bob", f"number {number}")
    await held.bus.js.delete_msg(TURNS, 1)
    looks, numbers = [wrong], held.bus.numbers

    async def numbers_of(stream: str) -> tuple[range, frozenset[int]]:
        return looks.pop() if looks else await numbers(stream)

    monkeypatch.setattr(held.bus, "numbers", numbers_of)
    assert await held.bus.missing_from_stream(TURNS, {1, 2, 3}) == gone


async def test_a_bus_without_memorybus_is_named(tmp_path: Path) -> None:
    async with nats_server(tmp_path / "bus") as server:
        client = await connect(server.url, name="test")
        in_flight = NatsInFlight(Bus(client))
        for act in (in_flight.drop(ANN, None), in_flight.count(ANN, None), in_flight.is_drained()):
            with pytest.raises(Unavailable, match="memorybus up"):
                await act
        await client.close()
        with pytest.raises(Unavailable, match="try again"):
            await in_flight.is_drained()


@given(st.builds(Turn, user_id=st.text(min_size=1), role=st.just("user"), text=st.text(min_size=1),
                 turn_id=st.none() | st.text(min_size=1, max_size=128)))  # fmt: skip
def test_a_turn_has_the_id_that_it_is_logged_under(turn: Turn) -> None:
    body = turn.model_dump_json(exclude_none=True).encode()
    assert turn_in(body) == (turn.space, turn.turn_id or derived_turn_id(turn))


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        (b'{"turn_id": "t1", "space": "work", "text": ""}', ("work", "t1")),
        (b'{"turn_id": "t1", "space": 7}', None),
        (b'["turn_id"]', None),
        (b"[" * 100_000, None),
        (b"\xff", None),
        (b"", None),
    ],
    ids=["no turn", "no space", "list", "deep", "no utf-8", "empty"],
)
def test_what_is_no_turn_has_the_id_it_claims_or_none(body: bytes, id_: TurnKey | None) -> None:
    assert turn_in(body) == id_


SAID = {"user_id": ANN, "role": "user", "text": "my code is dribblefox!", "created_at": "yesterday"}


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        (SAID, True),
        ({**SAID, "text": "Well, my code is dribblefox"}, True),
        ({**SAID, "text": [{"type": "text", "text": "My code is dribblefox"}]}, True),
        ({**SAID, "space": 7}, True),
        (json.dumps(SAID).encode()[:-3], True),
        (b'{"text": "My code is \\u0064ribblefox", {', True),
        ({**SAID, "space": "work"}, False),
        ({**SAID, "text": "My code is not dribblefox"}, False),
        ({**SAID, "text": "no", "speaker": "My code is dribblefox"}, False),
        (b"\xff", False),
    ],
)
def test_a_letter_is_known_by_what_it_says(body: object, is_one: bool) -> None:
    reading = read("My code is dribblefox")
    traces = Traces(frozenset({("default", fingerprint(reading.normal, reading.words).statement_hash)}))
    assert has_trace(body if isinstance(body, bytes) else json.dumps(body).encode(), traces) == is_one
    assert not has_trace(body if isinstance(body, bytes) else json.dumps(body).encode(), NO_TRACES)


@pytest.mark.parametrize(
    ("body", "space", "is_one"),
    [
        ({"conversation_id": "DC"}, None, True),
        ({"conversation_id": "DC", "space": "work"}, "work", True),
        ({"conversation_id": "DC", "space": "work"}, "default", False),
        ({"conversation_id": "DC"}, "work", False),
        ({"conversation_id": "DC2"}, None, False),
        ({"text": "DC"}, None, False),
        (b'{"conversation_id" :"DC", "text": "x', None, True),
    ],
)
def test_a_letter_is_known_by_its_conversation(body: object, space: str | None, is_one: bool) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert has_trace(raw, Traces(conversation="DC", space=space)) == is_one


async def test_letters_that_have_a_trace_go_and_those_of_others_stay(held: Held) -> None:
    await held.died(a_letter(json.dumps({**SAID, "conversation_id": "DC"}).encode(), subject=subjects.turns(ANN)))
    await held.died(a_letter(json.dumps({**SAID, "text": "Fine."}).encode(), subject=subjects.turns(ANN)))
    of_bob = {**SAID, "user_id": BOB, "conversation_id": "DC"}
    await held.died(a_letter(json.dumps(of_bob).encode(), subject=subjects.turns(BOB)))
    await held.said(ANN, "This one waits.", conversation_id="DC")
    traces = Traces(conversation="DC")
    assert await held.in_flight.count(ANN, (), traces=traces) == InFlightCounts(0, 1)
    assert await held.in_flight.drop(ANN, (), traces=traces) == InFlightCounts(0, 1)
    assert await held.in_flight.count(ANN, (), traces=traces) == InFlightCounts(0, 0)
    assert await held.messages(DEAD) == 2


async def test_letters_go_whose_bodies_or_headers_concern_the_user_though_their_subject_does_not(held: Held) -> None:
    inner = a_letter(json.dumps({"user_id": ANN, "text": "tea"}).encode(), subject="x")
    reply = {"ok": True, "items": [{"id": "e1", "user_id": ANN, "text": "My PIN is 4711."}]}
    event = {"entries": [{"user_id": BOB, "id": "e1"}, {"user_id": ANN, "id": "e2"}]}
    for body in (reply, event, inner.model_dump()):
        raw = json.dumps(body, default=str).encode()
        await held.died(a_letter(raw, subject=subjects.turns("eve")))
    await held.died(a_letter(json.dumps(reply).encode()[:-5], subject=subjects.turns("eve"), cut=True))
    await held.died(a_letter(b"\x00", subject="x", headers={"Nats-Msg-Id": f"{subjects.user_token(ANN)}/default/t1"}))
    await held.died(a_letter(json.dumps({"user_id": "eve", "text": ANN}).encode(), subject=subjects.turns("eve")))

    assert await held.in_flight.count(ANN, None) == await held.in_flight.drop(ANN, None) == InFlightCounts(0, 5)
    assert await held.in_flight.count(ANN, None) == InFlightCounts(0, 0)
    assert await held.messages(DEAD) == 1
