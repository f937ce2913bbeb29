"""Wishes not to be remembered that only the reader understood, in whatever words: what was said is forgotten at once.

Fixed phrases are obeyed before anything is stored (services/ingest). These were stored, and leave a tombstone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

from contracts.ports import TextStore
from contracts.v1.claims import Reading
from contracts.v1.entries import Entry
from services.embed.changes import conversation_of
from services.shared import telemetry
from services.shared.cache import Cache

SURE = 0.9
"""From so sure a reading on it is a wish: of 850 messages that only sound like one five are taken for it."""

Forget = Callable[[Entry], Awaitable[None]]
"""Forgets an entry with all that says it; one that is gone already is no error."""

_CONVERSATIONS, _QUIET_SECONDS = 512, 1800.0
_LATEST = 32
"""Turns of a conversation among which the answers to such a turn are looked for."""


class Wishes:
    """Forgets what its user does not want kept, and what others answer to it. In mind for late answers: when it was
    said, by conversation; never written."""

    def __init__(self, store: TextStore, forget: Forget) -> None:
        self._store, self._forget = store, forget
        self._said: Cache[Hashable, datetime] = Cache(_CONVERSATIONS, seconds=_QUIET_SECONDS)

    async def obey(self, entries: Sequence[Entry], readings: Mapping[str, Reading]) -> set[str]:
        """The ids of those entries that are forgotten by now.

        Raises:
            Unavailable: nobody forgets anything now.
        """
        gone: set[str] = set()
        for entry in sorted(entries, key=lambda one: one.created_at):
            if entry.id not in gone and self._is_unwanted(entry, readings.get(entry.id)):
                for one in [*await self._answers(entry), entry]:  # while the wish stands, all is done again
                    await self._forget(one)
                    gone.add(one.id)
        return gone

    def _is_unwanted(self, entry: Entry, reading: Reading | None) -> bool:
        if entry.source != "turn" or entry.manually_saved or entry.pinned or entry.edited_at is not None:
            return False  # somebody wants it kept
        if entry.role != "user":
            wished_at = self._said.get(_place(entry)) if entry.conversation_id is not None else None
            return wished_at is not None and wished_at <= entry.created_at
        is_wish = reading is not None and reading.wish >= SURE
        self._note(entry, is_wish=is_wish)
        return is_wish

    def _note(self, entry: Entry, *, is_wish: bool) -> None:
        self._said.pop(_place(entry))
        if is_wish:
            self._said.put(_place(entry), entry.created_at)
            telemetry.REFUSED.labels("read").inc()

    async def _answers(self, entry: Entry) -> list[Entry]:
        """What others said after it before its user went on, as far as that is stored."""
        where = conversation_of(entry, since=entry) if entry.role == "user" else None
        if where is None:
            return []
        page = await self._store.page(where, limit=_LATEST, cursor=None)
        after = sorted((one for one in page.entries if one.id != entry.id), key=lambda one: one.created_at)
        return list(takewhile(lambda one: one.role != "user", after))


def _place(entry: Entry) -> Hashable:
    return entry.user_id, entry.space, entry.conversation_id
