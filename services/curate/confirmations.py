"""Tokens by which a user confirms a command said in a chat: for the same text, and for what was listed then."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Sequence

from contracts.v1.chat import CommandRequest
from services.shared.errors import Rejected

_CONFIRMED_WITHIN = 600
"""Seconds for which a confirmation is valid."""

Listed = Sequence[tuple[str, int]]
"""Entries by id and version, as they were listed."""


def token_of(request: CommandRequest, listed: Listed) -> str:
    """What confirms a command, with what it listed."""
    pairs = (f"{id_} {version}" for id_, version in listed)
    body = json.dumps([_digest(request), int(time.time()) + _CONFIRMED_WITHIN, *pairs], separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).decode()


def listed_in(token: str, request: CommandRequest) -> Listed:
    """The entries of a token, which opens nothing that the user could not name themselves.

    Raises:
        Rejected: it is no token of this text in this conversation, or an old one.
    """
    try:
        digest, until, *listed = json.loads(base64.urlsafe_b64decode(token))
        if digest == _digest(request) and time.time() < int(until):
            return [(id_, int(version)) for id_, _, version in (one.rpartition(" ") for one in listed)]
    except (ValueError, TypeError, AttributeError):
        pass
    raise Rejected(
        "invalid_request",
        "confirm: it belongs to another text or conversation, or is older than ten minutes; "
        "send the text without it again",
    )


def _digest(request: CommandRequest) -> str:
    parts = (request.user_id, request.space, request.conversation_id or "", " ".join(request.text.split()))
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()
