"""`memorybus dead`: what could not be digested, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer
from rich.markup import escape

from services.cli.common import DataOption, NatsOption, bars, confirm, err, fail, out, plural, run, visible
from services.cli.dead.choice import (
    ReasonOption,
    SinceOption,
    StageOption,
    Where,
    WhoseOption,
    keep_account,
    letters_at,
)
from services.cli.dead.view import everything, show_letter, show_list, summary
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, StoredLetter
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
    list[int] | None,
    typer.Argument(min=1, max=_HIGHEST, metavar="NUMBER", help="As `dead list` shows them.", show_default=False),
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
    found = run(_found(Where(data, nats), wanted, limit + 1))
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
        kept = run(_one(Where(data, nats), number))
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
    where = Where(data, nats)
    chosen = _chosen(where, numbers, LetterFilter(stage, user, since, reason), every=every)
    _tell(run(_settle(where, chosen, lambda letters: letters.retry, "retrying", "dead.retry")), "retried")


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
    where = Where(data, nats)
    chosen = _chosen(where, numbers, LetterFilter(stage, user, since, reason), every=every)
    if chosen and not yes:
        confirm(f"Remove {plural(len(chosen), 'dead letter')} for good?", "nothing was dropped")
    _tell(run(_settle(where, chosen, lambda letters: letters.drop, "dropping", "dead.drop")), "dropped")


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
        kept = await letters.get(number)
        await keep_account(letters, "dead.show", [number], kept.users)
        return kept


def _chosen(where: Where, numbers: Sequence[int] | None, wanted: LetterFilter, *, every: bool) -> list[int]:
    if numbers and (every or wanted != LetterFilter()):
        fail("give numbers, or filters with --all, not both")
    if not numbers and not every:
        fail("which ones? Give their numbers, or --all with filters; `memorybus dead list` shows them")
    return list(dict.fromkeys(numbers)) if numbers else run(_matching(where, wanted))


async def _matching(where: Where, wanted: LetterFilter) -> list[int]:
    async with letters_at(where) as letters:
        with bars(err) as progress:
            return await numbers_of(letters, wanted, progress)


async def _settle(
    where: Where,
    numbers: Sequence[int],
    act: Callable[[DeadLetterQueue], Callable[[int], Awaitable[None]]],
    doing: str,
    verb: str,
) -> Settled:
    async with letters_at(where) as letters:
        with bars(err) as progress:
            settled = await settle(numbers, act(letters), doing, progress)
        await keep_account(letters, verb, numbers)
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
