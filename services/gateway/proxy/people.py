"""Whether several people talk as one user, by what their clients tell of whom they have in front of them.

A front end of several people that names no `Memory-User` makes them one user of memorybus, who then remembers the words
of all. Nothing is decided by what is read here; whoever runs memorybus is told, once for each user.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from services.gateway.callers import NOBODY, is_unfilled
from services.gateway.proxy.naming import LONGEST_USER, SESSION_OF_USER, fields_of
from services.shared.cache import Cache
from services.shared.telemetry import PROXY_SHARED

log = logging.getLogger(__name__)

_MOST_USERS = 4096
_MOST_TOLD = 8
_MOST_SEEN = 4
_NAMING = frozenset({"user", "id", "email", "login", "identifier", "uuid"})
"""How the names of fields end that say who somebody is, not what they may do or what their browser is."""

_PEOPLE = frozenset({"user", "account", "email"})
_NOT_PEOPLE = frozenset({"agent", "memory", "session", "device", "message", "chat", "role"})
_WORD = re.compile(r"[a-z]+")
_REMEDY = (
    "have the program send the header Memory-User for each of them, or give each a key of their own; "
    "services/gateway/SETUPS.md says how"
)


def told_of(headers: Mapping[str, str], body: Any) -> dict[str, str]:
    """Who a client says asks, by the program and the field that says so."""
    program = headers.get("user-agent", "").partition("/")[0]
    found: dict[str, str] = {}
    in_headers = ((name, value) for name, value in headers.items() if _names_people(name))
    for name, value in (*in_headers, *_in_body(body)):
        value = value.strip()
        if 0 < len(value) <= LONGEST_USER and not is_unfilled(value) and len(found) < _MOST_TOLD:
            found[f"{program} {name}"] = value
    return found


def _names_people(field: str) -> bool:
    words = _WORD.findall(field[:64].lower())
    return bool(words) and words[-1] in _NAMING and not _PEOPLE.isdisjoint(words) and _NOT_PEOPLE.isdisjoint(words)


def _in_body(body: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(body, dict):
        return
    metadata = body.get("metadata")
    within = metadata if isinstance(metadata, dict) else {}
    told = {"user": body.get("user"), "safety_identifier": body.get("safety_identifier"), "of": within.get("user_id")}
    for name, value in told.items():
        yield from _in_value(name, value)


def _in_value(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The ids of people within a value: it is one, has them as its fields, or as its JSON; sessions are none."""
    value = fields_of(value)
    if isinstance(value, str):
        yield name, SESSION_OF_USER.sub("", value)
    elif isinstance(value, dict):
        fields = ((field, told) for field, told in value.items() if isinstance(told, str))
        yield from ((f"{name}.{field}", told) for field, told in fields if field == "id" or _names_people(field))


class People:
    """What was told of the users who asked last, in digests: bounded, and never written anywhere."""

    def __init__(self, most: int = _MOST_USERS) -> None:
        self._seen: Cache[str, dict[bytes, dict[bytes, bytes]]] = Cache(most)
        self._told: Cache[str, bool] = Cache(most)

    def see(self, user_id: str, conversation: str, told: Mapping[str, str]) -> None:
        """Take note of who is said to ask in a conversation; two in two conversations of one user are told of, once."""
        if not told or user_id in self._told:
            return
        self._seen.put(user_id, seen := self._seen.get(user_id) or {})
        if any(_are_several(seen, conversation, *one) for one in told.items()):
            self._told.put(user_id, True)
            PROXY_SHARED.inc()
            user = user_id if user_id == NOBODY else "one with a name"
            log.warning("several_people", extra={"user": user, "remedy": _REMEDY})


def _are_several(seen: dict[bytes, dict[bytes, bytes]], conversation: str, field: str, who: str) -> bool:
    """Whether the field told of somebody else in another conversation; what it tells now is kept, within bounds."""
    if (name := _digest(field)) not in seen and len(seen) >= _MOST_TOLD:
        return False
    others = seen.setdefault(name, {})
    person, here = _digest(who), _digest(conversation)
    if person not in others and len(others) < _MOST_SEEN:
        others[person] = here
    return any(other != person and there != here for other, there in others.items())


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="replace"), digest_size=8).digest()
