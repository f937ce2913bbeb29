"""Scopes as single keywords, for engines that filter by one field."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b

from contracts.ports import Scope
from contracts.v1.entries import Entry
from contracts.v1.turns import EVERY_PERSONA


def hashed(*parts: str) -> str:
    """One keyword for several strings, whatever characters are in them."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def scope_key(user_id: str, space: str, persona_id: str | None) -> str:
    """One keyword for user, space and persona together."""
    return hashed(user_id, space, persona_id or "")


def scope_keys(entry: Entry) -> list[str]:
    """The keys by which scopes see an entry: that of its persona or of none, and that of all."""
    return [scope_key(entry.user_id, entry.space, persona) for persona in (entry.persona_id, EVERY_PERSONA)]


@lru_cache(maxsize=1024)
def visible_keys(scope: Scope) -> tuple[str, ...]:
    """The keys of what the scope sees: entries of no persona and those of its own, or all of them."""
    if scope.persona_id == EVERY_PERSONA:
        return (scope_key(scope.user_id, scope.space, EVERY_PERSONA),)
    common = scope_key(scope.user_id, scope.space, None)
    return (common, scope_key(scope.user_id, scope.space, scope.persona_id)) if scope.persona_id else (common,)
