"""`memorybus dead`: what could not be digested, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from services.cli.asking import keep_account, talk
from services.cli.common import DataOption, NatsOption, bars, confirm, err, fail, out, plural, visible
from services.cli.dead.choice import ReasonOption, SinceOption, StageOption, WhoseOption
from services.cli.dead.view import everything, show_letter, show_list, summary
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, StoredLetter
from services.shared.client import MemoryClient
from services.shared.commands.dead_letters import Settled, numbers_of, settle

_HELP = "Look at what could not be digested, try it again, or let it go."
_EPILOG = "Examples:\n\n  memorybus dead list\n\n  memorybus dead retry --all"
app = typer.Typer(help=_HELP, epilog=_EPILOG, no_args_is_help=True, add_completion=False)

_LIST = """Examples:\n
  memorybus dead list\n
  memorybus dead list --stage ingest --since 2h\n
  memorybus dead list --user ann --reason "bytes" --json
"""
_SHOW = """Examples:\n
  memorybus dead show 17\n
  memorybus dead show 17 --json
"""
_RETRY = """Examples:\n
  memorybus dead retry 17 18\n
  memorybus dead retry --all --stage embed --since 2h\n
  memorybus dead retry --all --reason "are allowed"
"""
_DROP = """Examples:\n
  memorybus dead drop 17\n
  memorybus dead drop --all --user ann --yes\n
  memorybus dead drop --all --reason unreadable
"""
_HIGHEST = 2**63 - 1
_PROBLEMS_SHOWN = 10

NumbersArgument = Annotated[
    list[int] | None, typer.Argument(min=1, max=_HIGHEST, metavar="NUMBER", help="As `dead list` shows them.")
]
AllOption = Annotated[bool, typer.Option("--all", help="All that the filters leave, instead of numbers.")]


@app.command("list", epilog=_LIST)
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
    found = talk(data, nats, lambda client: _found(client, wanted, limit + 1))
    shown = found[:limit]
    if as_json:
        for kept in shown:
            print(json.dumps(summary(kept)))
    else:
        show_list(shown, out, more=len(found) > limit, narrowed=wanted != LetterFilter())


@app.command(epilog=_SHOW)
def show(
    number: Annotated[int, typer.Argument(min=1, max=_HIGHEST, metavar="NUMBER", help="As `dead list` shows it.")],
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Show everything about one dead letter: where it came from, why it died, and what it said."""
    try:
        kept = talk(data, nats, lambda client: _one(client, number))
    except NoSuchLetter as error:
        fail(str(error))
    if as_json:
        print(json.dumps(everything(kept)))
    else:
        show_letter(kept, out)


@app.command(epilog=_RETRY)
def retry(
    numbers: NumbersArgument = None,
    every: AllOption = False,
    stage: StageOption = None,
    user: WhoseOption = None,
    since: SinceOption = None,
    reason: ReasonOption = None,
    data: DataOption = None,
    nats: NatsOption = None,
) -> None:
    """Say the originals again where they were published, oldest first; each letter goes once the bus has its original.

    What fails again comes back as a new letter.
    """
    chosen = _chosen(data, nats, numbers, LetterFilter(stage, user, since, reason), every=every)
    _tell(talk(data, nats, lambda client: _settled(client, chosen, "retry", "retrying")), "retried")


@app.command(epilog=_DROP)
def drop(
    numbers: NumbersArgument = None,
    every: AllOption = False,
    stage: StageOption = None,
    user: WhoseOption = None,
    since: SinceOption = None,
    reason: ReasonOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data: DataOption = None,
    nats: NatsOption = None,
) -> None:
    """Remove dead letters for good."""
    chosen = _chosen(data, nats, numbers, LetterFilter(stage, user, since, reason), every=every)
    if chosen and not yes:
        confirm(f"Remove {plural(len(chosen), 'dead letter')} for good?", "nothing was dropped")
    _tell(talk(data, nats, lambda client: _settled(client, chosen, "drop", "dropping")), "dropped")


async def _found(client: MemoryClient, wanted: LetterFilter, count: int) -> list[StoredLetter]:
    found: list[StoredLetter] = []
    async for kept in DeadLetterQueue(client.bus).newest_first(wanted):
        found.append(kept)
        if len(found) == count:
            break
    return found


async def _one(client: MemoryClient, number: int) -> StoredLetter:
    kept = await DeadLetterQueue(client.bus).get(number)
    await keep_account(client, "dead.show", [str(number)], kept.users)
    return kept


def _chosen(
    data: Path | None, nats: str | None, numbers: list[int] | None, wanted: LetterFilter, *, every: bool
) -> list[int]:
    """The numbers that are given, or those of all letters that the filters leave."""
    if numbers and (every or wanted != LetterFilter()):
        fail("give numbers, or filters with --all, not both")
    if not numbers and not every:
        fail("which ones? Give their numbers, or --all with filters; `memorybus dead list` shows them")
    if numbers:
        return list(dict.fromkeys(numbers))
    with bars(err) as progress:
        return talk(data, nats, lambda client: numbers_of(DeadLetterQueue(client.bus), wanted, progress))


async def _settled(client: MemoryClient, numbers: Sequence[int], verb: Literal["retry", "drop"], doing: str) -> Settled:
    letters = DeadLetterQueue(client.bus)
    with bars(err) as progress:
        settled = await settle(numbers, letters.retry if verb == "retry" else letters.drop, doing, progress)
    await keep_account(client, f"dead.{verb}", list(map(str, numbers)))
    return settled


def _tell(settled: Settled, done: str) -> None:
    """What was done, and what was not; exit code 1 where something was not."""
    out.print(f"{done} {plural(settled.done, 'dead letter')}")
    for problem in settled.problems[:_PROBLEMS_SHOWN]:
        err.print(f"[yellow]{escape(visible(problem))}[/yellow]", soft_wrap=True)
    if settled.stopped:
        fail(visible(settled.stopped))
    if settled.problems:
        fail(f"{len(settled.problems):,} of the letters could not be {done}")
