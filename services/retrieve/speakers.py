"""Who speaks in a memory, as far as answers showed it lately."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from contracts.ports import Filters, Key, Scope, Selection, Unavailable
from contracts.v1.entries import Entry
from services.retrieve.legs import Memory
from services.shared.cache import Cache
from services.shared.core.analysis import telling_terms

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST_SCOPES = 10_000
_LOOKED_AT = 20
_LATEST = 100
_PATIENCE = 0.2
_CAPITALIZED = re.compile(r"\b[A-Z]\w+")


@dataclass(slots=True)
class Speakers:
    """The speakers by scope, each for a minute; the scopes asked for longest ago go first."""

    _known: Cache[Scope, tuple[float, frozenset[str]]] = field(default_factory=lambda: Cache(_MOST_SCOPES))

    async def of(self, scope: Scope, question: str, store: Memory) -> frozenset[str]:
        """The speakers whom a question may name; looked up where it may name one and none are known: by its words, and
        where people speak there also those who did last.
        """
        until, known = self._known.get(scope) or (0.0, frozenset())
        if until > time.monotonic() or not telling_terms(" ".join(_CAPITALIZED.findall(question))):
            return known
        try:
            async with asyncio.timeout(_PATIENCE):
                hits = await store.search(scope, question, limit=_LOOKED_AT, filters=Filters())
                found = list((await store.get([Key(scope.user_id, hit.id) for hit in hits])).values())
                if not found or any(entry.speaker for entry in found):
                    of_scope = Selection(scope.user_id, space=scope.space, persona_id=scope.persona_id)
                    found += (await store.page(of_scope, limit=_LATEST, cursor=None)).entries
        except (Unavailable, TimeoutError):
            return frozenset()
        self._known.pop(scope)
        return self.note(scope, found)

    def note(self, scope: Scope, entries: Iterable[Entry]) -> frozenset[str]:
        """Remember who speaks in these entries of a scope; who is known to speak there then."""
        until, known = self._known.get(scope) or (0.0, frozenset[str]())
        if until < time.monotonic():
            until, known = time.monotonic() + _KEPT, frozenset()
        known |= {entry.speaker for entry in entries if entry.speaker and scope.sees(entry)}
        self._known.put(scope, (until, known))
        return known
