"""`memorybus provision`: what it shows and prints, for people and for programs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from services.cli import provision as command
from services.shared.bus.declarations import Change, FieldChange
from services.shared.bus.permissions import accounts, users
from tests.servers.nats_cluster import ServerProcess, nats_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    async with nats_server(tmp_path / "bus") as started:
        yield started


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.delenv("MEMORYBUS_NATS_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=command.EPILOG)(command.provision)
    return app


async def typed(app: typer.Typer, *arguments: str) -> Result:
    return await asyncio.to_thread(lambda: CliRunner().invoke(app, list(arguments)))


def actions(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.output
    changes: list[dict[str, Any]] = json.loads(result.output)
    return {change["name"]: change["action"] for change in changes}


async def test_the_plan_is_shown_then_done_then_there_is_nothing_to_do(app: typer.Typer, server: ServerProcess) -> None:
    url = server.url.replace("//", "//ann:s3cret@")  # a bus that asks for nothing ignores it
    planned = actions(await typed(app, "--nats", url, "--plan", "--json"))
    assert set(planned.values()) == {"create"}
    assert actions(await typed(app, "--nats", url, "--plan", "--json")) == planned
    plan = (await typed(app, "--nats", url, "--plan")).output
    done = (await typed(app, "--nats", url)).output
    nothing = (await typed(app, "--nats", url, "--partitions", "1")).output
    repeated = actions(await typed(app, "--nats", url, "--json"))
    assert repeated == dict.fromkeys(planned, "keep")
    assert "MEMORY_TURNS/ingest" in plan
    assert "11 to change; without --plan it is done." in plan
    assert done.count("created") == 11
    assert nothing.count("as declared") == 12
    assert "s3cret" not in plan + done + nothing


async def test_options_say_how_many_copies_and_parts(app: typer.Typer, server: ServerProcess) -> None:
    parts = actions(await typed(app, "--nats", server.url, "--partitions", "2", "--json"))
    copies = await typed(app, "--nats", server.url, "--partitions", "2", "--replicas", "3")
    assert {"MEMORY_TURNS/ingest-0", "MEMORY_TURNS/ingest-1"} < set(parts)
    assert copies.exit_code == 1
    assert copies.output.startswith("error: the bus refused what is declared")
    assert copies.output.count("\n") == 1


async def test_the_users_of_the_bus_are_printed_without_one(app: typer.Typer) -> None:
    assert (await typed(app, "--permissions")).output.strip() == accounts(users()).strip()
    as_json = json.loads((await typed(app, "--permissions", "--json")).output)
    assert [user["name"] for user in as_json] == [user.name for user in users()]


async def test_a_bus_that_is_not_there_is_one_line(app: typer.Typer) -> None:
    result = await typed(app, "--nats", "nats://127.0.0.1:port")
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert "no address of a bus" in result.output


def test_a_change_shows_what_is_held_and_what_is_wanted() -> None:
    output = StringIO()
    change = Change("stream", "MEMORY_TURNS", "update", (FieldChange("num_replicas", 1, 3),))
    command.show([change], Console(file=output, width=120), url="nats://one:4222", only_plan=True)
    assert "num_replicas 1 → 3" in output.getvalue()
    assert command.as_fields(change)["fields"] == {"num_replicas": {"from": 1, "to": 3}}


async def test_where_nothing_runs_it_says_how_to_name_a_bus(app: typer.Typer, tmp_path: Path) -> None:
    result = await typed(app, "--data", str(tmp_path))
    assert result.exit_code == 1
    assert "--nats" in result.output
