"""Nobody has the bus, or a service, publish for them: every user × every way in which others publish on request.

What is allowed is asked with reply subjects and headers that point elsewhere, and somebody in the account of the
streams looks on: all that is ever said there is what this user itself said, where it may.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from contracts import flow, subjects
from services.runtime import running
from services.shared.bus.declarations import declared_consumer, declared_stream
from services.shared.bus.permissions import PROVISION, STREAMS_ACCOUNT, User, accounts, users
from tests.flow.test_bus_users import client_of, provisioned, secret_of, settings_of
from tests.polling import eventually
from tests.servers.nats_cluster import ServerProcess, nats_server
from tests.unit.test_permissions import may_publish

EVERYBODY = users()
STAGES = ("ingest", "dedupe", "enrich", "embed")
ELSEWHERE = (
    subjects.turns("bob"),
    f"{subjects.PARTITION}.0.bob",
    *(f"memory.v1.entry.{event}" for event in ("proposed", "accepted", "enriched", "embedded", "repeated", "refused")),
    *(subjects.dead(stage) for stage in STAGES),
    subjects.key("k1"),
    "memory.v1.limit.tool.share.1",
    flow.LIST.subject_of("bob"),
    "$JS.API.STREAM.PURGE.MEMORY_DEAD",
    "_INBOX.assistant.x",
)
_SEEDS = 600
"""Messages for each reader, for who acknowledges: in the test of who does most, each is acknowledged in one way."""

_PULL = "$JS.API.CONSUMER.MSG.NEXT."

_READERS = subjects.declared_consumers(1)
_GO_WHEN_READ = tuple(stream.name for stream in subjects.STREAMS if stream.keeps == "interest")
_OF_STREAMS = (
    "memory.v1.turns.",
    "memory.v1.partition.",
    "memory.v1.entry.",
    "memory.v1.extract.",
    "memory.v1.dead.",
    "memory.v1.key.",
    "memory.v1.limit.",
)


@dataclass
class Onlooker:
    """Somebody in the account of the streams, who hears all that is said there; nobody is that outside of tests."""

    client: Client
    heard: list[tuple[str, bytes]] = field(default_factory=list)

    async def note(self, msg: Msg) -> None:
        if msg.subject.startswith(_OF_STREAMS):
            self.heard.append((msg.subject, msg.data))

    async def counts(self) -> dict[str, tuple[int, int]]:
        """How many messages each stream has ever taken in, and how many of the logs it holds."""
        infos = [await self.client.jetstream().stream_info(stream.name) for stream in subjects.STREAMS]
        return {
            info.config.name or "": (info.state.last_seq, info.state.messages * (info.config.name not in _GO_WHEN_READ))
            for info in infos
        }

    async def settled(self) -> None:
        """Wait until nothing more comes."""
        before = -1
        while before != len(self.heard):
            before = len(self.heard)
            for _ in range(3):
                await self.client.flush(timeout=5)
                await self.counts()


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    passwords = {user.password_variable: secret_of(user.name) for user in EVERYBODY}
    seat = f"{STREAMS_ACCOUNT} {{\n    users: [ {{ user: onlooker, password: {secret_of('onlooker')} }} ]\n"
    configuration = accounts(EVERYBODY).replace(f"{STREAMS_ACCOUNT} {{\n", seat, 1)
    async with nats_server(tmp_path / "bus", configuration, passwords) as server:
        yield server


@asynccontextmanager
async def an_onlooker(bus: ServerProcess) -> AsyncIterator[Onlooker]:
    client = await nats.connect(bus.url, user="onlooker", password=secret_of("onlooker"))
    onlooker = Onlooker(client)
    try:
        await client.subscribe("memory.v1.>", cb=onlooker.note)
        await client.flush()
        yield onlooker
    finally:
        await client.close()


@asynccontextmanager
async def a_busy_bus(bus: ServerProcess, tmp_path: Path, *, seeds: int = 10) -> AsyncIterator[Onlooker]:
    """Streams with messages, and the two services that answer requests."""
    await provisioned(bus)
    async with AsyncExitStack() as stack:
        onlooker = await stack.enter_async_context(an_onlooker(bus))
        for name in ("retrieve", "curate"):
            settings = settings_of(name, bus, tmp_path / "data")
            await stack.enter_async_context(running(settings, only=[name]))
        seeded = (subjects.turns("ann"), *(one.subject for one in _READERS[1:]), subjects.dead("embed"))
        for number in range(seeds):
            for subject in seeded:
                await onlooker.client.publish(subject, b"secret of ann %d" % number)
        await eventually(onlooker.counts, lambda now: sum(taken for taken, _ in now.values()) >= seeds * len(seeded))
        await onlooker.settled()
        onlooker.heard.clear()
        yield onlooker


def concrete(pattern: str) -> str:
    """One subject that a permission allows."""
    if pattern.startswith("$JS.API.CONSUMER.MSG.NEXT.MEMORY_TURNS"):
        return pattern.replace("*", "ingest")
    if pattern.startswith("$JS.API.CONSUMER.DELETE"):
        return pattern.replace("*", "nobody")
    if pattern.startswith("$JS.API.CONSUMER.") and pattern.endswith(".*"):
        stream = pattern.split(".")[-2]
        names = [one.name for one in _READERS if one.stream == stream] or ["nobody"]
        return pattern.replace("*", names[0])
    return pattern.replace("*", "ann").replace(">", "1.1.1.1.0")


def body_for(subject: str, user: User) -> bytes:
    """What makes the bus, or the service, answer with as much as it may."""
    last = subject.rpartition(".")[2]
    if ".CONSUMER.MSG.NEXT." in subject:
        return b'{"batch": 2, "expires": 200000000}'
    if ".STREAM.MSG.GET." in subject:
        return b'{"seq": 1}'
    if ".STREAM.MSG.DELETE." in subject:
        return b'{"seq": 999999}'
    if ".STREAM.PURGE." in subject:
        return b'{"seq": 1}'
    if ".STREAM.CREATE." in subject or ".STREAM.UPDATE." in subject:
        (stream,) = [one for one in subjects.STREAMS if one.name == last]
        return json.dumps(declared_stream(stream, settings_of(PROVISION, ServerProcess(Path(), ""), Path()))).encode()
    if ".CONSUMER.DURABLE.CREATE." in subject and last != "nobody":
        (consumer,) = [one for one in _READERS if one.name == last]
        return json.dumps({"stream_name": consumer.stream, "config": declared_consumer(consumer)}).encode()
    if subject.startswith("$JS."):
        return b'{"subjects_filter": ">"}' if ".STREAM.INFO." in subject else b""
    if subject.startswith(_OF_STREAMS):
        return f"said by {user.name}".encode()
    return b'{"user_id": "ann", "query": "secret"}'


async def acknowledgements(client: Client, user: User) -> list[str]:
    """The subjects on which messages in this user's hands are acknowledged."""
    found = []
    for pattern in user.publish:
        if pattern.startswith(_PULL):
            inbox = client.new_inbox()
            subscription = await client.subscribe(inbox)
            await client.publish(concrete(pattern), b'{"batch": 8, "expires": 500000000}', reply=inbox)
            found += [(await subscription.next_msg(timeout=5)).reply for _ in range(8)]
            await subscription.unsubscribe()
    return found


def questions(user: User) -> Iterator[tuple[str, bytes]]:
    """All that this user may publish, each with a body; not those that remove a whole memory."""
    for pattern in user.publish:
        if not pattern.startswith(("$JS.ACK.", "_R_.", "memory.v1.memory.erase.")):
            subject = concrete(pattern)
            yield subject, body_for(subject, user)


def own(user: User, said: Iterable[tuple[str, bytes]]) -> set[tuple[str, bytes]]:
    """What this user itself said, where it may."""
    return {(subject, body) for subject, body in said if subject.startswith(_OF_STREAMS)}


async def quiet(_: Exception) -> None:
    """What is refused is expected here."""


@pytest.mark.parametrize("user", EVERYBODY, ids=lambda user: user.name)
async def test_no_reply_acknowledgement_or_pull_is_kept_by_a_stream(
    bus: ServerProcess, tmp_path: Path, user: User
) -> None:
    asked, said = list(questions(user)), []
    seeds = _SEEDS if any(pattern.startswith(_PULL) for pattern in user.publish) else 10
    async with a_busy_bus(bus, tmp_path, seeds=seeds) as onlooker, client_of(user.name, bus) as client:
        client.nats._error_cb = quiet
        before = await onlooker.counts()
        elsewhere = (*ELSEWHERE, *(concrete(one) for one in user.publish if ".PURGE." not in one))
        for reply in elsewhere:
            for subject, body in asked:
                await client.nats.publish(subject, body, reply=reply)
                said.append((subject, body))
        for reply in elsewhere:
            for subject, verb in zip(await acknowledgements(client.nats, user), VERBS, strict=False):
                await client.nats.publish(subject, verb, reply=reply)
        await client.nats.flush(timeout=5)
        await onlooker.settled()
        await check_only_own(onlooker, user, said, before)


VERBS = (b"+ACK", b"-NAK", b"+WPI", b"+TERM", b"+NXT", b'+NXT {"batch": 2}', b"", b"-NAK {}")


async def check_only_own(
    onlooker: Onlooker, user: User, said: list[tuple[str, bytes]], before: dict[str, tuple[int, int]]
) -> None:
    """Nothing was said on a stream's subject but by this user, and no stream took in more or lost anything.

    The bus itself tells a publisher what became of a message (`Nats-Trace-Dest`), on subjects it may publish on.
    """
    others = set(onlooker.heard) - own(user, said)
    assert {subject for subject, body in others if not (may_publish(user, subject) and is_trace(body))} == set()
    after = await onlooker.counts()
    kept = [one.name for one in subjects.STREAMS for subject, _ in onlooker.heard if subject.startswith(_prefixes(one))]
    for name, (taken_in, held) in after.items():
        assert taken_in - before[name][0] <= kept.count(name)
        assert held >= before[name][1]


def is_trace(body: bytes) -> bool:
    return body.startswith(b'{"server":') and b'"events":[' in body


def _prefixes(stream: subjects.Stream) -> tuple[str, ...]:
    return tuple(subject.rstrip("*>") for subject in stream.subjects)


def headers() -> Iterator[dict[str, str]]:
    """What a publisher may ask of the bus by headers, at the cost of others if it were heard."""
    for elsewhere in ELSEWHERE:
        yield {"Nats-Trace-Dest": elsewhere}
        yield {"Nats-Trace-Dest": elsewhere, "Nats-Trace-Only": "true"}
        yield {"Nats-Schedule": "@at 2020-01-01T00:00:00Z", "Nats-Schedule-Target": elsewhere}
        yield {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": elsewhere, "Nats-Schedule-TTL": "1s"}
    yield {"Nats-Rollup": "all"}
    yield {"Nats-Rollup": "sub"}
    yield {"Nats-TTL": "1s"}
    yield {"Nats-Marker-Reason": "Purge"}
    yield {"Nats-Incr": "+1"}
    yield {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"}
    yield {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"}
    yield {"Nats-Expected-Stream": "MEMORY_DEAD"}
    yield {"Nats-Expected-Last-Sequence": "0"}
    yield {
        "Nats-Expected-Last-Subject-Sequence": "0",
        "Nats-Expected-Last-Subject-Sequence-Subject": "memory.v1.turns.bob",
    }
    yield {"Nats-Expected-Last-Msg-Id": "x"}
    yield {
        "Nats-Stream-Source": "MEMORY_DEAD 1 > > memory.v1.dead.ingest",
        "Nats-Stream": "MEMORY_DEAD",
        "Nats-Sequence": "1",
    }
    yield {"Nats-Request-Info": json.dumps({"acc": STREAMS_ACCOUNT, "svc": STREAMS_ACCOUNT, "user": "onlooker"})}
    yield {"Nats-Required-Api-Level": "99"}
    yield {"Nats-Pin-Id": "x", "Nats-Num-Pending": "0", "Status": "409 Consumer Deleted"}
    yield {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "tracestate": "x" * 4000}
    yield {"traceparent": "\u202e" * 100, "baggage": "," * 4000}


@pytest.mark.parametrize("user", EVERYBODY, ids=lambda user: user.name)
async def test_no_header_has_the_bus_say_lose_or_change_what_is_anothers(
    bus: ServerProcess, tmp_path: Path, user: User
) -> None:
    asked, said = list(questions(user)), []
    async with a_busy_bus(bus, tmp_path) as onlooker, client_of(user.name, bus) as client:
        client.nats._error_cb = quiet
        before = await onlooker.counts()
        for given in headers():
            for subject, body in asked:
                await client.nats.publish(subject, body, reply=client.nats.new_inbox(), headers=given)
                said.append((subject, body))
        await client.nats.flush(timeout=5)
        await onlooker.settled()
        await check_only_own(onlooker, user, said, before)
        promise = await onlooker.client.jetstream().publish(subjects.turns("zoe"), b"{}")
        await eventually(onlooker.counts, lambda now: now["MEMORY_TURNS"][0] >= promise.seq)
        assert not promise.duplicate


async def test_who_provisions_can_be_given_no_message_by_a_consumer_of_its_own(
    bus: ServerProcess, tmp_path: Path
) -> None:
    async with a_busy_bus(bus, tmp_path), client_of(PROVISION, bus) as client:
        client.nats._error_cb = quiet
        came: list[Msg] = []

        async def note(msg: Msg) -> None:
            came.append(msg)

        inbox = client.nats.new_inbox()
        await client.nats.subscribe(inbox, cb=note)
        await client.nats.subscribe(f"{subjects.inbox(PROVISION)}.mine.>", cb=note)
        for stream in subjects.STREAMS:
            push = {"name": "mine", "durable_name": "mine", "deliver_subject": inbox, "ack_policy": "none"}
            pull = {"name": "mine-too", "durable_name": "mine-too", "ack_policy": "none"}
            for config in (push, pull):
                body = json.dumps({"stream_name": stream.name, "config": config}).encode()
                made = await client.nats.request(
                    f"$JS.API.CONSUMER.DURABLE.CREATE.{stream.name}.{config['name']}", body
                )
                assert b'"error"' not in made.data or stream.keeps == "interest"
            for asked in ("CONSUMER.MSG.NEXT.{}.mine-too", "DIRECT.GET.{}", "STREAM.MSG.GET.{}", "STREAM.SNAPSHOT.{}"):
                subject = "$JS.API." + asked.format(stream.name)
                await client.nats.publish(subject, b'{"batch": 5, "seq": 1, "deliver_subject": "x"}', reply=inbox)
        await client.nats.flush(timeout=5)
        await client.nats.flush(timeout=5)
    assert came == []


async def test_what_remains_who_provisions_decides_what_streams_hold(bus: ServerProcess, tmp_path: Path) -> None:
    """It may have one stream copy another; it cannot read what is copied, but must be trusted not to."""
    async with a_busy_bus(bus, tmp_path) as onlooker, client_of(PROVISION, bus) as client:
        declared = declared_stream(subjects.TURNS_STREAM, settings_of(PROVISION, bus, Path()))
        body = json.dumps({**declared, "sources": [{"name": subjects.DEAD_STREAM.name}]}).encode()
        before = await onlooker.counts()
        await client.nats.request(f"$JS.API.STREAM.UPDATE.{subjects.TURNS_STREAM.name}", body)
        await eventually(onlooker.counts, lambda now: now["MEMORY_TURNS"][0] > before["MEMORY_TURNS"][0])
