"""Commands that talk to the running instance, and show its reply as it is or line by line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.text import Text

from contracts.errors import Unavailable
from contracts.flow import Answer, Q, R
from contracts.v1.audit import MOST_NOTED, AuditNoteRequest
from services.cli.common import nats_url, out, run, visible
from services.shared.client import MemoryClient, RequestFailed, memory_client

T = TypeVar("T")

SpaceOption = Annotated[str | None, typer.Option("--space", help="Only in this space.")]
PersonaOption = Annotated[str | None, typer.Option("--persona", help="Only what this persona sees.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")]

_PATIENCE = 15.0


async def keep_account(client: MemoryClient, verb: str, about: Sequence[str], users: Sequence[str] = ()) -> None:
    """Have the audit say what was done; it is done though nobody is there to write it."""
    request = AuditNoteRequest(verb=verb, users=tuple(users[:MOST_NOTED]), about=tuple(about[:MOST_NOTED]))
    with suppress(Unavailable, RequestFailed):
        await client.note(request)


def talk(
    data: Path | None, nats: str | None, work: Callable[[MemoryClient], Awaitable[T]], *, interrupted: str = ""
) -> T:
    """Do this with a client of the running instance; what fails is said as `run` says it."""

    async def talked() -> T:
        async with memory_client(nats_url(data, nats)) as client:
            return await work(client)

    return run(talked(), interrupted=interrupted)


def ask_once(
    answer: Answer[Q, R],
    request: Q,
    lines: Callable[[R], Iterable[str]],
    *,
    data: Path | None,
    nats: str | None,
    as_json: bool,
) -> None:
    """Ask, and print the reply."""
    reply = talk(data, nats, lambda client: client.request(answer, request, patience=_PATIENCE))
    tell(reply, lines, as_json=as_json)


def tell(reply: R, lines: Callable[[R], Iterable[str]], *, as_json: bool) -> None:
    """Print a reply; nothing in its lines is markup, or moves the cursor."""
    if as_json:
        print(reply.model_dump_json())
        return
    for line in lines(reply):
        out.print(Text(visible(line)), soft_wrap=True)
