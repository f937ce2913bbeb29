"""`memorybus rollup`: what is old and of one topic in a few lines, shown first, made, listed, and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.text import Text

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
from services.cli.asking import JsonOption, ask_once, talk, tell
from services.cli.common import DataOption, NatsOption, UserOption, bars, confirm, err, fail, plural, visible
from services.shared.client import MemoryClient

EPILOG = """Examples:\n
  memorybus rollup --user me --topic sourdough --preview\n
  memorybus rollup --user me --topic sourdough --older-than 90\n
  memorybus rollup --user me --older-than 365 --yes   # every topic\n
  memorybus rollup --user me --list\n
  memorybus rollup --user me --undo 6f1d2a52-… --json
"""

_PATIENCE = 60.0
_TOGETHER = 5
"""Roll-ups of one request, so that progress can be told between two."""


def rollup(
    user: UserOption,
    topic: Annotated[str | None, typer.Option(help="Words that all of it has, in any form.")] = None,
    theme: Annotated[str | None, typer.Option(help="Only what is under this.")] = None,
    older_than: Annotated[
        float, typer.Option(min=0, help="Only what was last said or an answer so many days ago.")
    ] = 0,
    space: Annotated[str | None, typer.Option(help="In this space.", show_default="default")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would be rolled up, and leave it.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the roll-ups that there are.")] = False,
    undo: Annotated[str | None, typer.Option(help="Take back this roll-up.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Roll up every topic without asking.")] = False,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Roll up what is said of a topic, without one of every topic that is found: its memories are archived.

    What is pinned or saved is left alone. Every line of a roll-up is word by word what some of its memories say.
    """
    if listed + (undo is not None) + (topic is not None or theme is not None or preview) > 1:
        fail("--list, --undo and a topic do not go together: choose one")
    if topic is not None and not topic.strip():
        fail("--topic: name words of the topic, or leave it out for every topic that is found")
    if undo is not None:
        back = RollUpUndoRequest(user_id=user, id=undo)
        ask_once(flow.ROLL_UP_UNDO, back, _undone, data=data, nats=nats, as_json=as_json)
    elif listed:
        there = RollUpsRequest(user_id=user, space=space, limit=50)
        ask_once(flow.ROLL_UPS, there, _listed, data=data, nats=nats, as_json=as_json)
    else:
        wanted = RollUpRequest(
            user_id=user,
            space=space or "default",
            topic=topic,
            theme=theme,
            older_than_days=older_than,
            limit=_TOGETHER,
            preview=preview,
        )
        if topic is None and theme is None and not (preview or yes):
            preview_of_all = wanted.model_copy(update={"preview": True})
            _confirm_all(talk(data, nats, lambda client: _rolled_up(client, preview_of_all)))
        tell(talk(data, nats, lambda client: _rolled_up(client, wanted)), _made, as_json=as_json)


def _confirm_all(found: RollUpReply) -> None:
    """Ask before every topic is rolled up: each is taken back by itself."""
    if found.items:
        for line in _lines(found.items):
            err.print(Text(visible(line)), soft_wrap=True)
        count = plural(len(found.items) + found.left, "topic")
        confirm(f"Roll up {count}, and archive what they say?", "nothing was rolled up")


async def _rolled_up(client: MemoryClient, request: RollUpRequest) -> RollUpReply:
    """All of them, some at a time; of a preview the first."""
    items: list[RollUp] = []
    with bars(err) as progress:
        while True:
            reply = await client.request(flow.ROLL_UP, request, patience=_PATIENCE)
            items += reply.items
            progress("rolling up", len(items), len(items) + reply.left)
            if request.preview or not reply.left or not reply.items:
                return reply.model_copy(update={"items": tuple(items)})


def _made(reply: RollUpReply) -> Iterator[str]:
    yield from _lines(reply.items)
    if reply.left:
        yield f"and {plural(reply.left, 'more roll-up')}"


def _undone(reply: RollUpUndoReply) -> Iterator[str]:
    yield f"{reply.id} is taken back: {plural(len(reply.restored), 'memory', 'memories')} in use again"


def _listed(reply: RollUpsReply) -> Iterator[str]:
    return _lines(reply.items)


def _lines(items: Iterable[RollUp]) -> Iterator[str]:
    one = None
    for one in items:
        made = f"{one.at:%Y-%m-%d}  " if one.at is not None else ""
        yield f"{f'{one.id}  ' if one.id else ''}{made}{one.state}, {plural(len(one.source_ids), 'memory', 'memories')}"
        yield from (f"  {sentence.text}  ({sentence.source_ids[0][:8]})" for sentence in one.sentences)
    if one is None:
        yield "nothing is rolled up"
