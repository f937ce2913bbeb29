"""`memorybus forget`: leaves nothing of one entry, and refuses its statement for a while."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from contracts.v1.commands import ForgetReceipt, ForgetRequest
from services.cli.asking import talk
from services.cli.common import DataOption, NatsOption, UserOption, fail, out, visible
from services.cli.erase import receipt_table

EPILOG = """Examples:\n
  memorybus forget 6f1d2a52 --user ann\n
  memorybus forget 6f1d2a52-8d3c-5b61-9a4e-0c7f5e2b9d10 --user ann --data ./memory --json
"""


def forget(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The entry, as `memorybus ask` names it; a beginning of eight characters is enough."
        ),
    ],
    user: UserOption,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Forget one entry, with all that says it; the same statement is refused for a while."""
    request = ForgetRequest(user_id=user, id=id_)
    receipt = talk(data, nats, lambda client: client.forget(request)).receipt
    if as_json:
        print(json.dumps({"user_id": user, **receipt.model_dump(mode="json")}))
    else:
        show_receipt(receipt, out)
    if problem := what_is_left(receipt):
        fail(problem)


def show_receipt(receipt: ForgetReceipt, console: Console) -> None:
    """What was removed and what is found now, and until when the statement may not come back."""
    removed = {
        "entries": 1,
        "vectors": receipt.vectors,
        "waiting messages": receipt.messages,
        "dead letters": receipt.dead_letters,
    }
    console.print(receipt_table(removed, receipt.left))
    console.print(f"Turns of the log from which its words were taken: {receipt.turns:,}.", soft_wrap=True)
    if any(receipt.left.values()):
        return
    console.print(
        f"{escape(visible(receipt.id))} was forgotten at {receipt.forgotten_at:%Y-%m-%d %H:%M} UTC; the same statement "
        f"is refused until {receipt.refused_until:%Y-%m-%d %H:%M} UTC.",
        soft_wrap=True,
    )


def what_is_left(receipt: ForgetReceipt) -> str | None:
    """What somebody must do because something is found after all; None when nothing is."""
    left = [f"{count:,} in {place}" for place, count in receipt.left.items() if count]
    if not left:
        return None
    return f"something of it is still found: {', '.join(left)}; repeat the command to remove the rest"
