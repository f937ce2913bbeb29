"""`memorybus erase`: removes everything of a user, and shows by looking again that nothing is left."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from contracts.v1.commands import EraseReceipt, StatusReply
from services.cli.asking import talk
from services.cli.common import DataOption, NatsOption, UserOption, confirm, err, fail, out, visible
from services.cli.tables import plain
from services.shared.client import MemoryClient
from services.shared.commands.erasing import erased, is_complete

EPILOG = """Examples:\n
  memorybus erase --user ann\n
  memorybus erase --user ann --data ./memory\n
  memorybus erase --user ann --nats nats://bus-1:4222 --yes --json
"""
_CLEAN = (
    "The bus has drained and the files of the stores are swept: no byte of it can be read there. Where several servers "
    "copy the bus to each other, their logs follow within minutes."
)
_INTERRUPTED = "interrupted: what was begun goes on by itself; the same command says how it stands"


def erase(
    user: UserOption,
    data: DataOption = None,
    nats: NatsOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Remove everything of a user for good: log, entries, vectors, dead letters, what waits on the bus.

    Every place is looked at again until nothing is found there, nor readable in the files.
    """
    if not yes and not _has_terminal():
        fail("nothing was erased: nobody is there to be asked; --yes erases without asking")
    err.print(what_there_is(user, talk(data, nats, lambda client: client.status(user))), soft_wrap=True)
    if not yes:
        confirm(f"Erase everything of {visible(user)!r} for good?", "nothing was erased")
    receipt = talk(data, nats, lambda client: _erased(client, user), interrupted=_INTERRUPTED)
    if as_json:
        print(as_line(user, receipt))
    else:
        show_receipt(user, receipt, out)
    if problem := what_is_left(user, receipt):
        fail(problem)


def _has_terminal() -> bool:
    return sys.stdin.isatty()


async def _erased(client: MemoryClient, user: str) -> EraseReceipt:
    with err.status("erasing, and looking again") as status:
        return await erased(client, user, tell=lambda receipt: status.update(progress(receipt)))


def progress(receipt: EraseReceipt) -> str:
    """How far it is, in one line."""
    left = sum(receipt.left.values())
    if receipt.state == "under_way":
        return f"erasing, {left:,} left; it goes on by itself should this be interrupted"
    return "erased, waiting until bus and files are clean"


def what_there_is(user: str, counts: StatusReply) -> str:
    """What the stores hold of a user, in one sentence."""
    stored = {
        "turns": counts.turns,
        "entries": counts.entries,
        "inactive entries": counts.inactive,
        "vectors": counts.vectors,
    }
    listed = ", ".join(f"{count:,} {name}" for name, count in stored.items())
    return f"The stores hold of {_named(user)}: {listed}."


def show_receipt(user: str, receipt: EraseReceipt, console: Console) -> None:
    """What was removed and what is found now, place by place, and in words whether that is all."""
    console.print(receipt_table(receipt.removed, receipt.left))
    if any(receipt.left.values()):
        return
    if any(receipt.removed.values()):
        console.print(f"Nothing of {_named(user)} is found any more.", soft_wrap=True)
    else:
        console.print(
            f"There was nothing of {_named(user)}: it was erased before, or the name is another.", soft_wrap=True
        )
    for line in _about_files(receipt):
        console.print(line, soft_wrap=True)


def receipt_table(removed: Mapping[str, int], left: Mapping[str, int]) -> Table:
    """Counts by place: removed, and found by looking again."""
    rows = []
    for place in {**removed, **left}:
        found = left.get(place)
        shown = "" if found is None else Text(f"{found:,}", style="red" if found else "")
        rows.append((Text(visible(place)), f"{removed.get(place, 0):,}", shown))
    return plain(("place", "removed", "found now"), rows)


def _about_files(receipt: EraseReceipt) -> list[str]:
    if receipt.drained and receipt.swept:
        return [_CLEAN]
    waits = []
    if not receipt.drained:
        waits.append(
            "[yellow]The bus still holds turns or events of others: until it has none for a moment, bytes of what was "
            "removed, or the user's id, may stay readable in its files.[/yellow]"
        )
    if not receipt.swept:
        waits.append(
            "[yellow]The files of the stores are not swept yet: it follows by itself once memorybus is idle, within "
            "seconds.[/yellow]"
        )
    return [*waits, "The same command, repeated, says when that is done."]


def what_is_left(user: str, receipt: EraseReceipt) -> str | None:
    """What somebody must do because something is found after all; None when nothing is."""
    left = [f"{count:,} in {place}" for place, count in receipt.left.items() if count]
    if not left:
        return None
    return (
        f"something of {visible(user)!r} is still found: {', '.join(left)}. Is anybody publishing for this user? Stop "
        "that, then repeat the command"
    )


def as_line(user: str, receipt: EraseReceipt) -> str:
    """The receipt as one JSON line."""
    return json.dumps({"user_id": user, **receipt.model_dump(mode="json"), "complete": is_complete(receipt)})


def _named(user: str) -> str:
    return escape(repr(visible(user)))
