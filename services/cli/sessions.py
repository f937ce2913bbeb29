"""`memorybus sessions`: when a user talked, and what a session amounts to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from contracts import flow
from contracts.v1.sessions import Extract, Session, SessionsReply, SessionsRequest
from services.cli.common import DataOption, NatsOption, UserOption, nats_url, out, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus sessions --user me\n
  memorybus sessions --user me --id 0c7f5e2b-…\n
  memorybus sessions --user me --rolling c1 --json
"""

_PATIENCE = 10.0


def sessions(
    user: UserOption,
    id_: Annotated[str | None, typer.Option("--id", help="Sum up this session.", show_default=False)] = None,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)] = None,
    persona: Annotated[
        str | None, typer.Option("--persona", help="Only what this persona sees.", show_default=False)
    ] = None,
    rolling: Annotated[
        str | None, typer.Option("--rolling", help="Sum up this conversation.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Most sessions shown.")] = 20,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """List sessions, or say what one of them amounts to."""
    request = SessionsRequest(user_id=user, space=space, persona_id=persona, id=id_, rolling=rolling, limit=limit)
    reply = run(_ask(request, data, nats))
    if as_json:
        print(reply.model_dump_json())
        return
    if not reply.items:
        out.print("no sessions")
    for session in reply.items:
        _say(_line(session))
    if reply.summary is not None:
        _show("in a line", (reply.summary.one_liner,) if reply.summary.one_liner else ())
        for name in ("what_mattered", "open_loops", "commitments", "people"):
            _show(name.replace("_", " "), getattr(reply.summary, name))
    if reply.rolling is not None and not reply.rolling.turns:
        _say(f"conversation {reply.rolling.conversation_id}: it is summed up from its fourth turn on")
    elif reply.rolling is not None:
        _say(f"conversation {reply.rolling.conversation_id} as of turn {reply.rolling.turns}: {reply.rolling.text}")


async def _ask(request: SessionsRequest, data: Path | None, nats: str | None) -> SessionsReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(flow.SESSIONS, request, patience=_PATIENCE)


def _line(session: Session) -> str:
    ended = "not over yet" if session.ended_at is None else f"until {session.ended_at:%H:%M}"
    where = ", ".join(session.conversation_ids[:3])
    turns = f"{session.turn_count} turn{'' if session.turn_count == 1 else 's'}"
    return f"{session.id}  {session.started_at:%Y-%m-%d %H:%M} {ended}, {turns}, space {session.space}: {where}"


def _show(name: str, extracts: tuple[Extract, ...]) -> None:
    for extract in extracts:
        _say(f"  {name}: {extract.text}  ({extract.source_ids[0][:8]})")


def _say(line: str) -> None:
    out.print(escape(visible(line)), soft_wrap=True)
