"""`memorybus dead retry` and `memorybus dead drop`: what becomes of dead letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import typer
from rich.markup import escape

from contracts.ports import Unavailable
from services.cli.common import DataOption, NatsOption, err, fail, out, plural, run, visible
from services.cli.dead.choice import ReasonOption, SinceOption, StageOption, Where, WhoseOption, letters_at, numbers_of
from services.cli.dead.inspect import HIGHEST
from services.cli.sending import bars
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, NotRetryable

RETRY_EPILOG = """Examples:\n
  memorybus dead retry 17 18\n
  memorybus dead retry --all --stage embed --since 2h\n
  memorybus dead retry --all --reason "are allowed"
"""
DROP_EPILOG = """Examples:\n
  memorybus dead drop 17\n
  memorybus dead drop --all --user ann --yes\n
  memorybus dead drop --all --reason unreadable
"""
_PROBLEMS_SHOWN = 10

NumbersArgument = Annotated[
    list[int] | None,
    typer.Argument(min=1, max=HIGHEST, metavar="NUMBER", help="As `dead list` shows them.", show_default=False),
]
AllOption = Annotated[bool, typer.Option("--all", help="All that the filters leave, instead of numbers.")]


@dataclass(slots=True)
class Settled:
    """What became of the letters: how many are done, and what stands in the way of the others."""

    done: int = 0
    problems: list[str] = field(default_factory=list)
    stopped: str | None = None


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
    _tell(run(_settle(where, chosen, lambda letters, number: letters.retry(number), "retrying")), "retried")


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
        _confirm(chosen)
    _tell(run(_settle(where, chosen, lambda letters, number: letters.drop(number), "dropping")), "dropped")


def _chosen(where: Where, numbers: Sequence[int] | None, wanted: LetterFilter, *, every: bool) -> list[int]:
    if numbers and (every or wanted != LetterFilter()):
        fail("give numbers, or filters with --all, not both")
    if not numbers and not every:
        fail("which ones? Give their numbers, or --all with filters; `memorybus dead list` shows them")
    return list(dict.fromkeys(numbers)) if numbers else run(_matching(where, wanted))


async def _matching(where: Where, wanted: LetterFilter) -> list[int]:
    async with letters_at(where) as letters:
        return await numbers_of(letters, wanted)


def _confirm(chosen: Sequence[int]) -> None:
    try:
        agreed = typer.confirm(f"Remove {plural(len(chosen), 'dead letter')} for good?", err=True)
    except typer.Abort:  # nobody is there to answer
        agreed = False
    if not agreed:
        fail("nothing was dropped; --yes drops without asking")


async def _settle(
    where: Where, numbers: Sequence[int], act: Callable[[DeadLetterQueue, int], Awaitable[None]], doing: str
) -> Settled:
    """Do it to one letter after the other; a bus that goes away ends it, a letter that cannot be done does not."""
    settled = Settled()
    async with letters_at(where) as letters:
        with bars(err) as progress:
            for number in progress.track(numbers, task_id=progress.add_task(doing, total=len(numbers), note="")):
                try:
                    await act(letters, number)
                    settled.done += 1
                except NoSuchLetter as error:
                    settled.problems.append(str(error))
                except NotRetryable as error:
                    settled.problems.append(f"letter {number} is kept: {error}")
                except Unavailable as error:
                    settled.stopped = f"stopped at letter {number}: {error}"
                    break
    return settled


def _tell(settled: Settled, done: str) -> None:
    """What was done, and what was not; exit code 1 where something was not."""
    out.print(f"{done} {plural(settled.done, 'dead letter')}", highlight=False)
    for problem in settled.problems[:_PROBLEMS_SHOWN]:
        err.print(f"[yellow]{escape(visible(problem))}[/yellow]", highlight=False, soft_wrap=True)
    if settled.stopped:
        fail(visible(settled.stopped))
    if settled.problems:
        fail(f"{len(settled.problems):,} of the letters could not be {done}")
