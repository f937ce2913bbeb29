"""The commands as users of a bus that lets nobody do everything: what is refused is named at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
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

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    app = typer.Typer()
    for command in (publish.publish, status.status, reconcile.reconcile, erase.erase):
        app.command()(command)
    app.add_typer(dead_letters.app, name="dead")
    return app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    """A memorybus of which every service is a user of its own."""
    folder = tmp_path_factory.mktemp("users")
    passwords = {user.password_variable: secret_of(user.name) for user in users()}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(folder / "bus", accounts(users()), passwords))
        await provisioned(server)
        for step in FLOW:
            settings = settings_of(step.service, server, folder / "data")
            await stack.enter_async_context(running(settings, only=[step.service]))
        yield server


async def typed(app: typer.Typer, bus: ServerProcess, user: str, *arguments: str) -> Result:
    """One command as this user, whose password is in the address."""
    address = bus.url.replace("//", f"//{user}:{secret_of(user)}@")
    names = ("URL", "USER", "PASSWORD")
    env = {"COLUMNS": "200"} | dict.fromkeys((f"MEMORYBUS_NATS_{name}" for name in names), None)
    async with asyncio.timeout(30):
        result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--nats", address], env=env)
    assert secret_of(user) not in result.output
    return result


async def test_an_assistant_publishes_and_counts_what_is_a_users_and_is_told_what_it_may_not_see(
    app: typer.Typer, bus: ServerProcess, tmp_path: Path
) -> None:
    turns = tmp_path / "turns.jsonl"
    turns.write_text('{"user_id": "ann", "role": "user", "text": "I ordered the blue tiles.", "turn_id": "t"}')
    said = await typed(app, bus, ASSISTANT, "publish", str(turns))
    assert said.exit_code == 0, said.output
    assert "published 1 turn " in said.output
    assert "may not look at the bus" in said.output
    line = json.loads((await typed(app, bus, ASSISTANT, "publish", str(turns), "--json")).stdout)
    assert (line["published"], line["dead_letters"]) == (1, None)
    async with client_of(OPERATOR, bus) as operator:
        await digested(operator, turns=1)
    line = json.loads((await typed(app, bus, ASSISTANT, "status", "--user", "ann", "--json")).stdout)
    assert (line["turns"], line["backlog"], line["dead_letters"]) == (1, None, None)
    shown = await typed(app, bus, ASSISTANT, "status", "--user", "ann")
    assert shown.exit_code == 0, shown.output
    assert "may not look at the bus" in shown.output
    everybody = await typed(app, bus, ASSISTANT, "status")
    assert everybody.exit_code == 1
    assert "the bus does not let user 'assistant' publish on memory.v1.ops.status" in everybody.stderr


@pytest.mark.parametrize(
    "command", ["status", "status --user ann --json", "dead list", "reconcile", "erase --user ann --yes"]
)
async def test_an_operator_in_the_address_does_what_an_operator_may(
    app: typer.Typer, bus: ServerProcess, command: str
) -> None:
    done = await typed(app, bus, OPERATOR, *command.split())
    assert done.exit_code == 0, done.output


async def test_what_is_refused_fails_at_once_and_is_named(bus: ServerProcess) -> None:
    refused = "the bus does not let user 'assistant' publish on "
    async with client_of(ASSISTANT, bus) as client, asyncio.timeout(4):
        with pytest.raises(Unavailable, match=refused + subjects.ENTRY_ACCEPTED):
            await client.bus.publish(subjects.ENTRY_ACCEPTED, b"", message_id="x", stream=subjects.EVENTS_STREAM.name)
        with pytest.raises(Unavailable, match=refused + r"\$JS.API.STREAM.INFO"):
            await client.backlog()
        with pytest.raises(Unavailable, match=refused + subjects.STATUS):
            await client.status()
