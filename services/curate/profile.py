"""What is known of a user: facts computed from their entries whenever they are asked for, and given at the start.

What the user says of a fact is kept in the entry in which it was read. The store is a port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from contracts.errors import Unavailable
from contracts.ports import Selection, TextStore
from contracts.v1.claims import ClaimId
from contracts.v1.commands import CreateRequest, EntryReply
from contracts.v1.entries import Entry
from contracts.v1.profile import (
    Card,
    DecideReply,
    DecideRequest,
    FormerValue,
    ProfileFact,
    ProfileReply,
    ProfileRequest,
    SeededFact,
    SeedReply,
    SeedRequest,
)
from services.curate.commands import entry_meant
from services.curate.sessions import newest_in
from services.shared.changes import change_entries
from services.shared.decided import read_both, read_decisions
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected, outward
from services.shared.knowledge.facts import IMPORTANT, Known, by_entity, ids_of, known_of, since
from services.shared.knowledge.people import Decisions, People
from services.shared.knowledge.profile import SOMEBODY, ClaimedFact, kind_of
from services.shared.lifecycle.decided_claims import claim_at, decided
from services.shared.lifecycle.fitting import how_many_fit, size_of
from services.shared.tasks import apart
from services.shared.told import as_told, read_told

SOURCE = "seeded_profile"
"""The source of entries that were given at the start."""

_AT_ONCE = 8
_MOST = 2000
"""Entries of each status that are read, those said last first."""


@dataclass(frozen=True, slots=True)
class Read:
    """What the entries of a user tell: facts, the most important first, and people, each under one name."""

    entries: Sequence[Entry] = ()
    left_out: int = 0
    known: Sequence[Known] = ()
    people: People = field(default_factory=People)
    decisions: Decisions = field(default_factory=dict)


async def read(
    user_id: str, space: str | None, persona_id: str | None, *, store: TextStore, as_of: datetime | None = None
) -> Read:
    """Read what is known of a user, nothing while they are being erased."""
    if await is_hidden(store, user_id):
        return Read()
    active = Selection(user_id, space=space, persona_id=persona_id)
    said, left = await newest_in(active, store, _MOST)
    former, more = await newest_in(replace(active, status="superseded"), store, _MOST)
    decisions = await read_decisions(user_id, store)
    both = await read_both(user_id, store)
    entries = await read_told([*said, *former], store)

    moment = as_of or datetime.now(UTC)
    known, people = await apart(lambda: known_of(entries, decisions, as_of, both, now=moment))
    return Read(entries, left + more, known, people, decisions)


async def profile(request: ProfileRequest, *, store: TextStore) -> ProfileReply:
    """What the user's entries state of them, and of the people, projects and appointments around them."""
    found = await read(request.user_id, request.space, request.persona_id, store=store, as_of=request.as_of)
    facts = tuple(map(_shown, found.known))
    return ProfileReply(cards=_cards(facts), facts=facts, entries_read=len(found.entries), left_out=found.left_out)


def _shown(known: Known) -> ProfileFact:
    fact, kind = known.fact, kind_of(known.fact.claim.slot)
    is_of_person = fact.whose and known.ref.startswith("person:")
    subject = "people" if is_of_person and kind.subject == "profile" else kind.subject
    return ProfileFact(
        id=fact.id,
        subject=subject,
        entity_refs=(known.ref,),
        entity_label=known.label,
        fact_type=kind.fact_type,
        memory_key=f"{subject}|{known.ref.replace(':', '|')}|{fact.claim.slot}",
        value=fact.value,
        text=fact.text,
        importance=known.level,
        pinned=known.is_pinned,
        confidence=fact.claim.confidence,
        since=known.since,
        until=fact.until,
        before=tuple(map(_former, known.before)),
        source_ids=known.source_ids,
        times=known.times,
        span=fact.claim.sentence,
        in_conflict=known.in_conflict,
        is_likely=fact.state == "likely",
        decided=fact.decided is not None,
    )


def _former(fact: ClaimedFact) -> FormerValue:
    return FormerValue(value=fact.value, text=fact.text, since=since(fact), until=fact.until, source_ids=ids_of(fact))


def _cards(facts: tuple[ProfileFact, ...]) -> tuple[Card, ...]:
    """One card for each of whom or what something important is so now, in the order of the facts."""
    told = [fact for fact in facts if _is_on_card(fact)]
    cards = by_entity((fact.entity_refs[0], fact.text, fact) for fact in told)
    return tuple(
        Card(entity_ref=ref, label=held[0].entity_label, facts=tuple(fact.text for fact in held))
        for ref, held in cards.items()
    )


def _is_on_card(fact: ProfileFact) -> bool:
    is_so = fact.until is None and not fact.is_likely
    return is_so and fact.entity_label != SOMEBODY and fact.importance >= IMPORTANT


async def shorten_profile(_: ProfileRequest, reply: ProfileReply, room: int) -> ProfileReply:
    """The reply with as many facts, and cards of these alone, as fit into so many bytes."""
    room -= size_of(reply.model_copy(update={"facts": (), "cards": ()}))
    fitting = how_many_fit([3 * size_of(fact) // 2 for fact in reply.facts], room)  # a card repeats a fact in part
    facts = reply.facts[:fitting]
    return reply.model_copy(update={"facts": facts, "cards": _cards(facts), "truncated": True})


async def decide(request: DecideRequest, *, store: TextStore, now: datetime | None = None) -> DecideReply:
    """Keep with its entry whether a fact is so.

    Raises:
        Rejected: there is no such fact.
        Unavailable: others keep changing the entry, or the user is being erased.
    """
    asked = ClaimId.read(request.id)
    if asked is None:
        raise _nothing(request.id)
    entry = await entry_meant(request.user_id, asked.entry_id, store)
    told = await as_told(entry, store)
    claim = claim_at(told, asked.value, asked.slot) if told.status in ("active", "superseded") else None
    if claim is None:
        raise _nothing(request.id)
    at = now or datetime.now(UTC)

    def change(one: Entry) -> Entry | None:
        if one.text != told.text:
            raise _nothing(request.id)
        return decided(one, claim, request.is_so, at)

    await change_entries(store, [entry], change)
    named = ClaimId(entry.id, claim.value, claim.slot)
    return DecideReply(id=str(named), is_so=request.is_so)


def _nothing(id_: str) -> Rejected:
    return Rejected("not_found", f"there is no fact of the id {id_!r} that can be decided: ask for the profile anew")


async def seed(request: SeedRequest, *, create: Callable[[CreateRequest], Awaitable[EntryReply]]) -> SeedReply:
    """Remember these facts; of what cannot be remembered, or not in time, the reason is told."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(text: str) -> SeededFact:
        async with room:
            try:
                reply = await create(_creation(request, text))
            except Rejected as error:
                return SeededFact(text=text, refused=str(error))
            except Unavailable as error:
                return SeededFact(text=text, refused=outward(str(error)))
            return SeededFact(text=text, id=reply.entry.id)

    found = await asyncio.gather(*(one(text) for text in dict.fromkeys(request.facts)))
    return SeedReply(items=tuple(found))


def _creation(request: SeedRequest, text: str) -> CreateRequest:
    whose = request.model_dump(include={"user_id", "space", "persona_id"})
    return CreateRequest(text=text, source_ids=(SOURCE,), correlation_id=SOURCE, **whose)
