"""Hostile input: everything is answered or set aside, memory stays bounded, and a neighbour notices nothing."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import pytest
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.js.api import PubAck
from nats.js.errors import APIError, NoStreamResponseError
from pydantic import BaseModel, ValidationError

from contracts import subjects
from contracts.envelope import ErrorCode
from contracts.v1.commands import ListRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn, derived_turn_id
from services.shared.client import MemoryClient
from tests.faults.hostile import EVENTS, Hostile, Hostility
from tests.polling import eventually
from tests.sizes import sized

SEED = int(os.environ.get("MEMORYBUS_TEST_SEED", "20260201"))
PUBLISHERS = tuple(f"eve-{n}" for n in range(5))
ASKERS = tuple(f"asker-{n}" for n in range(5))
NEIGHBOUR = "neighbour"
PATIENCE = 20.0
"""Seconds; a create with a deadline far away waits until all that was published before it is digested."""
MOST_GROWTH = 300 * 1024**2

Origin = tuple[str, int]
"""A stream, and the number of a message in it."""


@dataclass(frozen=True, slots=True)
class Load:
    """How many hostile messages of each sort, and how many good turns between them."""

    turns: int
    requests: int
    events: int
    huge: int
    good: int


@dataclass(slots=True)
class Outcome:
    """What became of a load. Turns are named by user, space and turn id; None is what cannot be one."""

    answers: Counter[str] = field(default_factory=Counter)
    internal: list[Hostile] = field(default_factory=list)
    silent: list[Hostile] = field(default_factory=list)
    refused: int = 0
    turns: dict[Origin, tuple[str, str, str] | None] = field(default_factory=dict)
    unreadable_events: set[Origin] = field(default_factory=set)
    letters: Counter[Origin] = field(default_factory=Counter)
    shares: Counter[str] = field(default_factory=Counter)


@pytest.mark.timeout(300)
async def test_thousands_of_hostile_messages_are_answered_or_set_aside_in_bounded_memory(client: MemoryClient) -> None:
    """With good turns of a neighbour in between."""
    print(f"seed {SEED}")  # shown by pytest when something fails
    load = Load(turns=sized(5500), requests=sized(3500), events=sized(1000), huge=sized(20), good=sized(200))
    outcome = Outcome()
    await collect_letters(client, outcome)
    await send(client, Load(turns=50, requests=50, events=10, huge=1, good=0), outcome, seed=SEED + 1)  # warm up
    before = resident_bytes()
    await send(client, load, outcome, seed=SEED)
    await eventually(client.backlog, lambda backlog: backlog.total == 0, within=60.0)
    grown = resident_bytes() - before
    print(f"{dict(outcome.answers)}, {outcome.refused} refused by the bus, {grown / 1024**2:.0f} MB more")
    await check_letters(client, outcome)
    await check_turns(client, outcome)
    check_answers(outcome)
    await check_neighbour(client, load.good)
    assert grown < MOST_GROWTH


async def send(client: MemoryClient, load: Load, outcome: Outcome, *, seed: int) -> None:
    """Everything at the same time, each sort in its own lanes."""
    turns, requests, events = (Hostility(seed + n, users) for n, users in enumerate((PUBLISHERS, ASKERS, PUBLISHERS)))
    known = (await known_entries(client)) if load.good else ()
    made = [turns.turn() for _ in range(load.turns)] + [turns.huge() for _ in range(load.huge)]
    async with asyncio.TaskGroup() as lanes:
        lanes.create_task(each(made, lambda one: publish_turn(client, one, outcome)))
        lanes.create_task(
            each([requests.request() for _ in range(load.requests)], lambda one: ask(client, one, outcome))
        )
        lanes.create_task(
            each([events.event(known) for _ in range(load.events)], lambda one: publish_event(client, one, outcome))
        )
        lanes.create_task(live_on(client, load.good))


async def each(messages: list[Hostile], deal: Callable[[Hostile], Awaitable[None]], *, at_once: int = 16) -> None:
    """Deal with every message, so many at a time."""
    remaining = iter(messages)

    async def lane() -> None:
        for one in remaining:
            await deal(one)

    async with asyncio.TaskGroup() as lanes:
        for _ in range(at_once):
            lanes.create_task(lane())


async def publish(client: MemoryClient, message: Hostile, outcome: Outcome) -> PubAck | None:
    """What the bus acknowledged; None when it refused the message or has had it already."""
    try:
        ack = await client.bus.js.publish(message.subject, message.body, timeout=10.0, headers=message.headers or None)
    except (APIError, NoStreamResponseError, NatsError, ValueError):
        outcome.refused += 1
        return None
    if ack.duplicate:
        outcome.refused += 1
        return None
    return ack


async def publish_turn(client: MemoryClient, message: Hostile, outcome: Outcome) -> None:
    ack = await publish(client, message, outcome)
    if ack is not None:
        outcome.turns[ack.stream, ack.seq] = identity(message.body)


async def publish_event(client: MemoryClient, message: Hostile, outcome: Outcome) -> None:
    ack = await publish(client, message, outcome)
    if ack is None:
        return
    model = next(model for model in EVENTS if model.subject == message.subject)
    is_heard = any(consumer.subject == model.subject for consumer in subjects.CONSUMERS)
    if is_heard and not is_readable(model, message.body):
        outcome.unreadable_events.add((ack.stream, ack.seq))


async def ask(client: MemoryClient, message: Hostile, outcome: Outcome) -> None:
    """One request; a deadline far away is no reason to wait longer than a patient caller would."""
    try:
        reply = await client.nats.request(
            message.subject, message.body, timeout=PATIENCE, headers=message.headers or None
        )
    except NoRespondersError:
        outcome.refused += 1
        return
    except NatsError:
        outcome.silent.append(message)
        return
    answer = json.loads(reply.data)
    code = "ok" if answer["ok"] is True else answer["error"]["code"]
    outcome.answers[code] += 1
    if code == "internal":
        outcome.internal.append(message)


async def live_on(client: MemoryClient, good: int) -> None:
    """A neighbour who publishes and asks meanwhile, one after the other, and is always answered."""
    for number in range(good):
        await client.publish(good_turn(number))
        await client.retrieve(
            RetrieveRequest(user_id=NEIGHBOUR, query="Which parcel is on its way?"), patience=PATIENCE
        )


def good_turn(number: int) -> Turn:
    text = f"Parcel {number} of {number * 7919} grams went to street {number * 104729}."
    return Turn(user_id=NEIGHBOUR, role="user", text=text, turn_id=f"good-{number}")


async def known_entries(client: MemoryClient) -> tuple[tuple[str, str], ...]:
    """Entries of the neighbour, who must not suffer when events name them, under the right user and a wrong one."""
    await client.publish(Turn(user_id=NEIGHBOUR, role="user", text="The first parcel of all is blue.", turn_id="first"))
    reply = await eventually(lambda: client.list(ListRequest(user_id=NEIGHBOUR)), lambda listed: bool(listed.items))
    return ((NEIGHBOUR, reply.items[0].id), (PUBLISHERS[0], reply.items[0].id))


async def collect_letters(client: MemoryClient, outcome: Outcome) -> None:
    """Count dead letters by their origin, from now on."""

    async def note(msg: Msg) -> None:
        letter = json.loads(msg.data)
        outcome.letters[letter["stream"], letter["sequence"]] += 1
        outcome.shares[msg.subject] += 1

    await client.nats.subscribe(f"{subjects.DEAD}.>", cb=note, pending_msgs_limit=-1, pending_bytes_limit=-1)


def kept_of(outcome: Outcome) -> int:
    """How many of the letters that were heard of must still be there."""
    return sum(min(heard, subjects.DEAD_STREAM.share) for heard in outcome.shares.values())


async def check_letters(client: MemoryClient, outcome: Outcome) -> None:
    """What nobody can read is set aside, each message once; of a share the newest are kept."""
    dead = (await client.backlog()).dead_letters
    await eventually(lambda: asyncio.sleep(0, kept_of(outcome)), lambda kept: kept >= dead)
    assert kept_of(outcome) == dead
    assert outcome.unreadable_events <= set(outcome.letters)
    assert max(outcome.letters.values()) == 1


async def check_turns(client: MemoryClient, outcome: Outcome) -> None:
    """Acknowledged turns = turns in the log + dead letters + repeats of a turn id."""
    logged = {origin: name for origin, name in outcome.turns.items() if origin not in outcome.letters}
    assert [origin for origin, name in logged.items() if name is None] == []
    counted = [(await client.status(user)).turns for user in PUBLISHERS]
    repeats = len(logged) - len(set(logged.values()))
    dead = len(outcome.turns) - len(logged)
    assert sum(counted) + dead + repeats == len(outcome.turns)
    assert min(counted, default=0) > 0
    assert dead > 0


def check_answers(outcome: Outcome) -> None:
    """Every request is answered, and no answer says that something unexpected happened."""
    assert outcome.silent == []
    assert outcome.internal == []
    assert set(outcome.answers) <= {"ok", *get_args(ErrorCode)}
    assert outcome.answers["ok"] > 0
    assert outcome.answers["invalid_request"] > 0


async def check_neighbour(client: MemoryClient, good: int) -> None:
    """All that the neighbour said is remembered, and nothing else is."""
    listed = await client.list(ListRequest(user_id=NEIGHBOUR, limit=1000))
    assert {entry.turn_id for entry in listed.items} == {"first", *(f"good-{number}" for number in range(good))}


def identity(body: bytes) -> tuple[str, str, str] | None:
    """What the turn in a body is called; None when there is none."""
    try:
        turn = Turn.model_validate_json(body)
    except ValidationError:
        return None
    return turn.user_id, turn.space, turn.turn_id or derived_turn_id(turn)


def is_readable(model: type[BaseModel], body: bytes) -> bool:
    try:
        model.model_validate_json(body)
    except ValidationError:
        return False
    return True


def resident_bytes() -> int:
    """The memory of this process, in which memorybus runs too."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
