"""The audit trail: who asked for what and what came of it, kept beside the memory and without a word of it.

It is written in the background, a second late and many at a time, so that nobody waits for it: a crash loses that
second. Of a user who is erased nothing stays but that it was done, under a hash of the user.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from contracts.ports import Record, Unavailable, UserRecords
from contracts.v1.audit import Action
from contracts.v1.conflicts import ResolveRequest
from contracts.v1.edits import BulkRequest
from contracts.v1.profile import DecideRequest
from services.shared import telemetry
from services.shared.bus.requests import Answered
from services.shared.erasures import LANDS_WITHIN, erased_at, passed_seconds

log = logging.getLogger(__name__)

NOBODY = ""
"""Whose the actions are that are about no user."""

_EVERY = 1.0
_AT_ONCE = 500
_MOST_WAITING = 20_000
_LONGEST = 128
_ID = re.compile("[0-9A-Fa-f-]{1,64}")
"""What is an id and can be no words: digits, and letters as in a UUID."""

_LOOKS = ("retrieve", "entries.list")
"""What is kept though it changes nothing; it is no action of a user."""

_Chosen = Callable[[Any, Any], bool]


def _always(request: Any, reply: Any) -> bool:
    return True


def _never(request: Any, reply: Any) -> bool:
    return False


def _shows_or_does(request: Any, reply: Any) -> bool:
    return reply is not None and reply.understood and (bool(reply.items) or not reply.needs_confirmation)


_KEPT: dict[str, _Chosen] = {
    "retrieve": _always,
    "entries.list": lambda request, _: request.q is not None,
    "entries.create": _always,
    "entries.update": _always,
    "entries.pin": _always,
    "entries.unpin": _always,
    "entries.forget": _always,
    "entries.bulk": _always,
    "memory.erase": lambda request, _: request.requested_at is None,
    "memory.export": lambda request, _: request.cursor is None,
    "memory.settings": lambda request, _: bool(request.change or request.reset),
    "memory.incognito-start": _always,
    "memory.incognito-end": _always,
    "memory.theme-save": _always,
    "memory.theme-remove": _always,
    "memory.resolve": _always,
    "memory.roll-up": lambda request, _: not request.preview,
    "memory.roll-up-undo": _always,
    "memory.names": _always,
    "memory.decide": _always,
    "memory.seed": _always,
    "memory.settle": _always,
    "memory.commands": _shows_or_does,
    "ops.reconcile": lambda request, _: request.fix,
}
"""Which requests are kept account of; of these only those that search or do something."""


def action_of(answered: Answered, key: bytes) -> Action | None:
    """What to keep of a request; None of one that only looks."""
    request, verb, reply = answered.request, answered.answer.name, answered.reply
    if request is None or not _KEPT.get(verb, _never)(request, reply):
        return None
    is_hidden = "incognito" in getattr(reply, "degraded", ())
    query = None if is_hidden else getattr(request, "query", None) or getattr(request, "q", None)
    return Action(
        at=answered.asked_at,
        user_id=getattr(request, "user_id", NOBODY),
        verb=verb,
        outcome=answered.outcome,
        space=getattr(request, "space", None),
        about=(*_what(request, reply), *(_id(one, key) for one in _about(request, reply))),
        count=_count(reply),
        latency_ms=round(answered.seconds * 1000, 3),
        correlation_id=_id(request.correlation_id, key) if request.correlation_id else None,
        credential=(answered.credential or "")[:_LONGEST] or None,
        query_hash=None if query is None else _hash(query, key),
    )


def _hash(text: str, key: bytes) -> str:
    return blake2b(text.encode(), key=key, digest_size=16).hexdigest()


def _id(name: str, key: bytes) -> str:
    """A name that somebody gave: as it is where it is an id, else as a hash, as it may be words."""
    return name if _ID.fullmatch(name) else f"#{_hash(name, key)}"


def _what(request: Any, reply: Any) -> Sequence[str]:
    """Which of the things that its verb may do was done: words of ours, never of a user."""
    change = getattr(request, "change", None)
    if change is not None or getattr(request, "reset", None):
        return sorted({*(change.model_fields_set if change else ()), *request.reset})
    if hasattr(reply, "understood"):
        return [reply.verb, *(["unconfirmed"] if reply.needs_confirmation else [])]
    if isinstance(request, BulkRequest):
        return [request.action, *([request.whole] if request.whole else [])]
    return ()


def _about(request: Any, reply: Any) -> Sequence[str]:
    """The ids of the entries that it is about."""
    if hasattr(reply, "understood"):
        return [entry.id for entry in reply.items]
    if isinstance(request, ResolveRequest):
        return [request.newer, request.older]
    if isinstance(request, DecideRequest):
        return [request.id.partition(":")[0]]
    entry = getattr(reply, "entry", None) or getattr(reply, "receipt", None)
    found = getattr(entry, "id", None) or getattr(request, "id", None)
    return getattr(request, "ids", ()) or ((found,) if found else ())


def _count(reply: Any) -> int | None:
    for name in ("items", "done", "differences"):
        if (found := getattr(reply, name, None)) is not None:
            return len(found)
    return None


def metric_of(action: Action, request: Any) -> str:
    """What the action counts as: turning memory on and off are told apart from other settings."""
    enabled = getattr(getattr(request, "change", None), "memory_enabled", None)
    return action.verb if enabled is None else ("memory.on" if enabled else "memory.off")


@dataclass(frozen=True, slots=True)
class _Noted:
    action: Action
    name: str

    @property
    def record(self) -> Record:
        body = self.action.model_dump(mode="json", exclude={"user_id"}, exclude_defaults=True)
        return Record(self.action.user_id, "action", self.name, body, self.action.at)


class AuditTrail:
    """Keeps what is noted, a second later."""

    def __init__(self, records: UserRecords, key: str | None) -> None:
        self._records = records
        self._key = blake2b(key.encode(), digest_size=32).digest() if key else secrets.token_bytes(32)
        self._waiting: list[_Noted] = []
        self._waits_for = ""

    def heard(self, answered: Answered) -> None:
        """Note a request that was answered."""
        action = action_of(answered, self._key)
        if action is None:
            return
        if action.verb not in _LOOKS:
            telemetry.USER_ACTIONS.labels(metric_of(action, answered.request), action.outcome).inc()
        self.note(action)

    def note(self, action: Action) -> None:
        """Keep an action soon; when the store is away for long the latest are lost, and counted."""
        if len(self._waiting) >= _MOST_WAITING:
            telemetry.AUDIT_LOST.inc()
            return
        self._waiting.append(_Noted(action, f"{action.at:%Y%m%dT%H%M%S.%f}-{uuid4().hex[:12]}"))

    async def run(self) -> None:
        """Write until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(_EVERY)
                await self._flush_or_wait()
        finally:
            with suppress(Unavailable):
                await self.flush()

    async def _flush_or_wait(self) -> None:
        try:
            await self.flush()
            self._waits_for = ""
        except Unavailable as error:
            if self._waits_for != str(error):
                log.warning("audit_waits", extra={"actions": len(self._waiting), "cause": str(error)})
            self._waits_for = str(error)

    async def flush(self) -> None:
        """Write what waits.

        Raises:
            Unavailable: the store is away; what is not written waits on.
        """
        while self._waiting:
            some = self._waiting[:_AT_ONCE]
            await self._write(some)
            del self._waiting[: len(some)]

    async def _write(self, some: Sequence[_Noted]) -> None:
        """Write what is not of a user who was erased since; looked at again where it took long enough to be one."""
        began = passed_seconds()
        kept = await self._not_erased(some)
        await self._records.add_records([one.record for one in kept])
        if passed_seconds() - began >= LANDS_WITHIN:
            left = await self._not_erased(kept)
            for one in kept:
                if one not in left:
                    await self._records.remove_records(one.action.user_id, "action", [one.name])

    async def _not_erased(self, some: Collection[_Noted]) -> list[_Noted]:
        at = await erased_at(self._records, {one.action.user_id for one in some})
        return [one for one in some if one.action.user_id not in at or one.action.at > at[one.action.user_id]]
