"""`memorybus publish`: puts a file of turns on the bus, and waits until they are memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from contracts.errors import Unavailable
from contracts.v1.commands import StatusReply
from services.cli.asking import talk
from services.cli.common import NOT_SHOWN, DataOption, NatsOption, bars, err, fail, one_line, out, plural
from services.shared.bus.connection import NotPermitted
from services.shared.client import RequestFailed
from services.shared.commands.formats import Format, FormatError, Source, count_turns, read_turns
from services.shared.commands.publishing import Bus, Tally, as_they_come, at_once, digest, publish_turns
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus publish chat.jsonl\n
  memorybus publish messages.json --format openai --user me\n
  memorybus publish chatgpt-export.zip --format chatgpt --user me\n
  memorybus publish mem0.json --format mem0\n
  memorybus publish locomo.json --format locomo --no-wait\n
  tail -f turns.jsonl | memorybus publish - --user me
"""

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Published:
    """What came of publishing: `dead_letters` were set aside meanwhile, `digesting` is the wait after the last one.

    Both are None where this user of the bus may not look; `refused`, what memory did not keep, and `new`, how many
    turns more it has, where nobody waited.
    """

    source: Source
    tally: Tally
    dead_letters: int | None
    digesting: float | None
    refused: int | None = None
    new: int | None = None
    problem: str | None = None


def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of turns; - reads standard input.")],
    format: Annotated[
        Format, typer.Option("--format", "-f", help="What is in the file, or in the zip archive.")
    ] = "jsonl",
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose memory, where the file does not say.")] = None,
    space: Annotated[str | None, typer.Option(help="Space, where the file does not say.")] = None,
    in_flight: Annotated[int, typer.Option(min=1, max=4096, help="Turns under way at the same time.")] = 64,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="End when the bus has acknowledged the last turn.")
    ] = False,
    incognito: Annotated[
        bool, typer.Option("--incognito", help="Publish where nothing keeps it: only who listens on the bus hears it.")
    ] = False,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Publish a file of turns, and wait until all of it is memory.

    A file is checked before its first turn is published. Publishing the same file again has no further effect.
    """
    source = Source(file, format, user, space, longest=Settings().max_text_bytes)
    wait = not no_wait and not incognito
    try:
        result = talk(
            data,
            nats,
            lambda client: publish_source(
                client, source, in_flight=in_flight, wait=wait, console=err, incognito=incognito
            ),
        )
    except FormatError as error:
        fail(str(error))
    if as_json:
        print(as_line(result))
    else:
        show(result, out)
    if result.problem:
        fail(result.problem)


async def publish_source(
    client: Bus, source: Source, *, in_flight: int, wait: bool, console: Console, incognito: bool = False
) -> Published:
    """Publish the turns of a source, with bars on a terminal.

    Raises:
        FormatError: something in the source is no turn; of a file nothing was published then.
        Unavailable: the bus did not acknowledge.
    """
    total = await asyncio.to_thread(count_turns, source) if source.rereadable else None
    dead_before = await _dead_letters(client)
    wait = wait and dead_before is not None
    whose = next(iter(source.users)) if len(source.users) == 1 else None
    before = await _counts(client, whose) if wait else None
    turns = read_turns(source)
    batches = at_once(turns) if source.rereadable else as_they_come(turns)
    tally, is_published = Tally(), False
    with bars(console) as progress:
        try:
            await publish_turns(
                client, batches, tally, total=total, in_flight=in_flight, progress=progress, incognito=incognito
            )
            is_published = True
            digesting, problem = await digest(client, progress, user=whose) if wait else (None, None)
        except asyncio.CancelledError:
            done = "all turns are published, and become memory without this command"
            so_far = f"{plural(tally.turns, 'turn')} published; publishing all again is harmless"
            console.print(f"interrupted: {done if is_published else so_far}", soft_wrap=True)
            raise
    after = None if before is None or problem else await _counts(client, whose)
    return Published(
        source,
        tally,
        None if dead_before is None else max(0, (await client.backlog()).dead_letters - dead_before),
        digesting,
        refused=max(0, after.refused - before.refused) if before and after else None,
        new=min(tally.turns, max(0, after.turns - before.turns)) if before and after else None,
        problem=problem,
    )


async def _dead_letters(client: Bus) -> int | None:
    """How many there are; None where this user may not look."""
    try:
        return (await client.backlog()).dead_letters
    except NotPermitted:
        return None


async def _counts(client: Bus, user: str | None) -> StatusReply | None:
    """How many turns memory has, and has refused, of this user or of all; None where nobody tells."""
    try:
        return await client.status(user)
    except (Unavailable, RequestFailed):
        return None


def as_line(result: Published) -> str:
    """The result as one JSON line; seconds and rate are those of the acknowledgements."""
    return json.dumps(
        {
            "published": result.tally.turns,
            "seconds": round(result.tally.seconds, 3),
            "rate": round(result.tally.rate, 1),
            "dead_letters": result.dead_letters,
            "refused": result.refused,
            "new": result.new,
        }
    )


def _show_left_out(source: Source, console: Console) -> None:
    """What is in the file and not in the turns, and what else is to be known of it."""
    if source.skipped:
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in source.skipped.items())
        console.print(f"left out {left_out}", soft_wrap=True)
    for problem in source.unread:
        console.print(f"the first that cannot be read: {one_line(problem)}", soft_wrap=True, markup=False)
    for note, count in source.notes.items():
        console.print(f"{note}: {count:,}", style="yellow", soft_wrap=True)


def show(result: Published, console: Console) -> None:
    """The result as a sentence."""
    tally, users = result.tally, sorted(result.source.users)
    text = f"published {plural(tally.turns, 'turn')} in {tally.seconds:.1f} s ({tally.rate:,.0f} turns/s)"
    if result.digesting is not None and result.problem is None:
        text += f", digested {result.digesting:.1f} s later"
    console.print(text, soft_wrap=True)
    if users and users != [result.source.user]:
        names = ", ".join(map(one_line, users[:_NAMED])) + (" and more" if len(users) > _NAMED else "")
        console.print(f"of {plural(len(users), 'user')}: {names}", soft_wrap=True, markup=False)
    if result.new is not None and result.new < tally.turns:
        others = "the others are known already, or not to be kept"
        console.print(f"{result.new:,} of them new: {others}", soft_wrap=True)
    _show_left_out(result.source, console)
    if result.refused:
        why = "what a user had forgotten is not kept again so soon"
        warning = f"{plural(result.refused, 'turn')} refused meanwhile: {why}"
        console.print(warning, style="yellow", soft_wrap=True)
    if result.dead_letters is None:
        console.print(NOT_SHOWN, style="dim", soft_wrap=True)
    elif result.dead_letters:
        warning = f"{plural(result.dead_letters, 'dead letter')} since the start: `memorybus dead list` shows them"
        console.print(warning, style="yellow", soft_wrap=True)
