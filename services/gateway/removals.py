"""Who is told in this process of what users remove: whoever keeps something of theirs in mind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Removals:
    """The listeners."""

    _of_something: list[Callable[[str], None]] = field(default_factory=list)
    _of_all: list[Callable[[str, str | None, str | None], None]] = field(default_factory=list)

    def on_removal(self, tell: Callable[[str], None]) -> None:
        """Have a listener told of each user who removes something, or wants less kept."""
        self._of_something.append(tell)

    def on_erasure(self, tell: Callable[[str, str | None, str | None], None]) -> None:
        """Have a listener told of each user who removes everything, or all of a conversation (in a space)."""
        self._of_all.append(tell)

    def removed(self, user_id: str) -> None:
        """Tell the listeners that a user removed something."""
        for tell in self._of_something:
            tell(user_id)

    def erasing(self, user_id: str, conversation: str | None = None, space: str | None = None) -> None:
        """Tell the listeners that all of a user, or of a conversation, is about to be removed."""
        for tell in self._of_all:
            tell(user_id, conversation, space)
