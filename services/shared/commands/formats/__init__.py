"""Reads turns from files: JSON Lines as on the wire, message lists, and what other systems export."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contracts.v1.turns import Turn
from services.shared.commands.formats.chatgpt import read_chatgpt
from services.shared.commands.formats.claude import read_claude
from services.shared.commands.formats.jsonl import read_jsonl
from services.shared.commands.formats.langgraph import read_langgraph
from services.shared.commands.formats.letta import read_letta
from services.shared.commands.formats.locomo import Question, read_locomo, read_locomo_questions
from services.shared.commands.formats.mem0 import read_mem0
from services.shared.commands.formats.openai import read_openai
from services.shared.commands.formats.source import STDIN, UNREADABLE, Format, FormatError, Source
from services.shared.commands.formats.zep import read_zep

__all__ = ["STDIN", "Format", "FormatError", "Question", "Source", "count_turns", "read_locomo_questions", "read_turns"]

_READERS: dict[Format, Callable[[Source], Iterator[Turn]]] = {
    "jsonl": read_jsonl,
    "locomo": read_locomo,
    "openai": read_openai,
    "chatgpt": read_chatgpt,
    "claude": read_claude,
    "mem0": read_mem0,
    "zep": read_zep,
    "letta": read_letta,
    "langgraph": read_langgraph,
}

_EXPORTS = ("chatgpt", "claude", "mem0", "zep", "letta", "langgraph")


def read_turns(source: Source) -> Iterator[Turn]:
    """The turns of a file, in order. JSON Lines are read as they are needed, other formats as a whole.

    What carries no text is left out and counted in `source.skipped`. A file in which nothing can be read is refused.

    Raises:
        FormatError: the file cannot be read, or something in it is no turn.
    """
    source.begin()
    try:
        is_empty = True
        for turn in _READERS[source.format](source):
            is_empty = False
            source.users.add(turn.user_id)
            yield turn
    except OSError as error:
        raise FormatError(f"{source.name}: {error.strerror or error}") from error
    if is_empty and (count := source.skipped[UNREADABLE]):
        raise FormatError(f"{source.name}: none of its {count:,} messages can be read: is it --format {source.format}?")
    if is_empty and source.format in _EXPORTS and not source.skipped.total():
        raise FormatError(f"{source.name}: there is nothing in it: see services/cli/README.md")


def count_turns(source: Source) -> int:
    """How many turns the file has; every one of them is checked.

    Raises:
        FormatError: as `read_turns`.
    """
    return sum(1 for _ in read_turns(source))
