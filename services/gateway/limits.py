"""How often a user may ask in a minute, counted on the bus: all replicas of the gateway see one number."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from nats.js.errors import APIError
from pydantic import BaseModel

from contracts import subjects
from contracts.v1.chat import CommandRequest
from contracts.v1.commands import ListRequest
from contracts.v1.retrieval import RetrieveRequest
from services.gateway.callers import Caller
from services.gateway.settings import GatewaySettings
from services.shared import telemetry
from services.shared.bus.connection import UNANSWERED
from services.shared.bus.streams import Bus
from services.shared.privacy.chat_commands import command_in

log = logging.getLogger(__name__)

_MINUTE = 60
_PATIENCE = 1.0
_LOOK_EVERY = 5.0  # seconds
_REMEDY = "`memorybus provision`, and what `memorybus provision --permissions` prints for the user of the gateway"
_SEARCHING = ("recall", "explain")
"""Commands that look for the entries they are about, and show them."""

_SEARCHING_FIRST = ("forget_about", "correct")
"""Those that do so until they are confirmed."""

HEADERS = ("RateLimit-Policy", "RateLimit")
"""What tells how often one may ask, and how often now (draft-ietf-httpapi-ratelimit-headers)."""


@dataclass(frozen=True, slots=True)
class Share:
    """What is left of a limit in this minute; less than nothing, it was asked too often."""

    kind: str
    most: int
    left: int

    @property
    def is_used_up(self) -> bool:
        """Whether the request that was counted is one too many."""
        return self.left < 0

    @property
    def headers(self) -> dict[str, str]:
        """The share as an answer tells it."""
        policy = f'"{self.kind}";q={self.most};w={_MINUTE}'
        now = f'"{self.kind}";r={max(0, self.left)};t={seconds_left()}'
        return dict(zip(map(str.lower, HEADERS), (policy, now), strict=True))


def searches(request: BaseModel) -> bool:
    """Whether a request looks for something in what is remembered: a query, by whatever way it comes."""
    if isinstance(request, ListRequest):
        return request.q is not None
    if isinstance(request, CommandRequest):
        command = command_in(request.text)
        searching = _SEARCHING if request.confirm else (*_SEARCHING, *_SEARCHING_FIRST)
        return command is not None and command.verb in searching and bool(command.about)
    return isinstance(request, RetrieveRequest)


class RateLimits:
    """The limits of every kind of caller. What is counted names no user, and is gone in two minutes."""

    def __init__(self, bus: Bus, settings: GatewaySettings) -> None:
        self._bus = bus
        self._queries = {"tool": settings.tool_queries_per_minute, "person": settings.queries_per_minute}
        self._requests = settings.requests_per_minute
        self._begun_here = 0, Counter[tuple[str, str]]()
        self._to_look = asyncio.Event()
        self._to_look.set()

    def may_begin(self, caller: Caller) -> bool:
        """Whether a query may begin before it is counted: not where this process alone has begun as many already."""
        if self._begun_here[0] != _this_minute():
            self._begun_here = _this_minute(), Counter()
        begun = self._begun_here[1]
        begun[caller.client, caller.user_id] += 1
        most = self._queries[caller.client]
        return not most or begun[caller.client, caller.user_id] <= most

    async def count_query(self, caller: Caller) -> Share | None:
        """Count a query of this caller; None where there is no limit, or it could not be counted."""
        return await self._count(f"{caller.client}-queries", caller, self._queries[caller.client])

    async def count_request(self, caller: Caller) -> Share | None:
        """Count any other request."""
        return await self._count("requests", caller, self._requests)

    async def _count(self, kind: str, caller: Caller, most: int) -> Share | None:
        if not most:
            return None
        share = sha256(caller.user_id.encode()).hexdigest()[:32]
        subject = f"{subjects.LIMITS}.{kind}.{share}.{_this_minute()}"
        try:
            promise = await self._bus.client.request(
                subject, b"", timeout=_PATIENCE, headers={subjects.INCREMENT_HEADER: "1"}
            )
            return Share(kind, most, most - int(json.loads(promise.data)["val"]))
        except (*UNANSWERED, KeyError, ValueError):  # a limit that cannot be counted stops nobody
            log.warning("rate_not_counted", extra={"kind": kind})
            telemetry.RATES_NOT_COUNTED.labels(kind).inc()
            self._to_look.set()
            return None

    async def keep_stream(self, restore: Callable[[], Awaitable[bool]]) -> None:
        """At the start, and when something could not be counted, see that the bus has its stream; without end."""
        while True:
            await self._to_look.wait()
            self._to_look.clear()
            try:
                if await restore():
                    log.warning("rate_counts_restored", extra={"why": "the servers of the bus were started anew"})
            except (APIError, *UNANSWERED) as error:
                log.warning("rate_limits_off", extra={"cause": str(error) or repr(error), "remedy": _REMEDY})
            await asyncio.sleep(_LOOK_EVERY)


def _this_minute() -> int:
    return int(time.time()) // _MINUTE


def seconds_left() -> int:
    """Until the next minute begins, and everybody may ask again."""
    return _MINUTE - int(time.time()) % _MINUTE
