"""The part of the ports that keeps a memory in order: forgetting, erasing, capacity, comparing, cleaning up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn
from contracts.values import Crowd, Erasure, Forgotten, InFlightCounts, Key, Ref, TurnKey


class TextUpkeep(Protocol):
    """What a text store does beside taking and giving."""

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        """Leave of each entry a tombstone, and of its turn and those merged into it a log without their words.

        Until `until` the statement may not come back; None lets it. Forgotten again, an entry stays as it is and is
        returned as it was the first time. Unknown or another user's are missing.
        """
        ...

    async def forgotten(self, entries: Sequence[Entry]) -> set[str]:
        """Of these candidates, stored or not, the ids of those whose statement may not come back now.

        The same statement in the same space of the same user is meant, whoever says it.
        """
        ...

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        """Take back the outcomes of proposals whose effect was lost, so that they are judged again."""
        ...

    async def withdraw(self, turns: Sequence[LoggedTurn]) -> None:
        """Take turns off the log with all they propose: they were logged just now, and nothing was made of them yet."""
        ...

    async def erasures(self, user_ids: Collection[str] | None = None) -> list[Erasure]:
        """The erasures of these users, or of anybody, that are not complete, as they were recorded last."""
        ...

    async def record_erasure(self, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        """Replace the erasure of a user, None being none; False, and no change, when it is not the one held.

        One that None replaces is complete: what it removed can be asked for during the next 24 hours.
        """
        ...

    async def erased(self, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        """What the erasure asked for at this time removed, when it was completed in the last 24 hours.

        The record of it is found by a hash of user and time; it names neither.
        """
        ...

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user: log, entries in any status, tombstones, and whatever finds them.

        It is done in steps, so that others are answered meanwhile. With a mark it goes on only while that erasure is
        the recorded one: what the user says after its end stays.
        """
        ...

    async def traces(self, user_id: str) -> Mapping[str, int]:
        """How much is found of a user in each place, counted by looking: all zero when nothing is."""
        ...

    async def sweep(self) -> bool:
        """Leave nothing in the files of what was forgotten or erased; whether there is nothing now.

        Also drops digests whose time is over. It may take as long as writing the whole memory anew.
        """
        ...

    async def crowded(self, *, cap: int, limit: int) -> list[Crowd]:
        """Some spaces with more than `cap` active entries, the fullest first."""
        ...

    async def aged(self, *, before: datetime, limit: int) -> list[Key]:
        """Active entries last said before a moment that are neither pinned nor manually saved, the oldest first."""
        ...

    async def in_order(self, *, after: str, limit: int) -> list[Entry]:
        """The active entries of all users whose ids come after this one, in the order of ids."""
        ...


class VectorUpkeep(Protocol):
    """What a vector store does beside taking and giving."""

    async def in_order(self, *, after: str, limit: int) -> list[Key]:
        """The points of all users whose ids come after this one, in the order of ids."""
        ...

    async def lacking(self, entries: Sequence[Entry]) -> set[str]:
        """Of these entries, the ids of those that have no point, or one that is filtered by something else."""
        ...

    async def refresh(self, entries: Sequence[Entry]) -> set[str]:
        """Have the points of these entries filtered by what the entries are now, with the vectors they have.

        Returns the ids of those that have no point. A point of a newer version stays as it is.
        """
        ...

    async def erase(self, user_id: str) -> None:
        """Remove all points of a user."""
        ...

    async def sweep(self) -> bool:
        """Leave nothing in the files of the words of points that were removed; whether there is nothing now."""
        ...


MissingFromStream = Callable[[Collection[int]], Awaitable[set[int]]]
"""Which of these messages, by number, the bus does not hold any more: somebody has logged or erased them."""


class InFlight(Protocol):
    """What users said that the bus still holds: turns that nobody has logged yet, and dead letters."""

    async def drop(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None
    ) -> InFlightCounts:
        """Remove a user's messages, those of some turns or all, and overwrite their bytes; how many there were.

        With `before`, only turns up to this number and dead letters that are not of a newer turn.
        """
        ...

    async def count(
        self, user_id: str, turns: Collection[TurnKey] | None, *, before: int | None = None
    ) -> InFlightCounts:
        """How many of these messages are there, counted by looking."""
        ...

    async def last(self) -> int:
        """The number of the last turn that the bus has promised to keep."""
        ...

    async def is_drained(self) -> bool:
        """Whether the bus holds no turns at all, so that nothing of earlier ones can stay readable beside them."""
        ...
