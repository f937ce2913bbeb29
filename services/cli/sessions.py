"""`memorybus sessions`: when a user talked, and what a session amounts to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from contracts import flow
from contracts.v1.sessions import Session, SessionsReply, SessionsRequest, SessionSummary
from services.cli.asking import JsonOption, PersonaOption, SpaceOption, ask_once
from services.cli.common import DataOption, NatsOption, UserOption

EPILOG = """Examples:\n
  memorybus sessions --user me\n
  memorybus sessions --user me --id 0c7f5e2b-…\n
  memorybus sessions --user me --rolling c1 --json
"""


def sessions(
    user: UserOption,
    id_: Annotated[str | None, typer.Option("--id", help="Sum up this session.")] = None,
    space: SpaceOption = None,
    persona: PersonaOption = None,
    rolling: Annotated[str | None, typer.Option(help="Sum up this conversation.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Most sessions shown.")] = 20,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, or say what one of them amounts to."""
    request = SessionsRequest(user_id=user, space=space, persona_id=persona, id=id_, rolling=rolling, limit=limit)
    ask_once(flow.SESSIONS, request, _sessions, data=data, nats=nats, as_json=as_json)


def _sessions(reply: SessionsReply) -> Iterator[str]:
    if not reply.items:
        yield "no sessions"
    yield from map(_line, reply.items)
    if reply.summary is not None:
        yield from _summary(reply.summary)
    if (rolling := reply.rolling) is not None and not rolling.turns:
        yield f"conversation {rolling.conversation_id}: it is summed up from its fourth turn on"
    elif rolling is not None:
        yield f"conversation {rolling.conversation_id} as of turn {rolling.turns}: {rolling.text}"


def _line(session: Session) -> str:
    ended = "not over yet" if session.ended_at is None else f"until {session.ended_at:%H:%M}"
    where = ", ".join(session.conversation_ids[:3])
    turns = f"{session.turn_count} turn{'' if session.turn_count == 1 else 's'}"
    return f"{session.id}  {session.started_at:%Y-%m-%d %H:%M} {ended}, {turns}, space {session.space}: {where}"


def _summary(summary: SessionSummary) -> Iterator[str]:
    told = {"in a line": (summary.one_liner,) if summary.one_liner else (), "what mattered": summary.what_mattered}
    told |= {"open loops": summary.open_loops, "commitments": summary.commitments, "people": summary.people}
    for name, extracts in told.items():
        for extract in extracts:
            yield f"  {name}: {extract.text}  ({extract.source_ids[0][:8]})"
