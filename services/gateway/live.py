"""The health of the pipeline as it happens: server-sent events, one look at the bus for all who watch."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from contracts.errors import Unavailable
from services.gateway.problems import Problem, told_by
from services.shared.client import MemoryClient, RequestFailed

Json = dict[str, Any]

EVERY = 1.0
"""Seconds between two looks."""

MOST_WATCHERS = 64
_COUNTED = {"turns", "entries", "merged", "refused", "vectors", "pending"}


class Live:
    """Looks at the bus while anybody watches, and tells all of them the same."""

    def __init__(self, memory: MemoryClient) -> None:
        self._memory = memory
        self._watchers: set[asyncio.Queue[Json | None]] = set()
        self._watched = asyncio.Event()
        self._caught_up_at: dict[str, float] = {}

    async def run(self) -> None:
        """Look, until it is ended; who watches is told that nothing more comes."""
        try:
            while True:
                await self._watched.wait()
                self._tell(await self._state())
                await asyncio.sleep(EVERY)
        finally:
            self._tell(None)

    def watch(self, user_id: str | None) -> AsyncIterator[str]:
        """What is seen from now on, as server-sent events; with what is stored of the user, if one is named.

        Raises:
            Problem: too many watch.
        """
        if len(self._watchers) >= MOST_WATCHERS:
            raise Problem("overloaded", f"{MOST_WATCHERS} watch already: try again later.")
        return self._events(user_id)

    async def _events(self, user_id: str | None) -> AsyncIterator[str]:
        seen: asyncio.Queue[Json | None] = asyncio.Queue(maxsize=1)
        self._watchers.add(seen)
        self._watched.set()
        try:
            while (found := await seen.get()) is not None:
                yield f"data: {json.dumps(found | await self._counts(user_id))}\n\n"
        finally:
            self._watchers.discard(seen)
            if not self._watchers:
                self._watched.clear()

    def _tell(self, found: Json | None) -> None:
        for seen in self._watchers:
            with suppress(asyncio.QueueEmpty):  # who is slow sees the latest
                seen.get_nowait()
            seen.put_nowait(found)

    async def _state(self) -> Json:
        """What waits for each service, for how many seconds anything has, the dead letters; or why it is not known."""
        try:
            backlog = await self._memory.backlog()
        except Unavailable as error:
            return {"ok": False, "problem": told_by(error)}
        now = time.monotonic()
        lag = {}
        for service, count in backlog.by_consumer.items():
            if not count or service not in self._caught_up_at:
                self._caught_up_at[service] = now
            lag[service] = round(now - self._caught_up_at[service], 1)
        return {"ok": True, "backlog": backlog.by_consumer, "lag_seconds": lag, "dead_letters": backlog.dead_letters}

    async def _counts(self, user_id: str | None) -> Json:
        if user_id is None:
            return {}
        try:
            return (await self._memory.status(user_id, patience=2.0)).model_dump(include=_COUNTED)
        except (Unavailable, RequestFailed):
            return {}
