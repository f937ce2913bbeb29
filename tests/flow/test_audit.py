"""The audit on real engines: every action and retrieval is there a second later, without a word of what was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console

from contracts import flow, subjects
from contracts.v1.audit import AuditReply, AuditRequest, OpsAuditRequest
from contracts.v1.commands import EraseRequest
from contracts.v1.retrieval import RetrieveRequest
from services.cli import audit as audit_command
from services.cli import dead
from services.runtime import Running, running
from services.shared.client import MemoryClient, memory_client
from services.shared.settings import Settings
from tests.flow.conftest import a_text_store, typed
from tests.polling import eventually

NOW = datetime.now(UTC)


@pytest.fixture
def engine() -> dict[str, str]:
    return {}


async def audit(client: MemoryClient, at_least: int) -> AuditReply:
    return await eventually(lambda: client.audit(AuditRequest(user_id="ann")), lambda page: len(page.items) >= at_least)


async def test_a_credential_that_the_gateway_names_is_kept(client: MemoryClient) -> None:
    body = RetrieveRequest(user_id="ann", query="where?").model_dump_json(exclude_none=True).encode()
    headers = {subjects.CREDENTIAL_HEADER: "key:ann-7"}
    await client.nats.request(flow.RETRIEVE.subject_of("ann"), body, timeout=30, headers=headers)
    assert [one.credential for one in (await audit(client, 1)).items] == ["key:ann-7"]


@pytest.mark.parametrize("store", ["sqlite", "opensearch"])
async def test_the_audit_survives_an_orderly_stop_and_goes_with_its_user(settings: Settings, store: str) -> None:
    with a_text_store(store) as chosen:
        settings = settings.model_copy(update={**chosen, "embedder": "none"})
        async with running(settings) as up, memory_client(up.nats) as client:
            await client.retrieve(RetrieveRequest(user_id="ann", query="where?"))
        async with running(settings) as up, memory_client(up.nats) as client:
            assert len((await client.audit(AuditRequest(user_id="ann"))).items) == 1
            await client.erase(EraseRequest(user_id="ann"), patience=20.0)
            page = await client.audit(AuditRequest(user_id="ann"))
            left = (await client.audit(OpsAuditRequest())).items
    assert page.items == ()
    assert page.erased_at is not None
    assert [(one.verb, one.user_id.startswith("#")) for one in left] == [("memory.erase", True)]


async def test_the_command_prints_lines(instance: Running, client: MemoryClient) -> None:
    await client.bus.publish(subjects.turns("ann"), b"{", message_id=None, stream=subjects.TURNS_STREAM.name)
    await client.retrieve(RetrieveRequest(user_id="ann", query="where?"))
    await eventually(client.backlog, lambda waiting: waiting.dead_letters == 1)
    assert "ingest" in (await typed(dead.show, "1", "--nats", instance.nats)).stdout
    await audit(client, 2)
    printed = (await typed(audit_command.audit, "--json", "--nats", instance.nats)).stdout
    found = [json.loads(line) for line in printed.splitlines()]
    assert sorted((one["verb"], one["user_id"]) for one in found) == [("dead.show", "ann"), ("retrieve", "ann")]
    narrowed = ("--user", "ann", "--verb", "dead.show", "--nats", instance.nats)
    assert "dead.show" in (await typed(audit_command.audit, *narrowed)).stdout


@pytest.mark.parametrize(("erased_at", "said"), [(None, "Nothing was done."), (NOW, "Nothing was done since.")])
def test_after_an_erase_it_is_not_said_that_nothing_was_ever_done(erased_at: datetime | None, said: str) -> None:
    console = Console(file=StringIO())
    audit_command.show([], console, erased_at=erased_at)
    assert console.file.getvalue().splitlines()[-1] == said  # type: ignore[attr-defined]
