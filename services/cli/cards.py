"""`memorybus cards`: who and what is around a user, and which names are of one person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from contracts import flow
from contracts.v1.cards import CardsReply, CardsRequest, EntityFacts, NamesReply, NamesRequest
from services.cli.asking import JsonOption, SpaceOption, ask_once
from services.cli.common import DataOption, NatsOption, UserOption, fail

EPILOG = """Examples:\n
  memorybus cards --user me\n
  memorybus cards --user me --name Clara --json\n
  memorybus cards --user me --same Makesh Mukesh\n
  memorybus cards --user me --apart Sara Sarah
"""

_Pair = tuple[str, str]


def cards(
    user: UserOption,
    space: SpaceOption = None,
    name: Annotated[str | None, typer.Option(help="Only the card of this one.")] = None,
    same: Annotated[_Pair | None, typer.Option(help="Two names that are of one person.")] = None,
    apart: Annotated[_Pair | None, typer.Option(help="Two names that are of two people.")] = None,
    undecided: Annotated[_Pair | None, typer.Option(help="Leave two names to memorybus again.")] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the cards of people, projects and events, or decide whether two names are of one person."""
    decisions = [(pair, how) for pair, how in ((same, True), (apart, False), (undecided, None)) if pair is not None]
    if len(decisions) > 1:
        fail("--same, --apart and --undecided: one of them at a time")
    if decisions:
        ((one, other), how), *_ = decisions
        decision = NamesRequest(user_id=user, one=one, other=other, same=how)
        ask_once(flow.NAMES, decision, _decided, data=data, nats=nats, as_json=as_json)
    else:
        request = CardsRequest(user_id=user, space=space, name=name)
        ask_once(flow.CARDS, request, _cards, data=data, nats=nats, as_json=as_json)


def _decided(reply: NamesReply) -> Iterator[str]:
    decided = {True: "one person", False: "two people", None: "left to memorybus"}[reply.same]
    yield f"{reply.one} and {reply.other}: {decided}"


def _cards(reply: CardsReply) -> Iterator[str]:
    if not reply.items:
        yield "no cards"
    yield from map(_line, reply.items)
    for likely in reply.likely:
        one, other = likely.one, likely.other
        yield f"perhaps one person: {one} and {other}  (--same {one!r} {other!r}, or --apart)"
    for decided in reply.decided:
        yield f"decided: {decided.one} and {decided.other} are {'one person' if decided.same else 'two people'}"
    if reply.left_out:
        yield f"{reply.left_out} older entries were not read"


def _line(card: EntityFacts) -> str:
    also = f" (also {', '.join(card.names[1:])})" if len(card.names) > 1 else ""
    facts = "; ".join(
        f"{fact.text}{' [pinned]' if fact.pinned else ''}{' [in conflict]' if fact.in_conflict else ''}"
        for fact in card.facts
    )
    return f"[{card.entity_ref}] {card.label}{also}{': ' if facts else ''}{facts}"
