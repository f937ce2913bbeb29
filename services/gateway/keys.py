"""API keys: made by operators and shown once; the bus keeps a hash of each, with what it opens."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from contracts import subjects
from contracts.paths import EXPORT, VERBS
from services.shared.bus.streams import Bus
from services.shared.cache import Cache

_ID = re.compile("[0-9a-z]{16}")
_TOKEN = re.compile(rf"mb_({_ID.pattern})_([A-Za-z0-9_-]{{43}})")
_FRESH = 1.0
"""Seconds for which a key is taken to be as it was found: a revoked one opens nothing soon after."""

_REMEMBERED = 10_000

Client = Literal["tool", "person"]
"""Who asks with a key: the tool of an assistant, or an application for people; they may ask differently often."""


READ = "read"
"""Stands for every verb that changes nothing."""

KNOWN_VERBS = frozenset({READ, "turns", "live", EXPORT.answer.name, *(verb.answer.name for verb in VERBS)})
"""What a key may be confined to."""


class UnknownVerb(ValueError):
    """A verb that opens nothing; the text lists those that do."""


class ApiKey(BaseModel):
    """What a key opens; `spaces` and `verbs` are None for all. Of its secret there is only a hash."""

    model_config = ConfigDict(frozen=True)

    id: str
    digest: str
    user_id: str
    spaces: frozenset[str] | None = None
    verbs: frozenset[str] | None = None
    client: Client = "tool"
    note: str = ""
    created_at: datetime
    expires_at: datetime | None = None

    @property
    def is_expired(self) -> bool:
        """Whether it opens nothing any more."""
        return self.expires_at is not None and self.expires_at <= datetime.now(UTC)


def new_key(user_id: str, *, lasts: timedelta | None, **more: object) -> tuple[str, ApiKey]:
    """A key, and what is kept of it.

    Raises:
        UnknownVerb: it is to be for a verb that there is not.
    """
    if unknown := sorted(set(cast(Iterable[str], more.get("verbs") or ())) - KNOWN_VERBS):
        raise UnknownVerb(f"there is no verb {', '.join(unknown)}; there are {', '.join(sorted(KNOWN_VERBS))}")
    id_, secret, now = secrets.token_hex(8), secrets.token_urlsafe(32), datetime.now(UTC)
    expires = now + lasts if lasts is not None else None
    kept = {"id": id_, "digest": _digest(secret), "user_id": user_id, "created_at": now, "expires_at": expires}
    return f"mb_{id_}_{secret}", ApiKey.model_validate(kept | more)


class KeyStore:
    """The keys on the bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def put(self, key: ApiKey) -> None:
        """Keep a key.

        Raises:
            Unavailable: the bus did not promise to keep it.
        """
        stream = subjects.KEYS_STREAM.name
        await self._bus.publish(subjects.key(key.id), key.model_dump_json().encode(), message_id=None, stream=stream)

    async def get(self, id_: str) -> ApiKey | None:
        """The key of this id."""
        if not _ID.fullmatch(id_):  # a wildcard would find the key of somebody else
            return None
        found = await self._bus.last_message(subjects.KEYS_STREAM.name, subjects.key(id_))
        return _read(found.data) if found else None

    async def all(self) -> list[ApiKey]:
        """Every key, the oldest first."""
        found, number = [], 1
        while message := await self._bus.next_message(subjects.KEYS_STREAM.name, number, subjects.key("*")):
            number = (message.seq or 0) + 1
            if (key := _read(message.data)) is not None:
                found.append(key)
        return found

    async def revoke(self, id_: str) -> bool:
        """Remove a key for good; False when there is none of this id."""
        if not _ID.fullmatch(id_):
            return False
        stream = subjects.KEYS_STREAM.name
        found = await self._bus.last_message(stream, subjects.key(id_))
        return found is not None and await self._bus.delete(stream, found.seq or 0)


class KeyRing:
    """The keys as a gateway needs them: looked up by what a caller shows, each at most once a second."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._known: Cache[str, tuple[ApiKey | None]] = Cache(_REMEMBERED, seconds=_FRESH)

    async def key_of(self, token: str) -> ApiKey | None:
        """The key that this is, if it is one that opens something now.

        Raises:
            Unavailable: the bus does not say.
        """
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        id_, secret = found.groups()
        if (known := self._known.get(id_)) is None:
            self._known.put(id_, known := (await self._store.get(id_),))
        (key,) = known
        is_it = key is not None and hmac.compare_digest(key.digest, _digest(secret)) and not key.is_expired
        return key if is_it else None


def is_key(token: str) -> bool:
    """Whether it looks like one of our keys."""
    return token.startswith("mb_")


def _digest(secret: str) -> str:
    # The secret has 256 random bits: nothing slower is needed to keep it from being guessed.
    return sha256(secret.encode()).hexdigest()


def _read(raw: bytes | None) -> ApiKey | None:
    try:
        return ApiKey.model_validate_json(raw or b"")
    except ValidationError:
        return None
