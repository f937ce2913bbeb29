"""What users announced as not to be kept before they said it: kept in mind by a process, bounded, never written."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from services.shared.cache import Cache
from services.shared.privacy.unwanted import announces

MOST = 512
"""Conversations in mind; the one that was quiet longest goes first."""

QUIET_SECONDS = 1800.0
"""After so long without a word nothing is announced any more."""


class _Heard(NamedTuple):
    """Of a conversation, the hash of what announced something, and the hash of what that was."""

    by: int | None
    what: int | None


class Announced:
    """Tells of each thing that a user says whether the thing before it announced it as not to be kept."""

    def __init__(self) -> None:
        self._heard: Cache[Hashable, _Heard] = Cache(MOST, seconds=QUIET_SECONDS)

    def hears(self, conversation: Hashable, text: str) -> bool:
        """Whether this was announced; said again at once, as by somebody who tries again, it still is."""
        it = hash(text)
        by, what = self._heard.pop(conversation) or _Heard(None, None)
        is_meant = it == what or by not in (None, it)
        if (is_announcing := announces(text)) or is_meant:
            self._heard.put(conversation, _Heard(it if is_announcing else None, it if is_meant else None))
        return is_meant
