"""`memorybus status`: what is stored, what waits, and what went wrong."""

from __future__ import annotations

import json
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.table import Table

from contracts.v1.commands import StatusReply
from services.cli.asking import talk
from services.cli.common import NOT_SHOWN, DataOption, NatsOption, nats_url, out, plural
from services.shared.bus.connection import NotPermitted
from services.shared.client import Backlog
from services.shared.redaction import redact_address

EPILOG = """Examples:\n
  memorybus status\n
  memorybus status --user me\n
  memorybus status --data ./memory --json
"""

_UNEMBEDDABLE = "entries whose text the model does not take: found by words"


class Counted(Protocol):
    """What counting needs of a client."""

    async def backlog(self) -> Backlog: ...

    async def status(self, user_id: str | None = None) -> StatusReply: ...


def status(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Count this user only; the bus is counted whole.")
    ] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Show what is stored, what waits at each stage, and how many dead letters there are."""
    counts, backlog = talk(data, nats, lambda client: counted(client, user))
    if as_json:
        print(as_line(counts, backlog))
    else:
        show_status(counts, backlog, out, url=redact_address(nats_url(data, nats)), user=user)


async def counted(client: Counted, user: str | None) -> tuple[StatusReply, Backlog | None]:
    """What is stored, for one user or for all, and what waits on the bus for everybody, if that may be seen."""
    counts = await client.status(user)
    try:
        return counts, await client.backlog()
    except NotPermitted:
        return counts, None


def as_line(counts: StatusReply, backlog: Backlog | None) -> str:
    """The numbers as one JSON line; null where this user of the bus may not look."""
    stored = counts.model_dump(
        include={"turns", "entries", "inactive", "merged", "refused", "vectors", "pending", "unembeddable"}
    )
    waiting = {
        "dead_letters": backlog and backlog.dead_letters,
        "backlog": backlog and backlog.total,
        "backlog_by_stage": backlog and backlog.by_consumer,
    }
    return json.dumps({**stored, **waiting})


def show_status(
    counts: StatusReply, backlog: Backlog | None, console: Console, *, url: str = "", user: str | None = None
) -> None:
    """The numbers as a table, and in words what they mean."""
    if url:
        console.print(f"bus {url}", style="dim", markup=False)
    console.print(status_table(counts, backlog, user=user))
    if backlog is None:
        console.print(NOT_SHOWN, style="dim", soft_wrap=True)
        return
    for warning in warnings(counts, backlog):
        console.print(warning, style="yellow", soft_wrap=True)


def status_table(counts: StatusReply, backlog: Backlog | None, *, user: str | None = None) -> Table:
    """Stores first, then the stages in the order of the flow."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("what", style="bold")
    table.add_column("count", justify="right")
    table.add_column("meaning", style="dim")
    rows = _rows(counts, user)
    if backlog is not None:
        waiting = backlog.by_consumer.items()
        rows += [(f"→ {stage}", count, "waiting or under way, all users") for stage, count in waiting]
        rows.append(("dead letters", backlog.dead_letters, "could not be digested, all users"))
    for name, count, meaning in rows:
        table.add_row(name, f"{count:,}", meaning)
    return table


def _rows(counts: StatusReply, user: str | None) -> list[tuple[str, int, str]]:
    whose = "this user's" if user else "all users'"
    return [
        ("turns", counts.turns, f"text store: {whose} conversation log"),
        ("entries", counts.entries, "text store: what is remembered"),
        ("inactive", counts.inactive, "entries that are archived, superseded or forgotten"),
        ("merged", counts.merged, "turns that repeat an entry"),
        ("refused", counts.refused, "turns that were not kept"),
        ("vectors", counts.vectors, "vector store: entries found by meaning"),
        ("pending", counts.pending, "not finished yet"),
        *([("no vector", counts.unembeddable, _UNEMBEDDABLE)] if counts.unembeddable else []),
    ]


def warnings(counts: StatusReply, backlog: Backlog) -> list[str]:
    """What somebody should look at; counts can only be compared while nothing waits."""
    found = []
    if counts.degraded:
        found.append("The model or the vector store does not answer: words are searched, vectors wait.")
    if backlog.dead_letters:
        found.append("There are dead letters: `memorybus dead list` shows them, each with its reason.")
    if counts.pending or backlog.total:
        return found
    settled = counts.entries + counts.inactive + counts.merged + counts.refused
    if settled != counts.turns:
        sum_ = f"{plural(counts.turns, 'turn')}, but entries + inactive + merged + refused = {settled:,}"
        found.append(f"{sum_}: `memorybus reconcile` shows what is missing.")
    embeddable = counts.entries - counts.unembeddable
    if counts.vectors not in (0, embeddable) and not counts.degraded:
        sum_ = f"{embeddable:,} entries, but {counts.vectors:,} vectors"
        found.append(f"{sum_}: `memorybus reconcile --fix` makes what is missing.")
    return found
