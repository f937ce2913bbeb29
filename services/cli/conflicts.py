"""`memorybus conflicts`: what a user said that cannot both be true, and what they decide about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel
from rich.markup import escape

from contracts import flow
from contracts.flow import Answer, Q, R
from contracts.v1.conflicts import Conflict, ConflictsReply, ConflictsRequest, ResolveReply, ResolveRequest
from services.cli.common import DataOption, NatsOption, UserOption, fail, nats_url, out, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus conflicts --user me\n
  memorybus conflicts --user me --keep new --newer 6f1d2a52-… --older 0c7f5e2b-…\n
  memorybus conflicts --user me --keep both --newer 6f1d2a52-… --older 0c7f5e2b-… --json
"""

_PATIENCE = 10.0


def conflicts(
    user: UserOption,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)] = None,
    keep: Annotated[
        Literal["new", "old", "both"] | None, typer.Option("--keep", help="Decide what holds.", show_default=False)
    ] = None,
    newer: Annotated[str | None, typer.Option("--newer", help="The newer statement.", show_default=False)] = None,
    older: Annotated[str | None, typer.Option("--older", help="The older statement.", show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Most conflicts shown.")] = 20,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """List statements that cannot both be true, or decide which of two holds."""
    reply: BaseModel
    if keep is None and (newer is not None or older is not None):
        fail("--newer and --older need --keep new, old or both: what holds")
    if keep is None:
        reply = run(_ask(flow.CONFLICTS, ConflictsRequest(user_id=user, space=space, limit=limit), data, nats))
    elif newer is None or older is None:
        fail("--keep needs --newer and --older: which statements it decides between")
    else:
        decision = ResolveRequest(user_id=user, newer=newer, older=older, keep=keep)
        reply = run(_ask(flow.RESOLVE, decision, data, nats))
    if as_json:
        print(reply.model_dump_json())
    elif isinstance(reply, ConflictsReply):
        _show(reply.items)
    elif isinstance(reply, ResolveReply):
        for side in (reply.newer, reply.older):
            out.print(f"{escape(visible(side.id))} is {side.status}: {escape(visible(side.text))}", soft_wrap=True)


async def _ask(answer: Answer[Q, R], request: Q, data: Path | None, nats: str | None) -> R:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(answer, request, patience=_PATIENCE)


def _show(items: tuple[Conflict, ...]) -> None:
    if not items:
        out.print("nothing contradicts")
    for item in items:
        out.print(escape(visible(item.question)), soft_wrap=True)
        out.print(
            f"  --newer {escape(visible(item.newer.id))} --older {escape(visible(item.older.id))}", soft_wrap=True
        )
