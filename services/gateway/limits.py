"""How often a user may ask in a minute, counted on the bus: all replicas of the gateway see one number."""

from __future__ import annotations

import json
import logging
import time
from hashlib import sha256

from contracts import subjects
from services.gateway.callers import Caller
from services.gateway.settings import GatewaySettings
from services.shared.bus.connection import UNANSWERED
from services.shared.bus.streams import Bus

log = logging.getLogger(__name__)

_MINUTE = 60
_PATIENCE = 1.0


class RateLimits:
    """The limits of every kind of caller. What is counted names no user, and is gone in two minutes."""

    def __init__(self, bus: Bus, settings: GatewaySettings) -> None:
        self._bus = bus
        self._queries = {"tool": settings.tool_queries_per_minute, "person": settings.queries_per_minute}
        self._requests = settings.requests_per_minute

    async def allows_query(self, caller: Caller) -> bool:
        """Count a query of this caller; whether it is within the limit."""
        return await self._allows(f"{caller.client}-queries", caller, self._queries[caller.client])

    async def allows_request(self, caller: Caller) -> bool:
        """Count any other request; whether it is within the limit."""
        return await self._allows("requests", caller, self._requests)

    async def _allows(self, kind: str, caller: Caller, most: int) -> bool:
        if not most:
            return True
        share = sha256(caller.user_id.encode()).hexdigest()[:32]
        subject = f"{subjects.LIMITS}.{kind}.{share}.{int(time.time()) // _MINUTE}"
        try:
            promise = await self._bus.client.request(
                subject, b"", timeout=_PATIENCE, headers={subjects.INCREMENT_HEADER: "1"}
            )
            return int(json.loads(promise.data)["val"]) <= most
        except (*UNANSWERED, KeyError, ValueError):  # a limit that cannot be counted stops nobody
            log.warning("rate_not_counted", extra={"kind": kind})
            return True


def seconds_left() -> int:
    """Until the next minute begins, and everybody may ask again."""
    return _MINUTE - int(time.time()) % _MINUTE
