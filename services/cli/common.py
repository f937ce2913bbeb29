"""What the commands share: options that find the running instance, and errors shown as one helpful line."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from rich.console import Console
from rich.markup import escape

from contracts.errors import Unavailable, UnusableStore
from services.shared.commands.progress import Progress, untold
from services.shared.errors import MissingExtra, RequestFailed
from services.shared.instance import FolderUnusable, NotRunning, find_instance
from services.shared.logs import TextFormatter
from services.shared.redaction import redact_text
from services.shared.settings import Settings

T = TypeVar("T")

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


def _folder_named(written: str) -> Path:
    """The folder of this name, which is not empty: that would be wherever the command is started."""
    if not written:
        raise typer.BadParameter("is empty: name a folder, for example --data ~/memory")
    return Path(written)


_folder = partial(typer.Option, "--data", parser=_folder_named, metavar="FOLDER", show_default=False)
DataOption = Annotated[Path | None, _folder(help="Data folder of the running instance.")]
FolderOption = Annotated[Path | None, _folder(help="Folder of bus and stores.")]
NatsOption = Annotated[
    str | None, typer.Option("--nats", help="Bus to talk to, instead of finding it by --data.", metavar="URL")
]
NOT_SHOWN = "This user may not look at the bus: what waits there, and dead letters, are not shown."


def _named(user: str) -> str:
    if not user:
        raise typer.BadParameter("is empty: name whose memory is meant, for example --user me")
    return user


UserOption = Annotated[str, typer.Option("--user", "-u", help="Whose memory.", callback=_named)]


def nats_url(data: Path | None, nats: str | None) -> str:
    """Where the running instance's bus is: `--nats`, MEMORYBUS_NATS_URL, or found by the data folder.

    Raises:
        NotRunning: nothing runs there.
    """
    settings = settings_from(data=data)
    return nats or settings.nats_url or find_instance(settings.data).nats


def settings_from(**given: Any) -> Settings:
    """Settings from the environment, overruled by the options that were given; what is wrong is said in one line."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        problems = (("_".join(map(str, e["loc"])), e["msg"]) for e in error.errors())
        fail("; ".join(f"{name.replace('_', '-')} (MEMORYBUS_{name.upper()}): {what}" for name, what in problems))


def run(work: Coroutine[Any, Any, T], *, interrupted: str = "") -> T:
    """Run a command; an expected failure is one line on standard error and exit code 1, an interruption 130."""
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter())
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
    try:
        return asyncio.run(work)
    except (NotRunning, FolderUnusable, Unavailable, UnusableStore, MissingExtra, RequestFailed) as error:
        fail(str(error))
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        if "surrogates" not in str(error):
            raise
        fail("what was given has bytes that are no UTF-8: write it as UTF-8")
    except KeyboardInterrupt:
        if interrupted:
            err.print(interrupted, soft_wrap=True)
        raise typer.Exit(130) from None


def confirm(question: str, otherwise: str) -> None:
    """Ask somebody; without a yes nothing is done, which is said."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:  # nobody is there to answer
        agreed = False
    if not agreed:
        fail(f"{otherwise}; --yes does it without asking")


def fail(message: str) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    err.print(f"[red]error:[/red] {escape(redact_text(message))}", soft_wrap=True)
    raise typer.Exit(1)


@contextmanager
def bars(console: Console) -> Iterator[Progress]:
    """Show progress as a bar for each thing that is under way; nothing is drawn where nobody looks."""
    if not console.is_terminal:
        yield untold
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, TextColumn("{task.fields[note]}"), TimeElapsedColumn(), console=console) as drawn:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None = None, *, note: str = "") -> None:
            if what not in tasks:
                tasks[what] = drawn.add_task(what, total=total, note=note)
            drawn.update(tasks[what], completed=done, total=total, note=note)

        yield show


def plural(count: int, one: str, many: str | None = None) -> str:
    """So many of something, in words."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def one_line(text: str) -> str:
    """A text that cannot move the cursor, hide itself or start a new line: memory holds what strangers said."""
    shown = (char if char.isprintable() or char == "\u200d" else " " for char in text)
    return " ".join("".join(shown).split())


def visible(text: str, *, keep: str = "") -> str:
    """The text with everything that is not printable written out, but for the characters to `keep`."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)
