"""Who speaks in a memory, as far as answers showed it lately."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from contracts.ports import EntryStore, Filters, Key, LexicalIndex, Scope, Unavailable
from contracts.v1.entries import Entry
from services.shared.core.analysis import telling_terms

_KEPT = 60.0  # seconds: no longer than erasing may take
_MOST_SCOPES = 10_000
_LOOKED_AT = 20
_PATIENCE = 0.2
_CAPITALIZED = re.compile(r"\b[A-Z]\w+")


@dataclass(slots=True)
class Speakers:
    """The speakers by scope, each for a minute; the scopes asked for longest ago go first."""

    _known: OrderedDict[Scope, tuple[float, frozenset[str]]] = field(default_factory=OrderedDict)

    async def of(self, scope: Scope, question: str, index: LexicalIndex, entries: EntryStore) -> frozenset[str]:
        """The speakers whom a question may name; looked up by its words where it may name one and none are known."""
        until, known = self._known.get(scope, (0.0, frozenset()))
        if until > time.monotonic() or not telling_terms(" ".join(_CAPITALIZED.findall(question))):
            return known
        try:
            async with asyncio.timeout(_PATIENCE):
                hits = await index.search(scope, question, limit=_LOOKED_AT, filters=Filters())
                found = await entries.get([Key(scope.user_id, hit.id) for hit in hits])
        except (Unavailable, TimeoutError):
            return frozenset()
        self._known.pop(scope, None)
        self.note(scope, found.values())
        return self._known[scope][1]

    def note(self, scope: Scope, entries: Iterable[Entry]) -> None:
        """Remember who speaks in these entries of a scope."""
        until, known = self._known.pop(scope, (0.0, frozenset[str]()))
        if until < time.monotonic():
            until, known = time.monotonic() + _KEPT, frozenset()
        seen = {entry.speaker for entry in entries if entry.speaker and scope.sees(entry)}
        self._known[scope] = until, known | seen
        while len(self._known) > _MOST_SCOPES:
            self._known.popitem(last=False)
