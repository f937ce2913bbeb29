"""`memorybus erase`: removes everything of a user, and shows by looking again that nothing is left."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from contracts.ports import Unavailable
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest, StatusReply
from services.cli.common import DataOption, NatsOption, UserOption, err, fail, nats_url, out, run, visible
from services.shared.client import RequestFailed, memory_client

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
_PATIENCE = 15.0
_PAUSE = 0.5


class Erasing(Protocol):
    """What erasing needs of a client."""

    async def status(self, user_id: str | None = None) -> StatusReply: ...

    async def erase(self, request: EraseRequest) -> EraseReply: ...


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
    err.print(what_there_is(user, run(_status(user, data, nats))), highlight=False, soft_wrap=True)
    if not yes and not typer.confirm(f"Erase everything of {visible(user)!r} for good?", err=True):
        fail("nothing was erased")
    receipt = run(_erase(user, data, nats), interrupted=_INTERRUPTED)
    if as_json:
        print(as_line(user, receipt))
    else:
        show_receipt(user, receipt, out)
    if problem := what_is_left(user, receipt):
        fail(problem)


def _has_terminal() -> bool:
    return sys.stdin.isatty()


async def _status(user: str, data: Path | None, nats: str | None) -> StatusReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.status(user)


async def _erase(user: str, data: Path | None, nats: str | None) -> EraseReceipt:
    async with memory_client(nats_url(data, nats)) as client:
        with err.status("erasing, and looking again") as status:
            return await erased(client, user, tell=lambda receipt: status.update(progress(receipt)))


async def erased(
    client: Erasing,
    user: str,
    *,
    patience: float = _PATIENCE,
    pause: float = _PAUSE,
    tell: Callable[[EraseReceipt], None] = lambda receipt: None,
) -> EraseReceipt:
    """Erase until nothing is left in any place or file, or nothing came of it for `patience` seconds.

    What is under way is waited for as long as it takes, and never asked for anew: what the user publishes meanwhile
    stays. Returns the receipt of all attempts.

    Raises:
        RequestFailed: the request was refused.
        Unavailable: memorybus, a store or the bus did not answer in all that time.
    """
    deadline, receipt = time.monotonic() + patience, None
    while True:
        try:
            since = receipt.requested_at if receipt else None
            found = (await client.erase(EraseRequest(user_id=user, requested_at=since))).receipt
            receipt = together(receipt, found) if receipt else found
            tell(receipt)
            if receipt.state == "under_way":
                deadline = time.monotonic() + patience
            elif is_complete(receipt) or time.monotonic() > deadline:
                return receipt
        except (RequestFailed, Unavailable) as error:
            if not _may_heal(error):
                raise
            if time.monotonic() > deadline:
                raise Unavailable(f"{error}; what is removed is gone: erase again for the rest") from error
        await asyncio.sleep(pause)


def progress(receipt: EraseReceipt) -> str:
    """How far it is, in one line."""
    left = sum(receipt.left.values())
    if receipt.state == "under_way":
        return f"erasing, {left:,} left; it goes on by itself should this be interrupted"
    return "erased, waiting until bus and files are clean"


def _may_heal(error: RequestFailed | Unavailable) -> bool:
    return isinstance(error, Unavailable) or error.info.retryable


def together(before: EraseReceipt, after: EraseReceipt) -> EraseReceipt:
    """One receipt of two attempts: what the second found beyond what the first had left came in between.

    Receipts of one erasure all count what it removed.
    """
    if before.state == "under_way" or before.requested_at == after.requested_at is not None:
        return after.model_copy(update={"removed": before.removed or after.removed})
    came = {place: max(0, found - before.left.get(place, 0)) for place, found in after.removed.items()}
    places = {**before.removed, **came}
    removed = {place: before.removed.get(place, 0) + came.get(place, 0) for place in places}
    return after.model_copy(update={"removed": removed})


def is_complete(receipt: EraseReceipt) -> bool:
    """Whether nothing is found in any place, nor readable in any file."""
    return receipt.state == "done" and receipt.drained and receipt.swept and not any(receipt.left.values())


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
    console.print(f"Nothing of {_named(user)} is found any more.", highlight=False, soft_wrap=True)
    for line in _about_files(receipt):
        console.print(line, highlight=False, soft_wrap=True)


def receipt_table(removed: Mapping[str, int], left: Mapping[str, int]) -> Table:
    """Counts by place: removed, and found by looking again."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("place")
    table.add_column("removed", justify="right")
    table.add_column("found now", justify="right")
    for place in {**removed, **left}:
        found = left.get(place)
        shown = "" if found is None else Text(f"{found:,}", style="red" if found else "")
        table.add_row(Text(visible(place)), f"{removed.get(place, 0):,}", shown)
    return table


def _about_files(receipt: EraseReceipt) -> list[str]:
    if receipt.drained and receipt.swept:
        return [_CLEAN]
    waits = []
    if not receipt.drained:
        waits.append(
            "[yellow]The bus still holds turns of others: until it has none for a moment, bytes of what was removed "
            "may stay readable in its files.[/yellow]"
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
