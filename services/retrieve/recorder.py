"""Writes the scores of retrieved entries back, later and together: nobody waits for it."""

from __future__ import annotations

import asyncio
import logging

from contracts.errors import Unavailable
from contracts.ports import EntryStore, Key
from contracts.v1.entries import Entry, Scores
from contracts.v1.retrieval import RetrieveReply
from services.shared.changes import change_entries

log = logging.getLogger(__name__)

_PERIOD = 10.0
_MOST_WAITING = 10_000


class ScoreRecorder:
    """Keeps the latest scores by entry and writes them every few seconds. Losing some in a crash costs nothing."""

    def __init__(self, store: EntryStore) -> None:
        self._store = store
        self._waiting: dict[Key, Scores] = {}

    def note(self, user_id: str, reply: RetrieveReply) -> None:
        """Remember the scores of a reply to this user for the next writing."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.update({Key(user_id, item.id): item.scores for item in reply.items})

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(_PERIOD)
            await self.flush()

    async def flush(self) -> None:
        """Write what is waiting."""
        scores, self._waiting = self._waiting, {}
        if not scores:
            return

        def with_scores(entry: Entry) -> Entry | None:
            return (
                entry.model_copy(update={"last_scores": scores[Key(entry.user_id, entry.id)]})
                if entry.status == "active"
                else None
            )

        try:
            entries = (await self._store.get(list(scores))).values()
            await change_entries(self._store, entries, with_scores)
        except Unavailable as error:
            log.warning("scores_not_written", extra={"entries": len(scores), "cause": str(error)})
