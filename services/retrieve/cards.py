"""The cards of those whom a question names, made of the claims of the entries that were found anyway."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from contracts.ports import Unavailable, UserRecords
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.retrieve.legs import Memory
from services.retrieve.settings import RetrieveSettings
from services.shared.context.block import Card
from services.shared.decided import read_both, read_decisions
from services.shared.entities.names import plain_name, plain_words_of
from services.shared.knowledge.facts import Known, facts_by_entity, known_of
from services.shared.knowledge.people import Decisions, People
from services.shared.knowledge.profile import ME, Pairs
from services.shared.language.language import STOP_WORDS
from services.shared.told import read_told

_MOST_CARDS = 4
_READ = 12
_LONGEST = 2000
_POSSESSIVE = re.compile(r"['’]s?(?!\w)")


async def cards_asked_for(
    request: RetrieveRequest, found: Sequence[Entry], store: Memory, settings: RetrieveSettings
) -> list[Card]:
    """The cards of whom a question names; `found` are the entries that answer it, the best first.

    Where none of them claims anything of whom the question names, nothing is asked of the store.
    """
    asked = _words_asked(request.query) if settings.card_share else frozenset()
    telling = [entry for entry in found if any(not asked.isdisjoint(names) for names in _names_in(entry))]
    if not telling:
        return []
    told = await _told(telling[:_READ], store, settings.leg_timeout_seconds)
    decisions, both = await _decisions(request.user_id, store, settings.leg_timeout_seconds)
    return _cards(asked, told, decisions, both, request.now)


def _words_asked(question: str) -> frozenset[str]:
    return frozenset(plain_words_of(_POSSESSIVE.sub(" ", question[:_LONGEST]))) - STOP_WORDS["english"]


def _names_in(entry: Entry) -> Iterator[list[str]]:
    """The words of each name of whom an entry claims something."""
    for claim in (*entry.claims, *(one.claim for one in entry.decided_claims)):
        if claim.whose is not None:
            yield plain_name(entry.text[slice(*claim.whose)]).replace("-", " ").split()


def _cards(
    asked: frozenset[str], entries: Sequence[Entry], decisions: Decisions, both: Pairs, as_of: datetime | None
) -> list[Card]:
    known, people = known_of(entries, decisions, as_of, both, now=as_of or datetime.now(UTC))
    held = [its for its in facts_by_entity(known).values() if _is_asked_for(its[0], people, asked)]
    return [_card(its) for its in held[:_MOST_CARDS]]


def _is_asked_for(known: Known, people: People, asked: frozenset[str]) -> bool:
    person = people.by_slug.get(known.fact.owner)
    names = person.names.values() if person else (known.label,)
    return known.fact.owner != ME and any(not asked.isdisjoint(plain_words_of(name)) for name in names)


def _card(held: Sequence[Known]) -> Card:
    sources = tuple(dict.fromkeys(one.fact.entry.id for one in held))
    return Card(held[0].ref, held[0].label, tuple(map(_text, held)), sources)


def _text(known: Known) -> str:
    return f"{known.fact.text} (in conflict)" if known.in_conflict else known.fact.text


async def _told(entries: Sequence[Entry], store: Memory, patience: float) -> list[Entry]:
    """The entries with what was rolled up in place of its roll-ups; without these while the text store is away."""
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(patience):
            return await read_told(entries, store)
    return [one for one in entries if one.source != "rollup"]


async def _decisions(user_id: str, records: UserRecords, patience: float) -> tuple[Decisions, Pairs]:
    """What the user decided about names and conflicts; nothing while the text store is away."""
    try:
        async with asyncio.timeout(patience):
            return await asyncio.gather(read_decisions(user_id, records), read_both(user_id, records))
    except (Unavailable, TimeoutError):
        return {}, ()
