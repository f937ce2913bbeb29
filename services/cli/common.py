"""What the commands share: options that find the running instance, and errors shown as one helpful line."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console

from contracts.ports import Unavailable
from services.shared.client import RequestFailed
from services.shared.instance import NotRunning, find_instance
from services.shared.settings import Settings

T = TypeVar("T")

out = Console()
err = Console(stderr=True)

DataOption = Annotated[
    Path | None, typer.Option("--data", help="Data folder of the running instance.", show_default=False)
]
NatsOption = Annotated[
    str | None, typer.Option("--nats", help="Bus to talk to, instead of finding it by --data.", metavar="URL")
]
UserOption = Annotated[str, typer.Option("--user", "-u", help="Whose memory.")]


def nats_url(data: Path | None, nats: str | None) -> str:
    """Where the running instance's bus is: `--nats`, MEMORYBUS_NATS_URL, or found by the data folder.

    Raises:
        NotRunning: nothing runs there.
    """
    settings = Settings() if data is None else Settings(data=data)
    return nats or settings.nats_url or find_instance(settings.data).nats


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command; an expected failure is one line on standard error and exit code 1."""
    try:
        return asyncio.run(work)
    except (NotRunning, Unavailable, RequestFailed) as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def fail(message: str) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    err.print(f"[red]error:[/red] {message}", highlight=False, soft_wrap=True)
    raise typer.Exit(1)
