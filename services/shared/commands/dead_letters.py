"""Doing something with many dead letters: which ones, and one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from contracts.errors import Unavailable
from services.shared.bus.dead_letters import DeadLetterQueue, LetterFilter, NoSuchLetter, NotRetryable
from services.shared.commands.progress import Progress, untold


@dataclass(slots=True)
class Settled:
    """What became of the letters: how many are done, and what stands in the way of the others."""

    done: int = 0
    problems: list[str] = field(default_factory=list)
    stopped: str | None = None


async def numbers_of(letters: DeadLetterQueue, wanted: LetterFilter, progress: Progress = untold) -> list[int]:
    """The numbers of the letters that are wanted, oldest first: turns go again in the order in which they came."""
    if wanted == LetterFilter():
        return (await letters.numbers())[::-1]
    found = letters.newest_first(wanted, looked=lambda done, total: progress("looking", done, total))
    return [kept.number async for kept in found][::-1]


async def settle(
    numbers: Sequence[int], act: Callable[[int], Awaitable[None]], doing: str, progress: Progress = untold
) -> Settled:
    """Do it to one letter after the other; a bus that goes away ends it, a letter that cannot be done does not."""
    settled = Settled()
    for position, number in enumerate(numbers, start=1):
        try:
            await act(number)
            settled.done += 1
        except NoSuchLetter as error:
            settled.problems.append(str(error))
        except NotRetryable as error:
            settled.problems.append(f"letter {number} is kept: {error}")
        except Unavailable as error:
            settled.stopped = f"stopped at letter {number}: {error}"
            break
        progress(doing, position, len(numbers))
    return settled
