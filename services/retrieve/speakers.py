"""Who speaks in a memory, as far as answers showed it lately."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from contracts.ports import EntryStore, Scope, Selection, Unavailable
from contracts.v1.entries import Entry
from services.shared.cache import Cache
from services.shared.language.analysis import telling_terms

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST_SCOPES = 10_000
_LATEST = 100
_PATIENCE = 0.2
_WORD = re.compile(r"\b[^\W\d_]\w+")


@dataclass(frozen=True, slots=True)
class _Known:
    names: frozenset[str] = frozenset()
    until: float = 0.0
    looked_up: bool = False


@dataclass(slots=True)
class Speakers:
    """The speakers by scope, each for a minute; the scopes asked for longest ago go first."""

    _known: Cache[Scope, _Known] = field(default_factory=lambda: Cache(_MOST_SCOPES))

    async def look_up(self, scope: Scope, question: str, store: EntryStore) -> frozenset[str]:
        """Who speaks in a scope as far as a question may name them: who did last, looked up once a minute at most."""
        known = self._of_late(scope)
        capitalized = (word for word in _WORD.findall(question) if word[0].isupper())
        if known.looked_up or not telling_terms(" ".join(capitalized)):
            return known.names
        of_scope = Selection(scope.user_id, space=scope.space, persona_id=scope.persona_id)
        try:
            async with asyncio.timeout(_PATIENCE):
                latest = (await store.page(of_scope, limit=_LATEST, cursor=None)).entries
        except (Unavailable, TimeoutError):
            return known.names
        self._known.put(scope, replace(known, looked_up=True))
        return self.note(scope, latest)

    def note(self, scope: Scope, entries: Iterable[Entry]) -> frozenset[str]:
        """Remember who speaks in these entries of a scope; who is known to speak there then."""
        known = self._of_late(scope)
        names = known.names.union(entry.speaker for entry in entries if entry.speaker and scope.sees(entry))
        self._known.put(scope, replace(known, names=names))
        return names

    def _of_late(self, scope: Scope) -> _Known:
        known = self._known.get(scope)
        return known if known and known.until > time.monotonic() else _Known(until=time.monotonic() + _KEPT)
