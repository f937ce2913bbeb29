"""`memorybus bench wishes`: how well wishes not to be remembered are told from what only sounds like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as validated
from rich.markup import escape
from rich.table import Table

from contracts.ports import Reader
from services.bench.pairs import Quality, WrongOption, read_by_the_built_in_model
from services.cli.common import fail, out
from services.cli.tables import table
from services.embed.wishes import SURE
from services.shared.privacy.unwanted import is_unwanted

EPILOG = """Examples:\n
  memorybus bench wishes tests/quality/blind_wishes.jsonl\n
  memorybus bench wishes tests/quality/blind_wishes.jsonl --wrong
"""

MessagesFile = Annotated[Path, typer.Argument(help='A message a line: {"text": …, "wish": true or false}.')]


@validated(frozen=True, slots=True)
class Message:
    """What a user says, and whether they wish that it be not kept."""

    text: str
    wish: bool


Found = Mapping[str, Sequence[bool]]
"""By who looks which of the messages are taken for wishes."""


def read_messages(path: Path) -> list[Message]:
    """The messages of a file.

    Raises:
        ValueError: a line is none.
        OSError: it cannot be read.
    """
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [TypeAdapter(Message).validate_json(line) for line in lines]


async def found_in(messages: Sequence[Message], reader: Reader) -> Found:
    """What is obeyed at the door, what the reader understands, and what of both is."""
    by_phrase = [is_unwanted(one.text) for one in messages]
    by_reader = [one.wish >= SURE for one in await reader.read([one.text for one in messages])]
    either = [a or b for a, b in zip(by_phrase, by_reader, strict=True)]
    return {"fixed phrases": by_phrase, "reader": by_reader, "either": either}


def quality(messages: Sequence[Message], found: Sequence[bool]) -> Quality:
    """How well wishes are found."""
    right = sum(is_found and one.wish for one, is_found in zip(messages, found, strict=True))
    return Quality(sum(one.wish for one in messages), sum(found), right)


def wishes(file: MessagesFile, wrong: WrongOption = False) -> None:
    """Judge labelled messages: does their user wish that they be not kept?"""
    try:
        messages = read_messages(file)
    except (ValueError, OSError) as error:
        fail(f"{file}: {error}")
    found = read_by_the_built_in_model(lambda reader: found_in(messages, reader))
    out.print(_summary(messages, found))
    for one, is_found in zip(messages, found["either"], strict=True) if wrong else ():
        if one.wish != is_found:
            out.print(f"[bold]{'missed' if one.wish else 'no wish'}[/bold]  {escape(one.text)}")


def _summary(messages: Sequence[Message], found: Found) -> Table:
    others = sum(not one.wish for one in messages)
    rows = []
    for who, taken in found.items():
        of = quality(messages, taken)
        wrong = of.found - of.right
        rows.append(
            (who, str(of.right), f"{of.recall:.3f}", str(wrong), f"{wrong / others:.4f}" if others else "–"),
        )
    title = f"{len(messages) - others} wishes, {others} other messages"
    return table(("found by", "wishes", "recall", "others", "false alarms"), rows, title=title)
