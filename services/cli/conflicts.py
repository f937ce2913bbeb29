"""`memorybus conflicts`: what a user said that cannot both be true, and what they decide about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from contracts import flow
from contracts.v1.conflicts import ConflictsReply, ConflictsRequest, ResolveReply, ResolveRequest
from services.cli.asking import JsonOption, SpaceOption, ask_once
from services.cli.common import DataOption, NatsOption, UserOption, fail

EPILOG = """Examples:\n
  memorybus conflicts --user me\n
  memorybus conflicts --user me --keep new --newer 6f1d2a52-… --older 0c7f5e2b-…\n
  memorybus conflicts --user me --keep open --newer 6f1d2a52-… --older 0c7f5e2b-…   # asked again\n
  memorybus conflicts --user me --keep both --newer 6f1d2a52-… --older 0c7f5e2b-… --json
"""


def conflicts(
    user: UserOption,
    space: SpaceOption = None,
    keep: Annotated[Literal["new", "old", "both", "open"] | None, typer.Option(help="Decide what holds.")] = None,
    newer: Annotated[str | None, typer.Option(help="The newer statement.")] = None,
    older: Annotated[str | None, typer.Option(help="The older statement.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Most conflicts shown.")] = 20,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List statements that cannot both be true, or decide which of two holds."""
    if keep is None and (newer is not None or older is not None):
        fail("--newer and --older need --keep new, old or both: what holds; or open: to be asked again")
    if keep is None:
        request = ConflictsRequest(user_id=user, space=space, limit=limit)
        ask_once(flow.CONFLICTS, request, _conflicts, data=data, nats=nats, as_json=as_json)
    elif newer is None or older is None:
        fail("--keep needs --newer and --older: which statements it decides between")
    else:
        decision = ResolveRequest(user_id=user, newer=newer, older=older, keep=keep)
        ask_once(flow.RESOLVE, decision, _resolved, data=data, nats=nats, as_json=as_json)


def _resolved(reply: ResolveReply) -> Iterator[str]:
    for side in (reply.newer, reply.older):
        yield f"{side.id} is {side.status}: {side.text}"


def _conflicts(reply: ConflictsReply) -> Iterator[str]:
    if not reply.items:
        yield "nothing contradicts"
    for item in reply.items:
        yield item.question
        yield f"  --newer {item.newer.id} --older {item.older.id} --keep new, old or both"
