"""What is known before a question is asked: cards of a user, and the latest summary of a conversation.

Both are read once an exchange is over, for the next one, so that nobody waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from contracts import flow
from services.gateway.api import Edge
from services.gateway.callers import Caller
from services.gateway.problems import EXPECTED
from services.gateway.proxy.conversations import Key
from services.gateway.proxy.settings import ProxySettings
from services.shared.context.overview import Line, card_lines, summary_lines
from services.shared.tasks import end

log = logging.getLogger(__name__)

FRESH_SECONDS = 300.0
"""After so long what was read is not told any more."""

_MOST = 512
_AFTER = 1.0  # seconds until what was said is among the memories, mostly
_SHARE = 0.02  # of the time that goes into reading anew
_QUICK = 0.05
_PATIENCE = 5.0
_AT_ONCE = 2
_CHARACTERS = 4  # of a token, nearly


@dataclass(frozen=True, slots=True)
class _Read:
    lines: list[Line]
    at: float
    took: float

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


class Overviews:
    """Holds what was read last of each user and conversation, bounded, in memory alone."""

    def __init__(self, edge: Edge, settings: ProxySettings) -> None:
        self._edge = edge
        self._settings = settings
        self._held: OrderedDict[Key, _Read] = OrderedDict()
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
        """Read what is not known and takes no time, beside everything else; what is being read of it."""
        begun = []
        for key in places:
            read = self._held.get(key)
            if read is None or (read.age >= FRESH_SECONDS and read.took < _QUICK):
                begun.append(self._read(caller, key, after=0.0))
        return begun

    def known(self, places: Collection[Key]) -> list[Line]:
        """What is known of them by now."""
        read = (self._held.get(key) for key in places)
        return [line for one in read if one is not None and one.age < FRESH_SECONDS for line in one.lines]

    def renew(self, caller: Caller, places: Iterable[Key]) -> None:
        """Read them again, once what was just said is remembered; what takes long is read less often."""
        for key in places:
            read = self._held.get(key)
            if read is None or read.age >= read.took / _SHARE:
                self._read(caller, key, after=_AFTER)

    def forget(self, user_id: str) -> None:
        """Keep nothing of a user, and nothing that is being read: something of theirs was removed."""
        for key in [key for key in self._held if key.user_id == user_id]:
            del self._held[key]
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
        self._held[key] = _Read(lines, now, now - began)
        self._held.move_to_end(key)
        while len(self._held) > _MOST:
            self._held.popitem(last=False)

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
