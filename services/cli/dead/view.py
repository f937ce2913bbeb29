"""How dead letters are shown. They hold what strangers wrote: nothing in them may reach the terminal as a command."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from services.cli.common import visible
from services.cli.tables import plain
from services.shared.bus.dead_letters import StoredLetter

_USERS_SHOWN = 3
_WIDE = 100
"""Columns of a terminal from which on letters are a table."""


def as_text(body: bytes) -> str | None:
    """The body where it is text."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def summary(kept: StoredLetter) -> dict[str, Any]:
    """A letter in one line of JSON."""
    return {
        "number": kept.number,
        "kept_at": kept.kept_at.isoformat(),
        "stage": kept.stage,
        "users": kept.users,
        "reason": kept.reason,
        "attempts": kept.letter.attempts if kept.letter else None,
        "readable": kept.letter is not None,
    }


def everything(kept: StoredLetter) -> dict[str, Any]:
    """All that is known of a letter; `body` is the original in base64, `text` the same where it is text."""
    if kept.letter is None:
        return {**summary(kept), "raw": base64.b64encode(kept.raw).decode(), "text": as_text(kept.raw)}
    letter = kept.letter
    return {**letter.model_dump(mode="json"), **summary(kept), "trace_id": letter.trace_id, "text": as_text(kept.body)}


def show_list(letters: Sequence[StoredLetter], console: Console, *, more: bool, narrowed: bool) -> None:
    """Letters as a table; `narrowed`: a filter may have left others out."""
    if not letters:
        console.print("No dead letters match." if narrowed else "No dead letters.")
        return
    if console.width < _WIDE:
        _show_blocks(letters, console)
    else:
        console.print(_table(letters))
    if more:
        console.print("There are more: --limit shows them, --stage, --user, --since and --reason narrow them down.")


def _table(letters: Sequence[StoredLetter]) -> Table:
    cells = (
        (f"{kept.number}", _when(kept.kept_at), kept.stage, _users(kept.users), kept.reason, _attempts(kept))
        for kept in letters
    )
    columns = ("number", "when (UTC)", "stage", "user", "reason", "attempts")
    table = plain(columns, (map(Text, map(visible, row)) for row in cells), figures=("number", "attempts"))
    for column in table.columns[:2]:
        column.no_wrap = True
    return table


def _show_blocks(letters: Sequence[StoredLetter], console: Console) -> None:
    """Some lines for each letter, where columns would be too narrow to read."""
    for kept in letters:
        facts = (f"{_when(kept.kept_at)} UTC", kept.stage, f"attempts: {_attempts(kept)}", _users(kept.users))
        console.print(
            Text(f"{kept.number}  ", style="bold") + Text(" · ".join(visible(fact) for fact in facts if fact))
        )
        console.print(Padding(Text(visible(kept.reason)), (0, 0, 0, 4)))


def _attempts(kept: StoredLetter) -> str:
    return f"{kept.letter.attempts:,}" if kept.letter else "?"


def show_letter(kept: StoredLetter, console: Console) -> None:
    """All that is known of a letter, then its body."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _facts(kept):
        table.add_row(name, Text(visible(value)))
    console.print(table)
    body = kept.body if kept.letter else kept.raw
    text = as_text(body)
    console.print(f"\n{len(body):,} bytes{' of text' if text is not None else ', no text: in base64'}", style="dim")
    shown = visible(text, keep="\n") if text is not None else base64.b64encode(body).decode()
    console.print(Text(shown), soft_wrap=True)


def _facts(kept: StoredLetter) -> list[tuple[str, str]]:
    facts = [
        ("number", f"{kept.number}"),
        ("kept at", f"{_when(kept.kept_at)} UTC"),
        ("stage", kept.stage),
        ("reason", kept.reason),
    ]
    if kept.letter is None:
        return facts
    letter = kept.letter
    return [
        *facts,
        ("will it heal", "no, as it is" if letter.permanent else "perhaps"),
        ("attempts", f"{letter.attempts}"),
        ("died at", f"{_when(letter.died_at)} UTC"),
        ("user", ", ".join(kept.users) or "not said"),
        ("subject", letter.subject),
        ("origin", f"{letter.stream}, message {letter.sequence}"),
        ("trace", letter.trace_id or "none"),
        *((f"header {visible(name)}", value) for name, value in letter.headers.items()),
    ]


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _users(users: Sequence[str]) -> str:
    more = len(users) - _USERS_SHOWN
    return ", ".join(users[:_USERS_SHOWN]) + (f" and {more} more" if more > 0 else "")
