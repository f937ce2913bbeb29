"""`memorybus audit`: what was done with the memory of a user, or of everybody, and by whom; never what is in it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from contracts.v1.audit import Action, AuditReply, OpsAuditRequest
from services.cli.asking import talk
from services.cli.common import DataOption, NatsOption, one_line, out
from services.cli.dead.choice import a_moment
from services.cli.tables import plain
from services.shared.client import MemoryClient

EPILOG = """Examples:\n
  memorybus audit --user me\n
  memorybus audit --since 2h --verb entries.forget --verb memory.erase\n
  memorybus audit --limit 100000 --json > audit.jsonl\n
"""
_PAGE = 500
_SHOWN_IDS = 3


def audit(
    user: Annotated[str | None, typer.Option("--user", "-u", help="This user's memory alone.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(parser=a_moment, metavar="WHEN", help="Done since: 30m, 2h, 7d ago, or a date (UTC)."),
    ] = None,
    verb: Annotated[list[str] | None, typer.Option(help="Only this, as entries.forget.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show so many, the latest first.")] = 50,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line for each.")] = False,
) -> None:
    """Show what was done: retrievals and actions of users and operators, without a word of the memory."""
    request = OpsAuditRequest(user_id=user, since=since, verbs=tuple(verb) if verb else None)
    found, erased_at = talk(data, nats, lambda client: read_audit(client, request, limit))
    if as_json:
        for action in found:
            print(action.model_dump_json(exclude_none=True))
    else:
        show(found, out, erased_at=erased_at)


async def read_audit(
    client: MemoryClient, request: OpsAuditRequest, limit: int
) -> tuple[list[Action], datetime | None]:
    """So many actions, page by page, and when the user who was asked for was erased."""
    found: list[Action] = []
    cursor: str | None = None
    while True:
        wanted = min(_PAGE, limit - len(found))
        page: AuditReply = await client.audit(request.model_copy(update={"limit": wanted, "cursor": cursor}))
        found += page.items
        cursor = page.next_cursor
        if cursor is None or len(found) >= limit:
            return found, page.erased_at


def show(actions: list[Action], console: Console, *, erased_at: datetime | None = None) -> None:
    """Actions as a table."""
    if erased_at is not None:
        console.print(f"Everything of this user was erased at {erased_at:%Y-%m-%d %H:%M} UTC, the audit too.")
    if not actions:
        console.print("Nothing was done since." if erased_at is not None else "Nothing was done.")
        return
    columns = ("when (UTC)", "user", "what", "outcome", "count", "ms", "by", "about")
    rows = (map(Text, _cells(action)) for action in actions)
    console.print(plain(columns, rows, figures=("count", "ms")))


def _cells(action: Action) -> list[str]:
    about = [*action.about[:_SHOWN_IDS], *(["…"] if len(action.about) > _SHOWN_IDS else [])]
    return [
        f"{action.at:%Y-%m-%d %H:%M:%S}",
        one_line(action.user_id) or "–",
        action.verb,
        action.outcome,
        "" if action.count is None else f"{action.count:,}",
        f"{action.latency_ms:.1f}",
        one_line(action.credential or ""),
        one_line(" ".join(about) or action.query_hash or ""),
    ]
