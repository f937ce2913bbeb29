"""Whom a dead letter concerns, as far as anything in it says so. Pure; every byte of it may be a stranger's."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from pydantic_core import from_json

from contracts import subjects
from contracts.v1.dead import DeadLetter

_OF_A_USER = tuple(f"{root}." for root in (subjects.TURNS, subjects.RETRIEVE, subjects.ENTRIES, subjects.MEMORY))
_DEEPEST = 16
"""How many levels of JSON are looked into; what is deeper is found by its bytes."""


def users_of(letter: DeadLetter, body: bytes) -> tuple[str, ...]:
    """Whose memory it is about: by its subject, then by its body; each once."""
    return tuple(dict.fromkeys((*_in_subject(letter.subject), *_in_body(body))))


def is_about(letter: DeadLetter | None, body: bytes, raw: bytes, user_id: str) -> bool:
    """Whether anything names this user: subject, headers, or any `user_id` in the body, also one that was cut.

    Of what is no letter the bytes alone are looked at.
    """
    if letter is None:
        return _is_named(raw, user_id)
    token = subjects.user_token(user_id)
    headers = letter.headers.values()
    return (
        user_id in users_of(letter, body)
        or any(value in (user_id, token) or value.startswith(f"{token}/") for value in headers)
        or any(user_id in _in_subject(value) for value in headers)
        or _is_named(body, user_id)
    )


def share_of(letter: DeadLetter, body: bytes) -> str:
    """Who shares the room for dead letters with this one: a hash of its user, or of its subject where none is known."""
    users = users_of(letter, body)
    whose = f"user {users[0]}" if users else f"subject {letter.subject}"
    return blake2b(whose.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def subject_of(stage: str, raw: bytes) -> str:
    """The subject that a letter, as it is kept, belongs under; what cannot be read is in nobody's share."""
    try:
        letter = DeadLetter.model_validate_json(raw)
        return subjects.dead(stage, share_of(letter, base64.b64decode(letter.body, validate=True)))
    except ValueError:
        return subjects.dead(stage)


def _in_subject(subject: str) -> list[str]:
    published = subjects.published_as(subject)
    if published.startswith(_OF_A_USER):
        with suppress(ValueError):
            return [subjects.user_of(published.rpartition(".")[2])]
    return []


def _in_body(body: bytes) -> Iterator[str]:
    try:
        said: Any = from_json(body)
    except ValueError:
        return
    yield from _in_json(said, _DEEPEST)


def _in_json(said: Any, depth: int) -> Iterator[str]:
    """Every `user_id`, the outermost first; also in a dead letter that became a message itself."""
    if depth == 0:
        return
    if isinstance(said, dict):
        user_id = said.get("user_id")
        if isinstance(user_id, str) and user_id:
            yield user_id
        if isinstance(said.get("body"), str):
            with suppress(ValueError):
                yield from _in_body_within(base64.b64decode(said["body"], validate=True), depth)
    parts = said.values() if isinstance(said, dict) else said if isinstance(said, list) else ()
    for part in parts:
        yield from _in_json(part, depth - 1)


def _in_body_within(body: bytes, depth: int) -> Iterator[str]:
    with suppress(ValueError):
        yield from _in_json(from_json(body), depth - 1)


def _is_named(data: bytes, user_id: str) -> bool:
    """Whether a `user_id` in half a JSON text is this one."""
    written = {json.dumps(user_id, ensure_ascii=plain).encode(errors="surrogatepass") for plain in (True, False)}
    return any(re.search(rb'"user_id"\s*:\s*' + re.escape(one), data) for one in written)
