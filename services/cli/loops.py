"""`memorybus loops`: what is still to be done, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel
from rich.markup import escape

from contracts import flow
from contracts.flow import Answer, Q, R
from contracts.v1.loops import LoopsReply, LoopsRequest, OpenLoop, SettleReply, SettleRequest
from services.cli.common import DataOption, NatsOption, UserOption, fail, nats_url, out, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus loops --user me\n
  memorybus loops --user me --all --json\n
  memorybus loops --user me --set done --id 6f1d2a52-…:0c7f5e2b9d3a4f10
"""

_PATIENCE = 10.0


def loops(
    user: UserOption,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)] = None,
    persona: Annotated[
        str | None, typer.Option("--persona", help="Only what this persona sees.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also show what is done or dropped.")] = False,
    state: Annotated[
        Literal["open", "done", "dropped", "undecided"] | None,
        typer.Option("--set", help="Say what became of one of them.", show_default=False),
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Which one that is.", show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most that are shown.")] = 50,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """List what is still to be done, or say what became of it."""
    reply: BaseModel
    if (state is None) != (id_ is None):
        fail("--set and --id go together: what became of which one")
    if state is None or id_ is None:
        wanted: Literal["open", "all"] = "all" if every else "open"
        asked = LoopsRequest(user_id=user, space=space, persona_id=persona, state=wanted, limit=limit)
        reply = run(_ask(flow.LOOPS, asked, data, nats))
    else:
        decided = None if state == "undecided" else state
        reply = run(_ask(flow.SETTLE, SettleRequest(user_id=user, id=id_, state=decided), data, nats))
    if as_json:
        print(reply.model_dump_json())
    elif isinstance(reply, LoopsReply):
        _show(reply)
    elif isinstance(reply, SettleReply):
        _say(_line(reply.loop))


async def _ask(answer: Answer[Q, R], request: Q, data: Path | None, nats: str | None) -> R:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(answer, request, patience=_PATIENCE)


def _show(reply: LoopsReply) -> None:
    if not reply.items:
        out.print("nothing is to be done")
    for loop in reply.items:
        _say(_line(loop))
    if (more := reply.total_count - len(reply.items)) > 0:
        _say(f"and {more} more: raise --limit")
    if reply.left_out:
        _say(f"{reply.left_out} older entries were not read")


def _line(loop: OpenLoop) -> str:
    due = f", due {loop.due_on}{' (overdue)' if loop.overdue else ''}" if loop.due_on else ""
    persona = f", {loop.persona_id}" if loop.persona_id else ""
    return f"{loop.state}{due}{persona}: {loop.text}  (--id {loop.id})"


def _say(line: str) -> None:
    out.print(escape(visible(line)), soft_wrap=True)
