"""`memorybus keys`: what opens the memory of a user over HTTP, where the gateway asks for credentials."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any, cast

import typer

from contracts.v1.control import EVERY_SPACE
from services.cli.asking import keep_account, talk
from services.cli.common import DataOption, NatsOption, UserOption, err, fail, one_line, out, plural
from services.cli.tables import plain
from services.gateway.keys import ApiKey, Client, KeyStore, UnknownVerb, new_key
from services.gateway.settings import GatewaySettings
from services.shared.client import MemoryClient

app = typer.Typer(
    help="Make, list and revoke the API keys of the HTTP edge.",
    epilog="Examples:\n\n  memorybus keys create --user ann\n\n  memorybus keys list",
    no_args_is_help=True,
    add_completion=False,
)

_CREATE = """Examples:\n
  memorybus keys create --user ann\n
  memorybus keys create --user ann --space work --verb read --days 30 --note "search tool"\n
  memorybus keys create --user ann --client tool --json
"""
_LIST = """Examples:\n
  memorybus keys list\n
  memorybus keys list --user ann --json
"""
_REVOKE = """Examples:\n
  memorybus keys revoke 3f9a0c1be2d47788
"""
_CLIENTS = ("tool", "person")
_MOST_DAYS = 36_500


@app.command(epilog=_CREATE)
def create(
    user: UserOption,
    space: Annotated[list[str] | None, typer.Option(help="Only in this space; may be repeated.")] = None,
    verb: Annotated[
        list[str] | None, typer.Option(help="Only this verb, as entries.list, or all that read; may be repeated.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0.001, help="How long it is valid; without: no end, until `keys revoke`.")
    ] = None,
    client: Annotated[
        str, typer.Option(help="person, or a chat they have; tool: may ask few questions a minute.")
    ] = "person",
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Make a key and show it: once, as only a hash of it is kept."""
    if client not in _CLIENTS:
        fail(f"--client is one of {', '.join(_CLIENTS)}")
    if days is not None and days > _MOST_DAYS:
        fail(f"--days is {_MOST_DAYS:,} at most; without it a key is valid until `keys revoke`")
    if not all(map(str.strip, space or ())) or EVERY_SPACE in (space or ()):
        fail("--space names a space; without it a key is for all")
    try:
        token, key = new_key(
            user,
            lasts=timedelta(days=days) if days is not None else None,
            spaces=frozenset(space) if space else None,
            verbs=frozenset(verb) if verb else None,
            client=cast(Client, client),
            note=note,
        )
    except UnknownVerb as error:
        fail(f"--verb: {error}")
    talk(data, nats, lambda client: _put(client, key))
    if as_json:
        print(json.dumps({"key": token} | _summary(key)))
        return
    err.print(f"This key may ask {_limit(key)}; a chat with memories is one question.", style="dim")
    err.print("It is shown only now:", style="dim")
    print(token)


@app.command("list", epilog=_LIST)
def list_(
    user: Annotated[str | None, typer.Option("--user", "-u", help="Only of this user.")] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line for each.")] = False,
) -> None:
    """Show the keys there are and what they open, the oldest first."""
    found = [key for key in talk(data, nats, lambda client: KeyStore(client.bus).all()) if user in (None, key.user_id)]
    if as_json:
        for key in found:
            print(json.dumps(_summary(key)))
        return
    columns = ("id", "user", "spaces", "verbs", "client", "valid until", "note")
    table = plain(columns, (map(one_line, _cells(key)) for key in found), figures=())
    table.columns[0].no_wrap = True
    out.print(table if found else "There are no keys.", markup=False)


@app.command(epilog=_REVOKE)
def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="As `keys list` shows them.")],
    data: DataOption = None,
    nats: NatsOption = None,
) -> None:
    """Remove keys for good: within a second they open nothing."""
    unknown = talk(data, nats, lambda client: _revoked(client, ids))
    out.print(f"{plural(len(ids) - len(unknown), 'key')} revoked")
    if unknown:
        fail(f"there is no key {', '.join(unknown)}")


def _limit(key: ApiKey) -> str:
    """How often it may ask, as far as the gateway has the settings of this shell."""
    settings = GatewaySettings()
    most = settings.tool_queries_per_minute if key.client == "tool" else settings.queries_per_minute
    return f"{plural(most, 'question')} a minute, as a {key.client}" if most else "as often as it likes"


async def _put(client: MemoryClient, key: ApiKey) -> None:
    await KeyStore(client.bus).put(key)
    await keep_account(client, "keys.create", (key.id,), (key.user_id,))


async def _revoked(client: MemoryClient, ids: list[str]) -> list[str]:
    """Revoke keys; the ids of which there is none."""
    store, unknown = KeyStore(client.bus), []
    for id_ in ids:
        key = await store.get(id_)
        if not await store.revoke(id_):
            unknown.append(id_)
        elif key is not None:
            await keep_account(client, "keys.revoke", (key.id,), (key.user_id,))
    return unknown


def _summary(key: ApiKey) -> dict[str, Any]:
    return key.model_dump(mode="json", exclude={"digest"}) | {"expired": key.is_expired}


def _cells(key: ApiKey) -> tuple[str, ...]:
    until = f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else "no end"
    spaces, verbs = (", ".join(sorted(some)) if some is not None else "all" for some in (key.spaces, key.verbs))
    return key.id, key.user_id, spaces, verbs, key.client, f"{until} (expired)" if key.is_expired else until, key.note
