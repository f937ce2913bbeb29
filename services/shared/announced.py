"""What users announced as not to be kept before they said it: kept in mind by a process, bounded, never written."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

from services.shared.core.unwanted import announces

MOST = 512
"""Conversations in mind; the one that was quiet longest goes first."""

QUIET_SECONDS = 1800.0
"""After so long without a word nothing is announced any more."""


class _Heard(NamedTuple):
    """Of a conversation, the hash of what announced something, the hash of what that was, and when."""

    by: int | None
    what: int | None
    at: float


class Announced:
    """Tells of each thing that a user says whether the thing before it announced it as not to be kept."""

    def __init__(self) -> None:
        self._heard: OrderedDict[Hashable, _Heard] = OrderedDict()

    def hears(self, conversation: Hashable, text: str) -> bool:
        """Whether this was announced; said again at once, as by somebody who tries again, it still is."""
        now, it = time.monotonic(), hash(text)
        by, what, at = self._heard.pop(conversation, _Heard(None, None, now))
        is_meant = now - at <= QUIET_SECONDS and (it == what or by not in (None, it))
        if (is_announcing := announces(text)) or is_meant:
            self._heard[conversation] = _Heard(it if is_announcing else None, it if is_meant else None, now)
        while len(self._heard) > MOST:
            self._heard.popitem(last=False)
        return is_meant
