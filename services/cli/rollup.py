"""`memorybus rollup`: what is old and of one topic in a few lines, shown first, made, listed, and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from contracts import flow
from contracts.v1.rollups import (
    RollUp,
    RollUpReply,
    RollUpRequest,
    RollUpsReply,
    RollUpsRequest,
    RollUpUndoReply,
    RollUpUndoRequest,
)
from services.cli.common import DataOption, NatsOption, UserOption, bars, err, fail, nats_url, out, plural, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus rollup --user me --topic sourdough --preview\n
  memorybus rollup --user me --topic sourdough --older-than 90\n
  memorybus rollup --user me --list\n
  memorybus rollup --user me --undo 6f1d2a52-… --json
"""

_PATIENCE = 60.0
_TOGETHER = 5
"""Roll-ups of one request, so that progress can be told between two."""


def rollup(
    user: UserOption,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Words that all of it has, in any form.", show_default=False)
    ] = None,
    theme: Annotated[str | None, typer.Option("--theme", help="Only what is under this.", show_default=False)] = None,
    older_than: Annotated[
        float, typer.Option("--older-than", min=0, help="Only what was last said or an answer so many days ago.")
    ] = 0,
    space: Annotated[str | None, typer.Option("--space", help="In this space.", show_default="default")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would be rolled up, and leave it.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the roll-ups that there are.")] = False,
    undo: Annotated[str | None, typer.Option("--undo", help="Take back this roll-up.", show_default=False)] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """Roll up what is said of a topic, without one of every topic that is found: its memories are archived.

    What is pinned or saved is left alone. Every line of a roll-up is word by word what some of its memories say.
    """
    if listed + (undo is not None) + (topic is not None or theme is not None or preview) > 1:
        fail("--list, --undo and a topic do not go together: choose one")
    reply: RollUpReply | RollUpsReply | RollUpUndoReply
    if undo is not None:
        reply = run(_undo(RollUpUndoRequest(user_id=user, id=undo), data, nats))
    elif listed:
        reply = run(_list(RollUpsRequest(user_id=user, space=space, limit=50), data, nats))
    else:
        asked = RollUpRequest(
            user_id=user,
            space=space or "default",
            topic=topic,
            theme=theme,
            older_than_days=older_than,
            limit=_TOGETHER,
            preview=preview,
        )
        reply = run(_roll_up(asked, data, nats))
    if as_json:
        print(reply.model_dump_json())
    elif isinstance(reply, RollUpUndoReply):
        _say(f"{reply.id} is taken back: {plural(len(reply.restored), 'memory', 'memories')} in use again")
    else:
        _show(reply.items)
        if isinstance(reply, RollUpReply) and reply.left:
            _say(f"and {plural(reply.left, 'more roll-up')}")


async def _roll_up(request: RollUpRequest, data: Path | None, nats: str | None) -> RollUpReply:
    """All of them, some at a time; of a preview the first."""
    items: list[RollUp] = []
    async with memory_client(nats_url(data, nats)) as client:
        with bars(err) as progress:
            while True:
                progress("rolling up", len(items))
                reply = await client.request(flow.ROLL_UP, request, patience=_PATIENCE)
                items += reply.items
                progress("rolling up", len(items), len(items) + reply.left)
                if request.preview or not reply.left or not reply.items:
                    return reply.model_copy(update={"items": tuple(items)})


async def _list(request: RollUpsRequest, data: Path | None, nats: str | None) -> RollUpsReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(flow.ROLL_UPS, request, patience=_PATIENCE)


async def _undo(request: RollUpUndoRequest, data: Path | None, nats: str | None) -> RollUpUndoReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(flow.ROLL_UP_UNDO, request, patience=_PATIENCE)


def _show(items: tuple[RollUp, ...]) -> None:
    if not items:
        out.print("nothing is rolled up")
    for one in items:
        made = f"{one.at:%Y-%m-%d}  " if one.at is not None else ""
        _say(f"{one.id or 'preview'}  {made}{one.state}, {plural(len(one.source_ids), 'memory', 'memories')}")
        for sentence in one.sentences:
            _say(f"  {sentence.text}  ({sentence.source_ids[0][:8]})")


def _say(line: str) -> None:
    out.print(escape(visible(line)), soft_wrap=True)
