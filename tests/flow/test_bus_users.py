"""One user of the bus for each service, on a real server: each can do its work and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest

from contracts import subjects
from contracts.errors import Unavailable
from contracts.flow import FLOW
from contracts.v1.commands import EraseRequest, ForgetRequest, ReconcileRequest, Side
from contracts.v1.control import IncognitoStartRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared.bus.connection import Access
from services.shared.bus.dead_letters import DeadLetterQueue
from services.shared.bus.permissions import ASSISTANT, OPERATOR, PROVISION, accounts, users
from services.shared.bus.provisioning import provision
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from tests.polling import digested, eventually
from tests.servers.nats_cluster import ServerProcess, nats_server

USERS = {user.name: user for user in users()}
TURN = Turn(user_id="ann", role="user", text="I ordered the blue Spanish tiles.", turn_id="t1")


def secret_of(name: str) -> str:
    return f"S3cret{name}"


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    passwords = {user.password_variable: secret_of(user.name) for user in USERS.values()}
    async with nats_server(tmp_path / "bus", accounts(tuple(USERS.values())), passwords) as server:
        yield server


def settings_of(name: str, bus: ServerProcess, data: Path, partitions: int = 1) -> Settings:
    return Settings.model_validate({
        "data": data, "nats_url": bus.url, "nats_user": name, "nats_password": secret_of(name), "http_port": 0,
        "turns_partitions": partitions, "text_store": "sqlite", "provision": name == PROVISION, "embedder": "none",
        "ner": "none", "log_level": "error",
    })  # fmt: skip


@asynccontextmanager
async def client_of(name: str, bus: ServerProcess) -> AsyncIterator[MemoryClient]:
    access = Access.of(settings_of(name, bus, Path()))
    async with memory_client(bus.url, name=name, access=access) as client:
        yield client


async def provisioned(bus: ServerProcess, partitions: int = 1) -> None:
    async with client_of(PROVISION, bus) as client:
        await provision(client.bus.js, settings_of(PROVISION, bus, Path(), partitions))


@pytest.mark.parametrize("partitions", [1, 3])
async def test_every_service_does_its_work_as_its_own_user(bus: ServerProcess, tmp_path: Path, partitions: int) -> None:
    await provisioned(bus, partitions)
    async with AsyncExitStack() as stack:
        for step in FLOW:
            settings = settings_of(step.service, bus, tmp_path / "data", partitions)
            await stack.enter_async_context(running(settings, only=[step.service]))
        assistant = await stack.enter_async_context(client_of(ASSISTANT, bus))
        operator = await stack.enter_async_context(client_of(OPERATOR, bus))
        await assistant.publish(TURN)
        await assistant.bus.publish(subjects.turns("bob"), b"{", message_id="bad", stream=subjects.TURNS_STREAM.name)
        await digested(operator, turns=1)

        reply = await assistant.retrieve(RetrieveRequest(user_id="ann", query="Spanish tiles"))
        created = await assistant.status("ann")
        backlog = await eventually(operator.backlog, lambda b: b.total == 0 and b.dead_letters == 1)
        turns_left = await eventually(lambda: _messages(operator), lambda count: count == 0)
        pages = [await operator.reconcile(ReconcileRequest(side=side)) for side in get_args(Side)]
        await letters_are_retried_and_dropped(operator)
        await incognito_leaves_nothing(assistant, operator)
        forgotten = await assistant.forget(ForgetRequest(user_id="ann", id=reply.items[0].id))
        erased = await operator.erase(EraseRequest(user_id="ann"))
    assert [item.text for item in reply.items] == [TURN.text]
    assert (created.turns, backlog.dead_letters, turns_left) == (1, 1, 0)
    assert [one.differences for one in pages] == [(), (), ()]
    assert not any((*forgotten.receipt.left.values(), *erased.receipt.left.values()))


async def incognito_leaves_nothing(assistant: MemoryClient, operator: MemoryClient) -> None:
    """A turn of an incognito conversation is removed by ingest, one on the subject for it leaves no account."""
    await assistant.start_incognito(IncognitoStartRequest(user_id="ann", conversation_id="secret"))
    before = await operator.status()
    secret = TURN.model_copy(update={"turn_id": "t2", "conversation_id": "secret"})
    await assistant.publish(secret, incognito=True)
    await assistant.publish(secret)
    await eventually(lambda: _messages(operator), lambda count: count == 0)
    assert await operator.status() == before


async def letters_are_retried_and_dropped(operator: MemoryClient) -> None:
    """What died of bob's dies once more, and is dropped."""
    letters = DeadLetterQueue(operator.bus)
    (first,) = await letters.numbers()
    await letters.retry(first)
    (again,) = await eventually(letters.numbers, lambda numbers: len(numbers) == 1 and numbers != [first])
    assert (await letters.get(again)).users == ("bob",)
    await letters.drop(again)
    assert await letters.numbers() == []


async def _messages(client: MemoryClient) -> int:
    return int((await client.bus.js.stream_info(subjects.TURNS_STREAM.name)).state.messages)


FORBIDDEN = [
    ("retrieve", "memory.v1.turns.ann"),
    ("retrieve", "$JS.API.STREAM.PURGE.MEMORY_TURNS"),
    ("dedupe", "$JS.API.CONSUMER.MSG.NEXT.MEMORY_EVENTS.embed"),
    ("dedupe", "$JS.ACK.MEMORY_EVENTS.embed.1.1.1.1.0"),
    ("enrich", "memory.v1.extract.wanted"),
    ("embed", "memory.v1.entry.proposed"),
    ("embed", "memory.v1.dead.ingest"),
    ("ingest", "$JS.API.STREAM.UPDATE.MEMORY_TURNS"),
    ("ingest", "$JS.API.CONSUMER.DELETE.MEMORY_TURNS.ingest"),
    ("ingest", "$JS.API.STREAM.MSG.GET.MEMORY_TURNS"),
    ("curate", "memory.v1.memory.erase.ann"),
    ("gateway", "memory.v1.ops.status"),
    ("gateway", "_INBOX.assistant.x"),
    (ASSISTANT, "memory.v1.entry.accepted"),
    (ASSISTANT, "memory.v1.ops.reconcile"),
    (ASSISTANT, "$JS.API.STREAM.INFO.MEMORY_TURNS"),
    (OPERATOR, "memory.v1.entries.list.ann"),
    (OPERATOR, "$JS.API.STREAM.PURGE.MEMORY_DEAD"),
    (PROVISION, "memory.v1.turns.ann"),
    (PROVISION, "$JS.API.STREAM.MSG.GET.MEMORY_TURNS"),
    (PROVISION, "$JS.API.STREAM.DELETE.MEMORY_TURNS"),
]
"""Some of what each may not say; all of it is judged by the rules, in `tests/unit/test_permissions.py`."""


async def test_what_is_not_a_users_own_is_refused(bus: ServerProcess) -> None:
    allowed = []
    for name in USERS:
        refused = await _refusals(bus, name, publish=[subject for who, subject in FORBIDDEN if who == name])
        allowed += [(name, subject) for who, subject in FORBIDDEN if who == name and subject not in refused]
    assert allowed == []


async def test_no_user_listens_to_another(bus: ServerProcess) -> None:
    others = ["_INBOX.>", "memory.v1.>", ">", "memory.v1.turns.*"]
    for name in USERS:
        strangers = [f"_INBOX.{other}.>" for other in USERS if other != name]
        asked = [*others, *strangers, *([] if name == "retrieve" else ["memory.v1.retrieve.*"])]
        assert await _refusals(bus, name, subscribe=asked) == set(asked)


async def _refusals(
    bus: ServerProcess, name: str, publish: list[str] | None = None, subscribe: list[str] | None = None
) -> set[str]:
    """Which of these subjects the server refused this user."""
    errors: list[str] = []

    async def note(error: Exception) -> None:
        errors.append(str(error))

    async with client_of(name, bus) as client:
        client.nats._error_cb = note
        for subject in publish or []:
            await client.nats.publish(subject, b"{}")
        for subject in subscribe or []:
            await client.nats.subscribe(subject)
        for _ in range(2):  # the first round trip may overtake what is still in the client's buffer
            await client.nats.flush(timeout=5)
    said = "\n".join(errors).lower()  # the client shows what the server said in small letters
    return {subject for subject in [*(publish or []), *(subscribe or [])] if f'"{subject.lower()}"' in said}


async def test_the_gateway_makes_anew_the_counts_that_went_with_the_servers(
    bus: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting = tuple(stream for stream in subjects.STREAMS if stream is not subjects.LIMITS_STREAM)
    with monkeypatch.context() as patched:
        patched.setattr(subjects, "STREAMS", lasting)
        await provisioned(bus)
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(client_of(OPERATOR, bus))
        with pytest.raises(Unavailable):
            await operator.bus.state(subjects.LIMITS_STREAM.name)
        for name in ("ingest", "gateway"):
            await stack.enter_async_context(running(settings_of(name, bus, tmp_path / "data"), only=[name]))
        await eventually(lambda: _held(operator, subjects.LIMITS_STREAM.name), lambda is_there: is_there)


async def _held(client: MemoryClient, stream: str) -> bool:
    try:
        await client.bus.state(stream)
    except Unavailable:
        return False
    return True
