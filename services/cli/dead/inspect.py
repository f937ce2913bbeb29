"""`memorybus dead list` and `memorybus dead show`: what could not be digested, and why."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from services.cli.common import DataOption, NatsOption, fail, out, run
from services.cli.dead.choice import ReasonOption, SinceOption, StageOption, Where, WhoseOption, letters_at
from services.cli.dead.view import everything, show_letter, show_list, summary
from services.shared.bus.dead_letters import LetterFilter, NoSuchLetter, StoredLetter

LIST_EPILOG = """Examples:\n
  memorybus dead list\n
  memorybus dead list --stage ingest --since 2h\n
  memorybus dead list --user ann --reason "bytes" --json
"""
SHOW_EPILOG = """Examples:\n
  memorybus dead show 17\n
  memorybus dead show 17 --json
"""
HIGHEST = 2**63 - 1


def list_(
    stage: StageOption = None,
    user: WhoseOption = None,
    since: SinceOption = None,
    reason: ReasonOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Show so many, the newest first.")] = 50,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line for each.")] = False,
) -> None:
    """Show what could not be digested, newest first."""
    wanted = LetterFilter(stage, user, since, reason)
    found = run(_found(Where(data, nats), wanted, limit + 1))
    shown = found[:limit]
    if as_json:
        for kept in shown:
            print(json.dumps(summary(kept)))
    else:
        show_list(shown, out, more=len(found) > limit, narrowed=wanted != LetterFilter())


def show(
    number: Annotated[int, typer.Argument(min=1, max=HIGHEST, metavar="NUMBER", help="As `dead list` shows it.")],
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Show everything about one dead letter: where it came from, why it died, and what it said."""
    try:
        kept = run(_one(Where(data, nats), number))
    except NoSuchLetter as error:
        fail(str(error))
    if as_json:
        print(json.dumps(everything(kept)))
    else:
        show_letter(kept, out)


async def _found(where: Where, wanted: LetterFilter, count: int) -> list[StoredLetter]:
    found: list[StoredLetter] = []
    async with letters_at(where) as letters:
        async for kept in letters.newest_first(wanted):
            found.append(kept)
            if len(found) == count:
                break
    return found


async def _one(where: Where, number: int) -> StoredLetter:
    async with letters_at(where) as letters:
        return await letters.get(number)
