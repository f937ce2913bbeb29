"""Cards of those around a user, under one name each, and what the user decides about names. The store is a port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contracts.ports import TextStore
from contracts.v1.cards import (
    CardFact,
    CardsReply,
    CardsRequest,
    EntityFacts,
    LikelyOne,
    NamesDecided,
    NamesReply,
    NamesRequest,
)
from services.curate import profile as profiles
from services.curate.profile import Read
from services.shared.decided import keep_decision
from services.shared.errors import Rejected
from services.shared.knowledge.facts import Known, facts_by_entity
from services.shared.knowledge.people import Decisions, People, Person, hash_of
from services.shared.knowledge.profile import slug_of

_LIKELY = 50


async def cards(request: CardsRequest, *, store: TextStore) -> CardsReply:
    """What matters of each person, project and event around the user, and which names may be of one person."""
    read = await profiles.read(request.user_id, request.space, request.persona_id, store=store)
    items = tuple(_cards(read))
    if request.name is not None:
        wanted = slug_of(request.name.partition(":")[2] or request.name)
        items = tuple(card for card in items if _is_called(card, wanted))
    return CardsReply(
        items=items,
        likely=tuple(LikelyOne(one=one.one, other=one.other, why=one.why) for one in read.people.proposals[:_LIKELY]),
        decided=tuple(_decided(request.user_id, read.people, read.decisions)),
        entries_read=len(read.entries),
        left_out=read.left_out,
    )


def _is_called(card: EntityFacts, slug: str) -> bool:
    return slug in (card.entity_ref.partition(":")[2], *map(slug_of, card.names))


def _cards(read: Read) -> Iterator[EntityFacts]:
    """One card for each of whom or what something important is so now, then those who have several names alone."""
    facts, persons = facts_by_entity(read.known), read.people.by_slug
    for ref, held in facts.items():
        person = persons.get(held[0].fact.owner)
        names = (held[0].label, *_other_names(person)) if person else (held[0].label,)
        yield EntityFacts(entity_ref=ref, label=held[0].label, names=names, facts=tuple(map(_fact, held)))
    with_facts = {held[0].fact.owner for held in facts.values()}
    for slug, person in persons.items():
        if len(person.names) > 1 and slug not in with_facts:
            names = (person.label, *_other_names(person))
            yield EntityFacts(entity_ref=f"person:{slug}", label=person.label, names=names, facts=())


def _other_names(person: Person) -> list[str]:
    return [name for slug, name in person.names.items() if slug != person.slug]


def _fact(known: Known) -> CardFact:
    return CardFact(
        text=known.fact.text,
        importance=known.level,
        pinned=known.is_pinned,
        since=known.since,
        source_ids=known.source_ids,
        in_conflict=known.in_conflict,
    )


def _decided(user_id: str, people: People, decisions: Decisions) -> Iterator[NamesDecided]:
    """The decisions between names that are known: of others nothing but a hash is."""
    names: Mapping[str, str] = {
        hash_of(user_id, slug): name for person in people.persons for slug, name in person.names.items()
    }
    for pair, same in decisions.items():
        known = sorted(names[one] for one in pair if one in names)
        if len(known) == 2:
            yield NamesDecided(one=known[0], other=known[1], same=same)


async def decide_names(request: NamesRequest, *, store: TextStore) -> NamesReply:
    """Keep whether two names are of one person.

    Raises:
        Rejected: they are no two names.
        Unavailable: others keep deciding it, or the user is being erased.
    """
    one, other = slug_of(request.one), slug_of(request.other)
    if not one or not other or one == other:
        raise Rejected("invalid_request", "one and other: two names that are written differently")
    await keep_decision(request.user_id, (one, other), request.same, store)
    return NamesReply(one=request.one, other=request.other, same=request.same)
