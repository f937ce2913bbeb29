"""What is known before a question is asked: cards of a user, and the latest summary of a conversation.

Both are read once an exchange is over, for the next one, so that nobody waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

from contracts import flow
from services.gateway.api import Edge
from services.gateway.callers import Caller
from services.gateway.problems import EXPECTED
from services.gateway.proxy.conversations import Key
from services.gateway.proxy.settings import ProxySettings
from services.shared.cache import Cache
from services.shared.context.overview import Line, card_lines, summary_lines
from services.shared.tasks import end

log = logging.getLogger(__name__)

FRESH_SECONDS = 300.0
"""After so long what was read is not told any more."""

_MOST = 512
_AFTER = 1.0  # seconds until what was said is among the memories, mostly
_SHARE = 0.02  # of the time that goes into reading anew
_PATIENCE = 5.0
_AT_ONCE = 2
_CHARACTERS = 4  # of a token, nearly


class _Read(NamedTuple):
    lines: list[Line]
    again_from: float


class Overviews:
    """Holds what was read last of each user and conversation, bounded, in memory alone."""

    def __init__(self, edge: Edge, settings: ProxySettings) -> None:
        self._edge = edge
        self._settings = settings
        self._held: Cache[Key, _Read] = Cache(_MOST, seconds=FRESH_SECONDS)
        self._reading: dict[Key, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)
        edge.removals.on_removal(self.forget)

    def places(self, caller: Caller, key: Key, *, is_named: bool) -> list[Key]:
        """What there is to be known in a conversation: cards, under a name that none has, and its summary."""
        found = []
        if self._settings.proxy_cards and caller.may(flow.PROFILE.name, reads=True):
            found.append(key._replace(name=""))
        if is_named and self._settings.proxy_summary_max_length and caller.may(flow.SESSIONS.name, reads=True):
            found.append(key)
        return found

    def begin(self, caller: Caller, places: Iterable[Key]) -> list[asyncio.Task[None]]:
        """Read what is not known, beside everything else; what is being read of it."""
        return [self._read(caller, key, after=0.0) for key in places if key not in self._held]

    def known(self, places: Collection[Key]) -> list[Line]:
        """What is known of them by now."""
        return [line for read in map(self._held.get, places) if read is not None for line in read.lines]

    def renew(self, caller: Caller, places: Iterable[Key]) -> None:
        """Read them again, once what was just said is remembered; what takes long is read less often."""
        for key in places:
            read = self._held.get(key)
            if read is None or time.monotonic() >= read.again_from:
                self._read(caller, key, after=_AFTER)

    def forget(self, user_id: str) -> None:
        """Keep nothing of a user, and nothing that is being read: something of theirs was removed."""
        for key in [key for key in self._held if key.user_id == user_id]:
            self._held.pop(key)
        for key in [key for key in self._reading if key.user_id == user_id]:
            self._reading.pop(key).cancel()

    async def close(self) -> None:
        """Read no more."""
        await end(self._reading.values())

    def _read(self, caller: Caller, key: Key, *, after: float) -> asyncio.Task[None]:
        if key in self._reading:
            return self._reading[key]
        task = self._reading[key] = asyncio.create_task(self._keep(caller, key, after))
        task.add_done_callback(lambda done: self._reading.pop(key) if self._reading.get(key) is done else None)
        return task

    async def _keep(self, caller: Caller, key: Key, after: float) -> None:
        await asyncio.sleep(after)
        async with self._room:
            began = time.monotonic()
            try:
                lines = await (self._summary(caller, key) if key.name else self._cards(caller, key))
            except EXPECTED as error:
                log.info("overview_not_read", extra={"error": type(error).__name__})
                return
            now = time.monotonic()
        self._held.put(key, _Read(lines, now + (now - began) / _SHARE))

    async def _cards(self, caller: Caller, key: Key) -> list[Line]:
        values = {"space": key.space, "persona_id": ""}
        return card_lines(await self._edge.reply(caller, flow.PROFILE, values, patience=_PATIENCE))

    async def _summary(self, caller: Caller, key: Key) -> list[Line]:
        values = {
            "rolling": key.name,
            "rolling_length": self._settings.proxy_summary_max_length,
            "limit": 0,
            "space": key.space,
            "persona_id": "",
        }
        rolling = (await self._edge.reply(caller, flow.SESSIONS, values, patience=_PATIENCE)).rolling
        is_long = rolling and rolling.characters >= _CHARACTERS * self._settings.proxy_summary_trigger_tokens
        return summary_lines(rolling) if rolling and is_long else []
