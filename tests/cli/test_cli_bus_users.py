"""The commands as users of a bus that lets nobody do everything: what is refused is named at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from contracts import subjects
from contracts.flow import FLOW
from contracts.ports import Unavailable
from services.cli import dead as dead_letters
from services.cli import erase, publish, reconcile, status
from services.runtime import running
from services.shared.bus.permissions import ASSISTANT, OPERATOR, accounts, users
from tests.flow.test_bus_users import client_of, provisioned, secret_of, settings_of
from tests.polling import digested
from tests.servers.nats_cluster import ServerProcess, nats_server


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    app = typer.Typer()
    for command in (publish.publish, status.status, reconcile.reconcile, erase.erase):
        app.command()(command)
    app.add_typer(dead_letters.app, name="dead")
    return app


@pytest.fixture
async def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerProcess]:
    """A memorybus of which every service is a user of its own."""
    for name in ("URL", "USER", "PASSWORD"):
        monkeypatch.delenv(f"MEMORYBUS_NATS_{name}", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    passwords = {user.password_variable: secret_of(user.name) for user in users()}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(tmp_path / "bus", accounts(users()), passwords))
        await provisioned(server)
        for step in FLOW:
            settings = settings_of(step.service, server, tmp_path / "data")
            await stack.enter_async_context(running(settings, only=[step.service]))
        yield server


async def typed(app: typer.Typer, bus: ServerProcess, user: str, *arguments: str) -> Result:
    """One command as this user, whose password is in the address."""
    address = bus.url.replace("//", f"//{user}:{secret_of(user)}@")
    async with asyncio.timeout(30):
        result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--nats", address])
    assert secret_of(user) not in result.output
    return result


@pytest.fixture
def turns(tmp_path: Path) -> str:
    path = tmp_path / "turns.jsonl"
    path.write_text(json.dumps({"user_id": "ann", "role": "user", "text": "I ordered the blue tiles.", "turn_id": "t"}))
    return str(path)


async def test_an_assistant_publishes_and_is_told_what_it_may_not_see(
    app: typer.Typer, bus: ServerProcess, turns: str
) -> None:
    said = await typed(app, bus, ASSISTANT, "publish", turns)
    line = json.loads((await typed(app, bus, ASSISTANT, "publish", turns, "--json")).stdout)
    assert said.exit_code == 0, said.output
    assert "published 1 turn " in said.output
    assert "may not look at the bus" in said.output
    assert (line["published"], line["dead_letters"]) == (1, None)


async def test_an_assistant_counts_what_is_a_users_and_no_more(
    app: typer.Typer, bus: ServerProcess, turns: str
) -> None:
    await typed(app, bus, ASSISTANT, "publish", turns, "--no-wait")
    async with client_of(OPERATOR, bus) as operator:
        await digested(operator, turns=1)
    line = json.loads((await typed(app, bus, ASSISTANT, "status", "--user", "ann", "--json")).stdout)
    shown = await typed(app, bus, ASSISTANT, "status", "--user", "ann")
    everybody = await typed(app, bus, ASSISTANT, "status")
    assert (line["turns"], line["backlog"], line["dead_letters"]) == (1, None, None)
    assert shown.exit_code == 0, shown.output
    assert "may not look at the bus" in shown.output
    assert everybody.exit_code == 1
    assert "the bus does not let user 'assistant' publish on memory.v1.ops.status" in everybody.stderr


async def test_an_operator_in_the_address_does_what_an_operator_may(
    app: typer.Typer, bus: ServerProcess, turns: str
) -> None:
    await typed(app, bus, ASSISTANT, "publish", turns, "--no-wait")
    async with client_of(OPERATOR, bus) as operator:
        await digested(operator, turns=1)
    done = {
        command: await typed(app, bus, OPERATOR, *command.split())
        for command in ("status", "status --user ann --json", "dead list", "reconcile", "erase --user ann --yes")
    }
    assert {command: result.exit_code for command, result in done.items()} == dict.fromkeys(done, 0), {
        command: result.output for command, result in done.items()
    }


async def test_what_is_refused_fails_at_once_and_is_named(bus: ServerProcess) -> None:
    refused = "the bus does not let user 'assistant' publish on "
    async with client_of(ASSISTANT, bus) as client, asyncio.timeout(4):
        with pytest.raises(Unavailable, match=refused + subjects.ENTRY_ACCEPTED):
            await client.bus.publish(subjects.ENTRY_ACCEPTED, b"", message_id="x", stream=subjects.EVENTS_STREAM.name)
        with pytest.raises(Unavailable, match=refused + r"\$JS.API.STREAM.INFO"):
            await client.backlog()
        with pytest.raises(Unavailable, match=refused + subjects.STATUS):
            await client.status()
