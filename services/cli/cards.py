"""`memorybus cards`: who and what is around a user, and which names are of one person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.markup import escape

from contracts import flow
from contracts.flow import Answer, Q, R
from contracts.v1.cards import CardsReply, CardsRequest, EntityFacts, NamesReply, NamesRequest
from services.cli.common import DataOption, NatsOption, UserOption, fail, nats_url, out, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus cards --user me\n
  memorybus cards --user me --name Clara --json\n
  memorybus cards --user me --same Makesh Mukesh\n
  memorybus cards --user me --apart Sara Sarah
"""

_PATIENCE = 15.0
_Pair = tuple[str, str]


def cards(
    user: UserOption,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option("--name", help="Only the card of this one.", show_default=False)] = None,
    same: Annotated[
        _Pair | None, typer.Option("--same", help="Two names that are of one person.", show_default=False)
    ] = None,
    apart: Annotated[
        _Pair | None, typer.Option("--apart", help="Two names that are of two people.", show_default=False)
    ] = None,
    undecided: Annotated[
        _Pair | None, typer.Option("--undecided", help="Leave two names to memorybus again.", show_default=False)
    ] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """Show the cards of people, projects and events, or decide whether two names are of one person."""
    decisions = [(pair, how) for pair, how in ((same, True), (apart, False), (undecided, None)) if pair is not None]
    if len(decisions) > 1:
        fail("--same, --apart and --undecided: one of them at a time")
    reply: BaseModel
    if decisions:
        ((one, other), how), *_ = decisions
        reply = run(_ask(flow.NAMES, NamesRequest(user_id=user, one=one, other=other, same=how), data, nats))
    else:
        reply = run(_ask(flow.CARDS, CardsRequest(user_id=user, space=space, name=name), data, nats))
    if as_json:
        print(reply.model_dump_json())
    elif isinstance(reply, CardsReply):
        _show(reply)
    elif isinstance(reply, NamesReply):
        decided = {True: "one person", False: "two people", None: "left to memorybus"}[reply.same]
        _say(f"{reply.one} and {reply.other}: {decided}")


async def _ask(answer: Answer[Q, R], request: Q, data: Path | None, nats: str | None) -> R:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(answer, request, patience=_PATIENCE)


def _show(reply: CardsReply) -> None:
    if not reply.items:
        out.print("no cards")
    for card in reply.items:
        _say(_line(card))
    for likely in reply.likely:
        _say(
            f"perhaps one person: {likely.one} and {likely.other}  (--same {likely.one!r} {likely.other!r}, or --apart)"
        )
    for decided in reply.decided:
        _say(f"decided: {decided.one} and {decided.other} are {'one person' if decided.same else 'two people'}")
    if reply.left_out:
        _say(f"{reply.left_out} older entries were not read")


def _line(card: EntityFacts) -> str:
    also = f" (also {', '.join(card.names[1:])})" if len(card.names) > 1 else ""
    facts = "; ".join(f"{fact.text}{' [pinned]' if fact.pinned else ''}" for fact in card.facts)
    return f"[{card.entity_ref}] {card.label}{also}{': ' if facts else ''}{facts}"


def _say(line: str) -> None:
    out.print(escape(visible(line)), soft_wrap=True)
