"""What is known of a user: facts computed from their entries whenever they are asked for. The store is a port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from contracts.ports import Selection, TextStore
from contracts.v1.entries import Entry
from contracts.v1.profile import Card, FormerValue, ProfileFact, ProfileReply, ProfileRequest
from services.curate.sessions import newest_in
from services.shared.core.aliases import Decisions, People, people_of
from services.shared.core.cards import IMPORTANT, ON_A_CARD
from services.shared.core.facts import ME, FactsOf
from services.shared.core.fitting import how_many_fit, size_of
from services.shared.core.slots import Known, profile_of
from services.shared.decided import read_both, read_decisions
from services.shared.erasures import is_hidden
from services.shared.knowledge.profile import ClaimedFact, beside, claimed, kind_of
from services.shared.tasks import apart
from services.shared.told import read_told

_MOST = 2000
"""Entries of each status that are read, those said last first."""


@dataclass(frozen=True, slots=True)
class Read:
    """What the entries of a user tell: facts, the most important first, and people, each under one name."""

    entries: Sequence[Entry] = ()
    left_out: int = 0
    known: Sequence[Known] = ()
    claimed: Sequence[ClaimedFact] = ()
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

    def told() -> tuple[People, Sequence[Known], Sequence[ClaimedFact]]:
        facts = FactsOf()
        people = people_of(entries, decisions, facts)
        known = profile_of(user_id, entries, as_of, people.by_name(), facts, both, datetime.now(UTC))
        values = [(id_, one.fact.value) for one in known for id_ in one.source_ids]
        return people, known, beside(claimed(entries, as_of), values)

    people, known, more_told = await apart(told)
    return Read(entries, left + more, known, more_told, people, decisions)


async def profile(request: ProfileRequest, *, store: TextStore) -> ProfileReply:
    """What the user's entries state of them, and of the people, projects and appointments around them."""
    found = await read(request.user_id, request.space, request.persona_id, store=store, as_of=request.as_of)
    told = [*map(_shown, found.known), *map(_shown_claim, found.claimed)]
    facts = tuple(sorted(told, key=lambda fact: (fact.until is not None, fact.is_likely, -fact.importance)))
    return ProfileReply(
        cards=_cards(facts),
        facts=facts,
        entries_read=len(found.entries),
        left_out=found.left_out,
        correlation_id=request.correlation_id,
    )


def _shown(known: Known) -> ProfileFact:
    fact = known.fact
    return ProfileFact(
        subject=fact.subject,
        entity_refs=fact.entity_refs,
        entity_label=fact.entity_label,
        fact_type=fact.fact_type,
        memory_key=fact.memory_key,
        value=fact.value,
        text=fact.text,
        importance=known.level,
        pinned=known.pinned,
        confidence=fact.confidence,
        since=known.since,
        until=known.until,
        before=tuple(FormerValue(**asdict(former)) for former in known.before),
        source_ids=known.source_ids,
        times=known.times,
        span=fact.span,
        in_conflict=known.in_conflict,
    )


def _shown_claim(one: ClaimedFact) -> ProfileFact:
    kind, (owner, slot) = kind_of(one.claim.slot), one.key
    subject = "people" if one.whose and kind.subject == "profile" else kind.subject
    ref = f"{'project' if subject == 'project' else 'person'}:{owner}"
    return ProfileFact(
        id=one.id,
        subject=subject,
        entity_refs=(ref,),
        entity_label=one.whose or ME,
        fact_type=kind.fact_type,
        memory_key=f"{subject}|{ref.replace(':', '|')}|{slot}",
        value=one.value,
        text=one.text,
        importance=3 if one.entry.pinned else kind.level,
        pinned=one.entry.pinned,
        confidence=one.claim.confidence,
        since=one.entry.created_at,
        until=one.until,
        source_ids=(one.entry.id,),
        span=one.span,
        is_likely=one.state == "likely",
        decided=one.decided is not None,
    )


def _cards(facts: tuple[ProfileFact, ...]) -> tuple[Card, ...]:
    """One card for each of whom or what something important is so now, in the order of the facts."""
    cards: dict[str, list[ProfileFact]] = {}
    for fact in facts:
        if fact.until is None and not fact.is_likely and (fact.pinned or fact.importance >= IMPORTANT):
            cards.setdefault(fact.entity_refs[0], []).append(fact)
    return tuple(
        Card(entity_ref=ref, label=held[0].entity_label, facts=tuple(fact.text for fact in held[:ON_A_CARD]))
        for ref, held in cards.items()
    )


async def shorten_profile(_: ProfileRequest, reply: ProfileReply, room: int) -> ProfileReply:
    """The reply with as many facts, and cards of these alone, as fit into so many bytes."""
    room -= size_of(reply.model_copy(update={"facts": (), "cards": ()}))
    fitting = how_many_fit([3 * size_of(fact) // 2 for fact in reply.facts], room)  # a card repeats a fact in part
    facts = reply.facts[:fitting]
    return reply.model_copy(update={"facts": facts, "cards": _cards(facts), "truncated": True})
