"""What was promised, in order: every acknowledged step of a load, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["say", "spoil", "create", "pin", "update", "forget", "erase", "incognito", "settings"]
KINDS: tuple[Kind, ...] = get_args(Kind)
UNKEPT: tuple[Literal["incognito", "settings"], ...] = ("incognito", "settings")
"""A turn of a conversation that is incognito, or of a user whose memory is off."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One acknowledged step. `statement` names what was said whatever the wording, `marker` a word only it contains."""

    kind: Kind
    user_id: str
    space: str = ""
    turn_id: str = ""
    statement: str = ""
    marker: str = ""
    letter: str = ""


class Journal:
    """Appends promises to a file; each is in the file when `note` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._file = path.open("a", encoding="utf-8")

    def note(self, promise: Promise) -> None:
        """Write one promise."""
        self._file.write(json.dumps(asdict(promise)) + "\n")
        self._file.flush()
        self.count += 1

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def promises(path: Path) -> Iterator[Promise]:
    """The promises in a journal, in the order in which they were made."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Promise(**json.loads(line))
