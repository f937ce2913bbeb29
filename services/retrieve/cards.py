"""The cards of those whom a question names, made of the entries that were found anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from contracts.ports import Unavailable, UserRecords
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.legs import Memory
from services.retrieve.settings import RetrieveSettings
from services.shared.core.aliases import Decisions
from services.shared.core.cards import Card, cards_of, names_asked, telling
from services.shared.core.facts import FactsOf
from services.shared.core.slots import Pairs
from services.shared.decided import read_both, read_decisions
from services.shared.tasks import beside_the_loop
from services.shared.told import read_told


async def cards_asked_for(
    request: RetrieveRequest, found: Sequence[Entry], store: Memory, settings: RetrieveSettings
) -> list[Card]:
    """The cards of whom a question names; `found` are the entries that answer it, the best first.

    Where none of them tells who that is, nothing is read and nothing asked of the store; where none states a fact,
    nobody is asked what the user decided about names.
    """
    if not settings.card_share:
        return []
    asked = names_asked(request.query, found)
    told = telling(asked, found)
    if not told:
        return []
    told, read = await _told(told, store, settings.leg_timeout_seconds), FactsOf()
    chars = sum(len(entry.text) for entry in told)
    if not await beside_the_loop(lambda: any(map(read, told)), chars):
        return []
    decisions, both = await _decisions(request.user_id, store, settings.leg_timeout_seconds)
    now = datetime.now(UTC)
    return await beside_the_loop(lambda: cards_of(asked, told, decisions, request.now, both, read, now), chars)


async def _told(entries: Sequence[Entry], store: Memory, patience: float) -> list[Entry]:
    """The entries with what was rolled up in place of its roll-ups; without these while the text store is away."""
    try:
        async with asyncio.timeout(patience):
            return await read_told(entries, store)
    except (Unavailable, TimeoutError):
        return [one for one in entries if one.source != "rollup"]


async def _decisions(user_id: str, records: UserRecords, patience: float) -> tuple[Decisions, Pairs]:
    """What the user decided about names and conflicts; nothing while the text store is away."""
    try:
        async with asyncio.timeout(patience):
            return await asyncio.gather(read_decisions(user_id, records), read_both(user_id, records))
    except (Unavailable, TimeoutError):
        return {}, ()
