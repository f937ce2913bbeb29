"""`memorybus loops`: what is still to be done, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from contracts import flow
from contracts.v1.loops import LoopsReply, LoopsRequest, OpenLoop, SettleReply, SettleRequest
from services.cli.asking import JsonOption, PersonaOption, SpaceOption, ask_once
from services.cli.common import DataOption, NatsOption, UserOption, fail

EPILOG = """Examples:\n
  memorybus loops --user me\n
  memorybus loops --user me --all --json\n
  memorybus loops --user me --set done --id 6f1d2a52-…:0c7f5e2b9d3a4f10
"""


def loops(
    user: UserOption,
    space: SpaceOption = None,
    persona: PersonaOption = None,
    every: Annotated[bool, typer.Option("--all", help="Also show what is done or dropped.")] = False,
    state: Annotated[
        Literal["open", "done", "dropped", "undecided"] | None,
        typer.Option("--set", help="Say what became of one of them."),
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="Which one that is.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most that are shown.")] = 50,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what is still to be done, or say what became of it."""
    if (state is None) != (id_ is None):
        fail("--set and --id go together: what became of which one")
    if state is None or id_ is None:
        wanted: Literal["open", "all"] = "all" if every else "open"
        request = LoopsRequest(user_id=user, space=space, persona_id=persona, state=wanted, limit=limit)
        ask_once(flow.LOOPS, request, _loops, data=data, nats=nats, as_json=as_json)
    else:
        decision = SettleRequest(user_id=user, id=id_, state=None if state == "undecided" else state)
        ask_once(flow.SETTLE, decision, _settled, data=data, nats=nats, as_json=as_json)


def _settled(reply: SettleReply) -> Iterator[str]:
    yield _line(reply.loop)


def _loops(reply: LoopsReply) -> Iterator[str]:
    if not reply.items:
        yield "nothing is to be done"
    yield from map(_line, reply.items)
    if (more := reply.total_count - len(reply.items)) > 0:
        yield f"and {more} more: raise --limit"
    if reply.left_out:
        yield f"{reply.left_out} older entries were not read"


def _line(loop: OpenLoop) -> str:
    due = f", due {loop.due_on}{' (overdue)' if loop.overdue else ''}" if loop.due_on else ""
    persona = f", {loop.persona_id}" if loop.persona_id else ""
    return f"{loop.state}{due}{persona}: {loop.text}  (--id {loop.id})"
