"""A command that sends one request to the running instance, and shows the reply as it is or line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from contracts.flow import Answer, Q, R
from services.cli.common import nats_url, out, run, visible
from services.shared.client import memory_client

SpaceOption = Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)]
PersonaOption = Annotated[
    str | None, typer.Option("--persona", help="Only what this persona sees.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")]

_PATIENCE = 15.0


def ask_once(
    answer: Answer[Q, R],
    request: Q,
    lines: Callable[[R], Iterable[str]],
    *,
    data: Path | None,
    nats: str | None,
    as_json: bool,
) -> None:
    """Ask, and print the reply; nothing in its lines is markup, or moves the cursor."""
    reply = run(_asked(answer, request, data, nats))
    if as_json:
        print(reply.model_dump_json())
        return
    for line in lines(reply):
        out.print(Text(visible(line)), soft_wrap=True)


async def _asked(answer: Answer[Q, R], request: Q, data: Path | None, nats: str | None) -> R:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(answer, request, patience=_PATIENCE)
