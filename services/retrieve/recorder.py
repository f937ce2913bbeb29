"""Writes the scores of retrieved entries back, and how often they were answers: while nobody asks, a few at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from contracts.errors import Unavailable
from contracts.ports import EntryStore, Key
from contracts.v1.entries import Entry, Scores
from contracts.v1.retrieval import RetrieveReply
from services.shared.changes import change_entries

log = logging.getLogger(__name__)

_EVERY = 0.5
_QUIET = 0.3
"""Seconds after the last question."""

_LATEST = 60.0
"""Seconds after which scores are written, though questions go on."""

_TOGETHER = 100
_MOST_WAITING = 10_000


class _Noted(NamedTuple):
    """The latest scores of an entry, and how many answers it was in since they were written last."""

    scores: Scores
    times: int


class ScoreRecorder:
    """Keeps the latest scores by entry, counts answers, and writes both soon. Losing some in a crash costs nothing."""

    def __init__(self, store: EntryStore) -> None:
        self._store = store
        self._waiting: dict[Key, _Noted] = {}
        self._waits_since = self._noted_at = 0.0

    def note(self, user_id: str, reply: RetrieveReply) -> None:
        """Remember the scores of a reply to this user for the next writing."""
        self._noted_at = time.monotonic()
        if not self._waiting:
            self._waits_since = self._noted_at
        if len(self._waiting) < _MOST_WAITING:
            for item in reply.items:
                key = Key(user_id, item.id)
                before = self._waiting.get(key)
                self._waiting[key] = _Noted(item.scores, 1 + (before.times if before else 0))

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            while self._is_time():
                began = time.monotonic()
                await self._write_some()
                await asyncio.sleep(time.monotonic() - began)  # half of the time is for others

    def _is_time(self) -> bool:
        now = time.monotonic()
        return bool(self._waiting) and (now - self._noted_at >= _QUIET or now - self._waits_since >= _LATEST)

    async def _write_some(self) -> None:
        some = dict(islice(self._waiting.items(), _TOGETHER))
        for key in some:
            del self._waiting[key]
        try:
            await self._write(some)
        except Unavailable as error:
            log.warning("scores_not_written", extra={"entries": len(some) + len(self._waiting), "cause": str(error)})
            self._waiting.clear()

    async def _write(self, noted: Mapping[Key, _Noted]) -> None:
        def with_scores(entry: Entry) -> Entry | None:
            found = noted[Key(entry.user_id, entry.id)]
            update = {
                "last_scores": found.scores,
                "asked": entry.asked + found.times,
                "asked_at": found.scores.computed_at or entry.asked_at,
            }
            return entry.model_copy(update=update) if entry.status == "active" else None

        await change_entries(self._store, (await self._store.get(list(noted))).values(), with_scores)
