"""The ids by which clients know their conversations, whatever the client: in headers, and in the body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

_KINDS = ("conversation", "chat", "thread", "session")
"""What clients call a conversation; a thread is within a session, and a chat is what a person sees of both."""

_ENDS = ("id", "affinity")
_OTHERS = frozenset(
    "parent previous prev last root mcp user browser client device window login auth http editor machine run".split()
)
"""Words before one of the kinds that make it the id of something else, which other conversations share."""

_VALUE = re.compile(r"(?=[^0-9]{0,199}[0-9])[A-Za-z0-9][A-Za-z0-9._:~@=+-]{0,199}")
_NO_ID = re.compile(r"[0\-]*")
_RANDOM = re.compile(
    r"(?:[a-z]{1,16}[_-])?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:ses|sess|session|thread|conv|conversation|chat)_\S+",
    re.IGNORECASE,
)
"""What is made anew for each chat: a key of a cache may as well be one for all chats of a program."""

SESSION_OF_USER = re.compile(r"_session_([0-9A-Za-z-]*)\Z")
"""The session behind the id of a user."""

LONGEST_USER = 2048
"""Characters of the id of a user that are looked at."""

_LONGEST_ID = 200
_MOST_FIELDS = 256
_WORDS = re.compile(r"[A-Za-z][a-z]*|[0-9]+")


def sent_name(headers: Iterable[tuple[str, str]], body: Any) -> str | None:
    """The id of the conversation that a client sends with each of its requests; None where it sends none."""
    body = body if isinstance(body, dict) else {}
    within = [body, *(one for name in ("metadata", "client_metadata") if isinstance(one := body.get(name), dict))]
    places: list[Iterable[tuple[str, Any]]] = [headers, *(one.items() for one in within)]
    found = next(filter(None, map(_named, places)), None)
    return found or next(_in_others(body), None)


def _named(fields: Iterable[tuple[str, Any]]) -> str | None:
    """The value of the field that names a conversation, by what it calls it."""
    found: dict[int, str] = {}
    for name, value in islice(fields, _MOST_FIELDS):
        if (rank := _rank(name)) is not None and (id_ := _id(value)):
            found.setdefault(rank, id_)
    return found[min(found)] if found else None


def _rank(name: str) -> int | None:
    words = [word.lower() for word in _WORDS.findall(name[:64])]
    if len(words) < 2 or words[-1] not in _ENDS or words[-2] not in _KINDS or not _OTHERS.isdisjoint(words[:-2]):
        return None
    return 2 * _KINDS.index(words[-2]) + _ENDS.index(words[-1])


def _id(value: Any) -> str | None:
    is_id = (
        isinstance(value, str)
        and len(value) <= _LONGEST_ID
        and _VALUE.fullmatch(value.strip())
        and not _NO_ID.fullmatch(value.strip())
    )
    return value.strip() if is_id else None


def _in_others(body: Mapping[str, Any]) -> Iterator[str]:
    """What is the id of a conversation by its value alone: in the key of a cache, within the id of a user."""
    metadata = body.get("metadata")
    for user in (metadata.get("user_id") if isinstance(metadata, dict) else None, body.get("user")):
        match fields_of(user):
            case str() as text if found := SESSION_OF_USER.search(text):
                id_ = _id(found[1])
            case dict() as fields if isinstance(user, str):
                id_ = _named(fields.items())
            case _:
                id_ = None
        if id_:
            yield id_
    if (id_ := _id(body.get("prompt_cache_key"))) and _RANDOM.fullmatch(id_):
        yield id_


def fields_of(user: Any) -> Any:
    """What the id of a user holds: fields, where it has them as JSON."""
    if not isinstance(user, str) or not user.lstrip().startswith("{"):
        return user
    with suppress(ValueError, RecursionError):
        return json.loads(user[:LONGEST_USER])
    return user
