"""How far something is: what long work tells whoever shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told what is under way, how much of it is done, and of how much, where that is known."""

    def __call__(self, what: str, done: int, total: int | None = None, *, note: str = "") -> None: ...


def untold(what: str, done: int, total: int | None = None, *, note: str = "") -> None:
    """Progress that nobody looks at."""
