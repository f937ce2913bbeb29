"""`memorybus provision`: declares streams and consumers, shows what it would change, prints the users of the bus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from services.cli.common import DataOption, NatsOption, fail, nats_url, out, run, settings_from
from services.cli.tables import plain
from services.shared.bus import provisioning
from services.shared.bus.connection import Access, connect
from services.shared.bus.declarations import Change
from services.shared.bus.permissions import accounts, users
from services.shared.bus.provisioning import ProvisioningError
from services.shared.instance import NotRunning
from services.shared.redaction import redact_address
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus provision --nats nats://bus-1:4222,nats://bus-2:4222,nats://bus-3:4222 --plan\n
  memorybus provision --nats nats://bus-1:4222 --replicas 3 --partitions 8\n
  memorybus provision --permissions > users.conf
"""
_DONE = {"create": "created", "update": "updated", "delete": "deleted", "keep": "as declared"}
_TO_DO = {"create": "create", "update": "update", "delete": "delete", "keep": "as declared"}


def provision(
    data: DataOption = None,
    nats: NatsOption = None,
    replicas: Annotated[int | None, typer.Option(help="Servers that keep a copy of every stream.")] = None,
    partitions: Annotated[int | None, typer.Option(help="Parts the turns are split into by user.")] = None,
    only_plan: Annotated[bool, typer.Option("--plan", help="Show what would be done, change nothing.")] = False,
    permissions: Annotated[
        bool, typer.Option("--permissions", help="Print the users of the bus for the configuration of nats-server.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make streams and consumers as declared; safe to repeat."""
    if permissions:
        print(json.dumps([asdict(user) for user in users()]) if as_json else accounts(users()))
        return
    try:
        url = nats_url(data, nats)
        settings = settings_from(nats_url=url, nats_replicas=replicas, turns_partitions=partitions, provision=True)
        changes = run(_changes(settings, url, only_plan=only_plan))
    except (NotRunning, ProvisioningError) as error:
        fail(str(error))
    if as_json:
        print(json.dumps([as_fields(change) for change in changes]))
    else:
        show(changes, out, url=url, only_plan=only_plan)


async def _changes(settings: Settings, url: str, *, only_plan: bool) -> list[Change]:
    client = await connect(url, name="memorybus-provision", access=Access.of(settings, url))
    try:
        js = client.jetstream()
        return await (provisioning.plan(js, settings) if only_plan else provisioning.provision(js, settings))
    finally:
        await client.close()


def as_fields(change: Change) -> dict[str, Any]:
    """A change as JSON shows it."""
    fields = {field.name: {"from": field.held, "to": field.wanted} for field in change.fields}
    return {"kind": change.kind, "name": change.name, "action": change.action, "fields": fields}


def show(changes: Sequence[Change], console: Console, *, url: str, only_plan: bool) -> None:
    """The changes as a table, and in a sentence whether anything is left to do."""
    console.print(f"bus {redact_address(url)}", style="dim", markup=False)
    words = _TO_DO if only_plan else _DONE
    columns = ("kind", "name", "action", "fields")
    rows = ((one.kind, one.name, words[one.action], "\n".join(map(str, one.fields))) for one in changes)
    table = plain(columns, rows, figures=(), show_header=False)
    table.columns[0].style = "dim"
    console.print(table, markup=False)
    open_changes = sum(change.action != "keep" for change in changes)
    if not open_changes:
        console.print("Everything is as declared.")
    elif only_plan:
        console.print(f"{open_changes} to change; without --plan it is done.")
